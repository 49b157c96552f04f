// flashc-run --backward: what is read beside the forward's arrays, the run, and
// what is written.
#include "Backward.h"
#include "CheckInputs.h"
#include "Progress.h"

#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::tools;
using DType = NpyArray::DType;

void tools::returnLse(Inputs &inputs) {
  AttnFunction &attention = inputs.attention;
  if (attention.returnsLse)
    return;
  mlir::Operation *end = attention.forward->getBlock()->getTerminator();
  mlir::Value lse = attention.forward.getLse();
  end->insertOperands(1, lse);
  auto type = attention.func.getFunctionType();
  llvm::SmallVector<mlir::Type> results(type.getResults());
  results.push_back(lse.getType());
  attention.func.setType(mlir::FunctionType::get(inputs.module->getContext(),
                                                 type.getInputs(), results));
  attention.returnsLse = true;
}

/// An array that has the dtype and shape of one that is there.
static llvm::Expected<NpyArray> readLike(const std::string &path,
                                         llvm::StringRef flag,
                                         const NpyArray &like,
                                         llvm::StringRef what) {
  if (path.empty())
    return makeError("--{} is missing; give --{}=FILE.npy", flag.str(),
                     flag.str());
  Progress progress("reading " + path);
  llvm::Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.takeError();
  if (array->dtype != like.dtype || array->shape != like.shape)
    return makeError("'{}' has shape {} of {}, but --{} is for {}, which has "
                     "shape {} of {}; give another array",
                     path, shapeText(array->shape),
                     dtypeName(array->dtype).str(), flag.str(), what.str(),
                     shapeText(like.shape), dtypeName(like.dtype).str());
  return array;
}

/// Numbers of the captures that have a path for their gradient.
static llvm::Expected<std::vector<int64_t>>
findGradients(const GradientPaths &paths, Inputs &inputs) {
  const std::vector<std::string> &names = inputs.attention.captureNames;
  std::vector<int64_t> numbers;
  for (const auto &[name, path] : paths.captures) {
    auto found = llvm::find(names, name);
    if (found == names.end())
      return makeError("--gradient={}={} names no captured tensor of the "
                       "description ({}); correct the name",
                       name, path,
                       names.empty()
                           ? "there are none"
                           : fmt::format("{}", fmt::join(names, ", ")));
    numbers.push_back(found - names.begin());
  }
  llvm::sort(numbers);
  return numbers;
}

llvm::Expected<GradientInputs>
tools::readGradientInputs(const GradientPaths &paths, Inputs &inputs) {
  GradientInputs result;
  llvm::Expected<NpyArray> outputGradient =
      readLike(paths.outputGradient, "do", inputs.makeOutput(), "the output");
  if (!outputGradient)
    return outputGradient.takeError();
  result.outputGradient = std::move(*outputGradient);
  if (!paths.lseGradient.empty()) {
    llvm::Expected<NpyArray> lseGradient =
        readLike(paths.lseGradient, "dlse", inputs.makeLse(), "the lse");
    if (!lseGradient)
      return lseGradient.takeError();
    result.lseGradient = std::move(*lseGradient);
  }
  llvm::Expected<std::vector<int64_t>> gradients = findGradients(paths, inputs);
  if (!gradients)
    return gradients.takeError();
  result.gradients = std::move(*gradients);
  return result;
}

namespace {
/// The arrays of one backward by name.
class ArrayList {
public:
  explicit ArrayList(attn::Layout layout) : layout(layout) {}
  void addTensor(llvm::StringRef name, NpyArray &array) {
    View view = viewOf(array.shape, layout);
    arrays[name] = {array.data.data(), llvm::to_vector<4>(view.shape),
                    llvm::to_vector<4>(view.strides)};
  }
  void addDense(llvm::StringRef name, NpyArray &array) {
    arrays[name] = {array.data.data(), llvm::to_vector<4>(array.shape), {}};
  }
  void addFlat(llvm::StringRef name, NpyArray &array) {
    arrays[name] = {array.data.data(), {array.numElements()}, {}};
  }
  llvm::StringMap<CpuArgument> arrays;

private:
  attn::Layout layout;
};
} // namespace

static llvm::StringMap<CpuArgument> arraysOf(Inputs &inputs,
                                             GradientInputs &gradients,
                                             Results &forward,
                                             GradientResults &results) {
  ArrayList list(inputs.layout());
  list.addTensor("q", inputs.query);
  list.addTensor("k", inputs.key);
  list.addTensor("v", inputs.value);
  list.addTensor("o", forward.output);
  list.addDense("lse", *forward.lse);
  list.addTensor("do", gradients.outputGradient);
  if (gradients.lseGradient)
    list.addDense("dlse", *gradients.lseGradient);
  if (inputs.lengths)
    list.addDense("kv_lengths", *inputs.lengths);
  for (auto [n, capture] : llvm::enumerate(inputs.captures))
    list.addDense("capture" + std::to_string(n), capture);
  list.addTensor("dq", results.query);
  list.addTensor("dk", results.key);
  list.addTensor("dv", results.value);
  for (auto [number, capture] :
       llvm::zip_equal(gradients.gradients, results.captures))
    list.addFlat("dcapture" + std::to_string(number), capture);
  return std::move(list.arrays);
}

llvm::Expected<GradientResults>
tools::runBackwardOnCPU(Inputs &inputs, GradientInputs &gradients,
                        Results &forward, CompileOptions options, bool time) {
  options.arch = "cpu";
  options.vectorBits = hostVectorBits();
  options.backward = true;
  options.gradients = gradients.gradients;
  options.lseGradient = gradients.lseGradient.has_value();
  llvm::Expected<CpuProgram> program = [&] {
    Progress progress("compiling the gradients");
    return compileProgramToCPU(*inputs.module, options);
  }();
  if (!program)
    return program.takeError();
  GradientResults results;
  auto like = [](const NpyArray &array) {
    return NpyArray(array.dtype, array.shape);
  };
  results.query = like(inputs.query);
  results.key = like(inputs.key);
  results.value = like(inputs.value);
  for (int64_t number : gradients.gradients)
    results.captures.push_back(like(inputs.captures[number]));
  llvm::StringMap<CpuArgument> arrays =
      arraysOf(inputs, gradients, forward, results);
  auto run = [&] { return program->run(arrays); };
  {
    Progress progress("running the gradients on the CPU");
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

llvm::Error tools::writeGradients(const GradientPaths &paths,
                                  const GradientInputs &gradients,
                                  const GradientResults &results,
                                  const Inputs &inputs) {
  for (auto [path, array] : {std::pair(&paths.query, &results.query),
                             std::pair(&paths.key, &results.key),
                             std::pair(&paths.value, &results.value)})
    if (!path->empty())
      if (llvm::Error error = writeNpy(*path, *array))
        return error;
  for (auto [number, array] :
       llvm::zip_equal(gradients.gradients, results.captures))
    for (const auto &[name, path] : paths.captures)
      if (name == inputs.attention.captureNames[number])
        if (llvm::Error error = writeNpy(path, array))
          return error;
  return llvm::Error::success();
}
