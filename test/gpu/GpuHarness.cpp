// The way of one case through compiler and runtime on a GPU.
#include "gpu/GpuHarness.h"

#include "gpu/InParallel.h"

#include "cases/CaseModule.h"

#include <set>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

std::unique_ptr<GpuHarness> GpuHarness::open() {
  auto device = Device::open();
  if (!device) {
    llvm::consumeError(device.takeError());
    return nullptr;
  }
  auto harness = std::make_unique<GpuHarness>();
  harness->gpu = std::move(*device);
  return harness;
}

static LoadedKernel compileAndLoad(const Device &device, const TestCase &test,
                                   const std::string &arch, int64_t alignment) {
  CompiledCase compiled = compileCase(test, arch, alignment);
  LoadedKernel out;
  out.error = compiled.error;
  out.refusedTiles = compiled.refusedTiles;
  if (!compiled.image)
    return out;
  llvm::Expected<Module> module = Module::load(device, *compiled.image);
  if (module)
    out.module.emplace(std::move(*module));
  else
    out.error = llvm::toString(module.takeError());
  return out;
}

static std::string keyOf(const TestCase &test, const std::string &arch,
                         int64_t alignment) {
  return fmt::format("{} {} {}", arch, alignment, kernelKey(test));
}

void GpuHarness::prepare(llvm::ArrayRef<TestCase> tests,
                         const std::string &arch, int64_t alignment) {
  std::vector<std::pair<std::string, const TestCase *>> todo;
  std::set<std::string> seen;
  for (const TestCase &test : tests) {
    std::string key = keyOf(test, arch, alignment);
    if (!kernels.count(key) && seen.insert(key).second)
      todo.emplace_back(key, &test);
  }
  std::vector<LoadedKernel> done(todo.size());
  inParallel(*gpu, todo.size(), [&](size_t at) {
    done[at] = compileAndLoad(*gpu, *todo[at].second, arch, alignment);
  });
  for (size_t at = 0; at < todo.size(); ++at)
    kernels[todo[at].first] = std::move(done[at]);
}

const LoadedKernel &GpuHarness::kernel(const TestCase &test,
                                       const std::string &arch,
                                       int64_t alignment) {
  prepare(test, arch, alignment);
  return kernels[keyOf(test, arch, alignment)];
}

llvm::Expected<Output> GpuHarness::run(const Module &module,
                                       const TestCase &test) {
  auto arguments = DeviceArguments::make(*gpu, module.manifest(), test);
  if (!arguments)
    return arguments.takeError();
  if (llvm::Error error = module.launch(arguments->args))
    return std::move(error);
  if (llvm::Error error = gpu->synchronize())
    return std::move(error);
  Output out = makeOutput(test);
  if (llvm::Error error = arguments->readBack(*gpu, out))
    return std::move(error);
  return out;
}

std::vector<std::string> GpuHarness::runAll(llvm::ArrayRef<TestCase> tests,
                                            const std::string &arch,
                                            Judge &judge) {
  prepare(tests, arch);
  std::vector<std::string> wrong;
  for (const TestCase &test : tests) {
    const LoadedKernel &loaded = kernel(test, arch);
    if (!loaded.module) {
      wrong.push_back(test.name + ": " + loaded.error);
      continue;
    }
    llvm::Expected<Output> output = run(*loaded.module, test);
    std::string verdict =
        output ? judge.judge(test, *output)
               : test.name + ": " + llvm::toString(output.takeError());
    if (!verdict.empty())
      wrong.push_back(std::move(verdict));
  }
  return wrong;
}
