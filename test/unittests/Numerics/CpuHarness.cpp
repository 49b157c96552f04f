// From a case to a kernel of this machine and to its result. Kernels are shared
// by cases of one key, as a cache would.
#include "unittests/Numerics/CpuHarness.h"

#include "cases/CaseModule.h"
#include "flashc/Compiler/Compiler.h"

#include "mlir/Pass/PassManager.h"

#include <deque>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

/// The tile level's kernel for `options.arch`, taken to this machine.
static llvm::Expected<std::unique_ptr<CpuKernel>> toHost(Lowering &tile) {
  PipelineOptions options;
  options.arch = "cpu";
  options.vectorBits = hostVectorBits();
  mlir::PassManager manager(tile.module->getContext());
  buildCPUPipeline(manager, options);
  if (failed(manager.run(*tile.module)))
    return llvm::createStringError("tile-to-cpu failed");
  return CpuKernel::create(*tile.module);
}

/// The schedule of a kernel with roles, which rescale as said; empty for
/// others.
static std::string withRescale(Lowering &tile, tile::Rescale rescale) {
  std::string text;
  tile.module->walk([&](tile::KernelOp kernel) {
    tile::ScheduleAttr s = kernel.getSchedule();
    tile::RolesAttr r = s.getRoles();
    if (!r)
      return;
    r = tile::RolesAttr::get(r.getContext(), r.getGroups(), r.getProducer(),
                             r.getConsumer(), r.getOverlap(), r.getTurns(),
                             rescale, r.getApart(), r.getAhead(), r.getSkip());
    llvm::raw_string_ostream(text) << tile::ScheduleAttr::get(
        s.getContext(), s.getQ(), s.getKv(), s.getStages(), s.getWarps(),
        s.getQInRegisters(), s.getSram(), s.getWarpRows(), r);
  });
  return text;
}

void CpuHarness::compile(const TestCase &test, const std::string &tiles,
                         CompiledKernel &made) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto compileIt = [&]() -> llvm::Expected<std::unique_ptr<CpuKernel>> {
    auto module = moduleOf(test, *context);
    if (!module)
      return module.takeError();
    CompileOptions options;
    options.arch = arch;
    options.tiles = tiles;
    auto lowered = lowerTo(**module, options, Stage::Tile);
    if (!lowered)
      return lowered.takeError();
    if (rescale)
      options.schedule = withRescale(*lowered, *rescale);
    if (!options.schedule.empty()) {
      options.tiles = "auto";
      lowered = lowerTo(**module, options, Stage::Tile);
    }
    if (!lowered)
      return lowered.takeError();
    lowered->module->walk([&](tile::KernelOp kernel) {
      if (tile::RolesAttr roles = kernel.getSchedule().getRoles())
        made.rescale = roles.getRescale();
    });
    return toHost(*lowered);
  };
  auto kernel = compileIt();
  made.error.clear();
  if (kernel)
    made.kernel = std::move(*kernel);
  else
    made.error = llvm::toString(kernel.takeError());
}

const CompiledKernel &CpuHarness::kernel(const TestCase &test) {
  auto [at, isNew] = kernels.try_emplace(kernelKey(test));
  CompiledKernel &made = at->second;
  if (!isNew)
    return made;
  compile(test, test.tiles, made);
  if (!made.kernel && test.tiles != "auto") {
    made.refusedTiles = made.error;
    compile(test, "auto", made);
  }
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
  std::deque<HostTensor> captures; // whose addresses stay
  for (const Capture &capture : p.captures) {
    captures.push_back(capture.tensor());
    arguments.push_back({captures.back().data(),
                         {capture.shape.begin(), capture.shape.end()},
                         {}});
  }
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
