// From a backward to a program of this machine and to its result.
#include "unittests/Numerics/GradientHarness.h"
#include "unittests/Numerics/CpuHarness.h"

#include "cases/CaseModule.h"
#include "flashc/Compiler/Compiler.h"

#include "mlir/Pass/PassManager.h"

#include <cstring>
#include <deque>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

/// The tile level's kernels for the chip of a schedule, taken to this machine.
static llvm::Expected<CpuProgram> toHost(mlir::ModuleOp module,
                                         const CompileOptions &options) {
  llvm::Expected<Lowering> tile = lowerTo(module, options, Stage::Tile);
  if (!tile)
    return tile.takeError();
  PipelineOptions pipeline;
  pipeline.arch = "cpu";
  pipeline.vectorBits = hostVectorBits();
  mlir::PassManager manager(tile->module->getContext());
  buildCPUPipeline(manager, pipeline);
  if (failed(manager.run(*tile->module)))
    return llvm::createStringError("tile-to-cpu failed");
  return CpuProgram::create(*tile->module, *tile->program);
}

static llvm::Expected<CpuProgram> compile(const GradientCase &test,
                                          const std::string &tiles) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = moduleOf(test, *context);
  if (!module)
    return module.takeError();
  CompileOptions options = optionsOf(test);
  if (!test.schedule.empty()) {
    options.arch = "sm_90a";
    return toHost(**module, options);
  }
  options.arch = "cpu";
  options.vectorBits = hostVectorBits();
  options.tiles = tiles;
  return compileProgramToCPU(**module, options);
}

const CompiledProgram &GradientHarness::program(const GradientCase &test) {
  auto [at, isNew] = programs.try_emplace(gradientKey(test));
  CompiledProgram &made = at->second;
  if (!isNew)
    return made;
  auto compiled = compile(test, test.tiles);
  if (!compiled && test.tiles != "auto") {
    made.refusedTiles = llvm::toString(compiled.takeError());
    compiled = compile(test, "auto");
  }
  if (compiled)
    made.program = std::move(*compiled);
  else
    made.error = llvm::toString(compiled.takeError());
  return made;
}

llvm::Expected<Gradients> GradientHarness::run(const GradientCase &test,
                                               unsigned threads) {
  const CompiledProgram &compiled = program(test);
  if (!compiled.program)
    return llvm::createStringError(compiled.error);
  const GradientProblem &problem = test.problem;
  const AttentionProblem &p = problem.forward;
  Gradients out{unwritten(p.q, p.layout),
                unwritten(p.k, p.layout),
                unwritten(p.v, p.layout),
                {}};
  llvm::SmallVector<int64_t, 4> rows{p.batch(), p.heads(), p.sq()};
  auto rowsOf = [&](const std::vector<float> &data) {
    return CpuArgument{const_cast<float *>(data.data()), rows, {}};
  };
  llvm::StringMap<CpuArgument> arrays;
  arrays["q"] = argumentOf(p.q);
  arrays["k"] = argumentOf(p.k);
  arrays["v"] = argumentOf(p.v);
  arrays["o"] = argumentOf(problem.o);
  arrays["lse"] = rowsOf(problem.lse);
  arrays["do"] = argumentOf(problem.dO);
  if (!problem.dLse.empty())
    arrays["dlse"] = rowsOf(problem.dLse);
  if (!p.kvLengths.empty())
    arrays["kv_lengths"] = {const_cast<int32_t *>(p.kvLengths.data()),
                            {int64_t(p.kvLengths.size())},
                            {}};
  std::deque<HostTensor> captures; // whose addresses stay
  for (auto [n, capture] : llvm::enumerate(p.captures)) {
    captures.push_back(capture.tensor());
    arrays["capture" + std::to_string(n)] = {
        captures.back().data(),
        {capture.shape.begin(), capture.shape.end()},
        {}};
  }
  arrays["dq"] = argumentOf(out.dq);
  arrays["dk"] = argumentOf(out.dk);
  arrays["dv"] = argumentOf(out.dv);
  std::deque<HostTensor> ofCaptures;
  for (int64_t number : problem.gradients) {
    HostTensor &host = ofCaptures.emplace_back(p.captures[number].tensor());
    std::memset(host.storage.data(), 0xff, host.storage.size());
    arrays["dcapture" + std::to_string(number)] = {
        host.data(), {host.shape[3]}, {}};
  }
  if (llvm::Error error = compiled.program->run(arrays, threads))
    return std::move(error);
  for (const HostTensor &host : ofCaptures)
    out.captures.push_back(flat(host));
  return out;
}

std::string GradientHarness::runAndJudge(const GradientCase &test,
                                         unsigned threads) {
  llvm::Expected<Gradients> out = run(test, threads);
  const AttentionProblem &p = test.problem.forward;
  bool strided = p.q.strides[3] != 1 || test.problem.dO.strides[3] != 1;
  if (strided && out)
    return test.name + ": a last stride other than 1 was not refused";
  if (!out) {
    std::string error = llvm::toString(out.takeError());
    if (!strided)
      return test.name + ": " + error;
    if (error.find("copy it to that form first") == std::string::npos)
      return test.name + ": refused for another reason: " + error;
    GradientCase copied = test;
    AttentionProblem &f = copied.problem.forward;
    for (HostTensor *t : {&f.q, &f.k, &f.v, &copied.problem.dO})
      *t = denseCopy(*t, f.layout);
    return runAndJudge(copied, threads);
  }
  return judge.judge(test, std::move(*out));
}
