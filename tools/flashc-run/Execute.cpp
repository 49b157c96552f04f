// Second step of flashc-run: compile the checked description, run it on the
// arrays, time it if asked.
#include "Execute.h"
#include "Progress.h"
#include "common/Flags.h"

#include "flashc/Runtime/Module.h"
#include "flashc/Support/Error.h"
#include "flashc/Target/CPU.h"

#include <algorithm>
#include <chrono>

using namespace flashc;
using namespace flashc::tools;

namespace {
/// One array of the kernel's argument list.
struct Argument {
  NpyArray *array;
  llvm::SmallVector<int64_t, 4> sizes, strides;
  bool isOutput = false;
};
} // namespace

static Argument argument4(NpyArray &array, attn::Layout layout) {
  View view = viewOf(array.shape, layout);
  return {&array, llvm::to_vector<4>(view.shape),
          llvm::to_vector<4>(view.strides), false};
}

static Argument argumentDense(NpyArray &array) {
  return {&array, llvm::to_vector<4>(array.shape), {}, false};
}

/// In the kernel's order: q, k, v, key lengths, captures, o, lse.
static std::vector<Argument> arguments(Inputs &inputs, Results &results) {
  std::vector<Argument> list;
  attn::Layout layout = inputs.layout();
  for (NpyArray *array : {&inputs.query, &inputs.key, &inputs.value})
    list.push_back(argument4(*array, layout));
  if (inputs.lengths)
    list.push_back(argumentDense(*inputs.lengths));
  for (NpyArray &capture : inputs.captures)
    list.push_back(argumentDense(capture));
  list.push_back(argument4(results.output, layout));
  list.back().isOutput = true;
  if (results.lse) {
    Argument lse = argumentDense(*results.lse);
    lse.strides = {lse.sizes[1] * lse.sizes[2], lse.sizes[2], 1};
    lse.isOutput = true;
    list.push_back(std::move(lse));
  }
  return list;
}

static Results makeResults(Inputs &inputs) {
  Results results;
  results.output = inputs.makeOutput();
  if (inputs.attention.returnsLse)
    results.lse = inputs.makeLse();
  return results;
}

llvm::Expected<Timing> tools::timeOnCPU(llvm::function_ref<llvm::Error()> run) {
  using Clock = std::chrono::steady_clock;
  Progress progress("timing");
  std::vector<double> milliseconds;
  double total = 0;
  while (milliseconds.size() < 3 ||
         (total < 1000 && milliseconds.size() < 1000)) {
    auto start = Clock::now();
    if (llvm::Error error = run())
      return error;
    milliseconds.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - start)
            .count());
    total += milliseconds.back();
  }
  std::nth_element(milliseconds.begin(),
                   milliseconds.begin() + milliseconds.size() / 2,
                   milliseconds.end());
  return Timing{int64_t(milliseconds.size()),
                milliseconds[milliseconds.size() / 2], "cpu"};
}

llvm::Expected<Results> tools::runOnCPU(Inputs &inputs, CompileOptions options,
                                        bool time) {
  options.arch = "cpu";
  options.vectorBits = hostVectorBits();
  llvm::Expected<CompileOptions> tuned = withTuned(*inputs.module, options, "");
  if (!tuned)
    return tuned.takeError();
  llvm::Expected<std::unique_ptr<CpuKernel>> kernel = [&] {
    Progress progress("compiling");
    return compileToCPU(*inputs.module, *tuned);
  }();
  if (!kernel)
    return kernel.takeError();
  Results results = makeResults(inputs);
  std::vector<CpuArgument> list;
  for (Argument &argument : arguments(inputs, results))
    list.push_back(
        {argument.array->data.data(), argument.sizes, argument.strides});
  auto run = [&] { return (*kernel)->run(list); };
  {
    Progress progress("running on the CPU");
    if (llvm::Error error = run())
      return error;
  }
  if (!time)
    return results;
  llvm::Expected<Timing> timing = timeOnCPU(run);
  if (!timing)
    return timing.takeError();
  results.timing = *timing;
  return results;
}

namespace {
/// Arrays on the device and the argument list that points at them.
struct DeviceArguments {
  std::vector<DeviceBuffer> buffers;
  std::vector<ArrayArg> list;
};
} // namespace

static llvm::Expected<DeviceArguments>
uploadAll(const Device &device, llvm::ArrayRef<Argument> host) {
  Progress progress("copying to the GPU");
  DeviceArguments result;
  for (const Argument &argument : host) {
    const std::vector<char> &data = argument.array->data;
    llvm::Expected<DeviceBuffer> buffer =
        device.upload(data.data(), data.size());
    if (!buffer)
      return buffer.takeError();
    result.list.push_back(
        {buffer->pointer(), argument.sizes, argument.strides});
    result.buffers.push_back(std::move(*buffer));
  }
  return result;
}

/// About half a second of launches, at least 5.
static llvm::Expected<Timing> timeOnCUDA(const Device &device,
                                         const flashc::Module &kernel,
                                         llvm::ArrayRef<ArrayArg> list) {
  Progress progress("timing");
  auto launches = [&](int64_t count) {
    return device.time([&]() -> llvm::Error {
      for (int64_t i = 0; i < count; ++i)
        if (llvm::Error error = kernel.launch(list))
          return error;
      return llvm::Error::success();
    });
  };
  llvm::Expected<float> one = launches(1);
  if (!one)
    return one.takeError();
  int64_t count =
      std::clamp<int64_t>(int64_t(500 / std::max(*one, 0.001f)), 5, 1000);
  llvm::Expected<float> all = launches(count);
  if (!all)
    return all.takeError();
  return Timing{count, *all / double(count), device.name()};
}

llvm::Expected<Results> tools::runOnCUDA(Inputs &inputs, CompileOptions options,
                                         bool archGiven, bool time) {
  llvm::Expected<std::unique_ptr<Device>> device = Device::open();
  if (!device)
    return device.takeError();
  if (!archGiven) {
    llvm::Expected<std::string> arch = newestArchFor((*device)->sm());
    if (!arch)
      return arch.takeError();
    options.arch = *arch;
  }
  if (options.length == 0) // dimension 2: rows of Q, rows of K
    options.length =
        std::max(inputs.queryView().shape[2], inputs.keyView().shape[2]);
  llvm::Expected<CompileOptions> tuned =
      withTuned(*inputs.module, options, (*device)->name());
  if (!tuned)
    return tuned.takeError();
  llvm::Expected<KernelImage> image = [&] {
    Progress progress("compiling");
    return compileToGPU(*inputs.module, *tuned);
  }();
  if (!image)
    return image.takeError();
  llvm::Expected<flashc::Module> kernel =
      flashc::Module::load(**device, *image);
  if (!kernel)
    return kernel.takeError();
  Results results = makeResults(inputs);
  std::vector<Argument> host = arguments(inputs, results);
  llvm::Expected<DeviceArguments> onDevice = uploadAll(**device, host);
  if (!onDevice)
    return onDevice.takeError();
  Progress progress("running on the GPU");
  if (llvm::Error error = kernel->launch(onDevice->list))
    return error;
  if (llvm::Error error = (*device)->synchronize())
    return error;
  if (time) {
    llvm::Expected<Timing> timing =
        timeOnCUDA(**device, *kernel, onDevice->list);
    if (!timing)
      return timing.takeError();
    results.timing = *timing;
  }
  for (auto [argument, buffer] : llvm::zip(host, onDevice->buffers))
    if (argument.isOutput && buffer.size())
      if (llvm::Error error = (*device)->copyFrom(
              argument.array->data.data(), buffer.pointer(), buffer.size()))
        return error;
  return results;
}
