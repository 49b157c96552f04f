// From a case to a kernel of this machine and to its result. Kernels are shared
// by cases of one key, as a cache would.
#include "unittests/Numerics/CpuHarness.h"

#include "cases/CaseModule.h"
#include "flashc/Compiler/Compiler.h"

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

static llvm::Expected<std::unique_ptr<CpuKernel>>
compile(const TestCase &test, const std::string &tiles) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = moduleOf(test, *context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = "cpu";
  options.tiles = tiles;
  options.vectorBits = hostVectorBits();
  return compileToCPU(**module, options);
}

const CompiledKernel &CpuHarness::kernel(const TestCase &test) {
  auto [at, isNew] = kernels.try_emplace(kernelKey(test));
  CompiledKernel &made = at->second;
  if (!isNew)
    return made;
  auto kernel = compile(test, test.tiles);
  if (!kernel && test.tiles != "auto") {
    made.refusedTiles = llvm::toString(kernel.takeError());
    kernel = compile(test, "auto");
  }
  if (kernel)
    made.kernel = std::move(*kernel);
  else
    made.error = llvm::toString(kernel.takeError());
  return made;
}

CpuArgument test::argumentOf(const HostTensor &tensor) {
  CpuArgument argument;
  argument.data = const_cast<char *>(tensor.data());
  argument.sizes.assign(tensor.shape.begin(), tensor.shape.end());
  argument.strides.assign(tensor.strides.begin(), tensor.strides.end());
  return argument;
}

llvm::Expected<Output> CpuHarness::run(const TestCase &test, unsigned threads) {
  const CompiledKernel &compiled = kernel(test);
  if (!compiled.kernel)
    return llvm::createStringError(compiled.error);
  const AttentionProblem &p = test.problem;
  Output out = makeOutput(test);
  std::vector<CpuArgument> arguments{argumentOf(p.q), argumentOf(p.k),
                                     argumentOf(p.v)};
  if (!p.kvLengths.empty())
    arguments.push_back({const_cast<int32_t *>(p.kvLengths.data()),
                         {int64_t(p.kvLengths.size())},
                         {}});
  for (const Capture &capture : p.captures)
    arguments.push_back({const_cast<float *>(capture.data.data()),
                         {capture.shape.begin(), capture.shape.end()},
                         {}});
  arguments.push_back(argumentOf(out.o));
  if (test.withLse)
    arguments.push_back({out.lse.data(), {p.batch(), p.heads(), p.sq()}, {}});
  if (llvm::Error error = compiled.kernel->run(arguments, threads))
    return std::move(error);
  return out;
}

std::string CpuHarness::runAndJudge(const TestCase &test, Judge &judge,
                                    unsigned threads) {
  llvm::Expected<Output> out = run(test, threads);
  bool strided = test.problem.q.strides[3] != 1;
  if (strided && out)
    return test.name + ": a last stride other than 1 was not refused";
  if (out)
    return judge.judge(test, *out);
  std::string error = llvm::toString(out.takeError());
  if (!strided)
    return test.name + ": " + error;
  if (error.find("copy it to that form first") == std::string::npos)
    return test.name + ": refused for another reason: " + error;
  TestCase copied = test;
  for (HostTensor *t :
       {&copied.problem.q, &copied.problem.k, &copied.problem.v})
    *t = denseCopy(*t, test.problem.layout);
  return runAndJudge(copied, judge, threads);
}
