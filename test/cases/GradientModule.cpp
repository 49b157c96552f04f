// From a backward to a module, and from its result to a verdict: what the tests
// of all targets have in common.
#include "cases/GradientModule.h"

#include "cases/CaseModule.h"
#include "cases/CaseRunner.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

/// The case as the forward's tests have it: what describes the attention.
static TestCase forwardOf(const GradientCase &test) {
  TestCase forward;
  forward.name = test.name;
  forward.problem = test.problem.forward;
  forward.tiles = test.tiles;
  forward.staticHeads = test.staticHeads;
  return forward;
}

std::string test::gradientKey(const GradientCase &test) {
  const GradientProblem &p = test.problem;
  return fmt::format("{} dlse {} gradients {} deterministic {} {}",
                     kernelKey(forwardOf(test)), !p.dLse.empty(),
                     fmt::join(p.gradients, ","), p.deterministic,
                     test.schedule);
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
test::moduleOf(const GradientCase &test, mlir::MLIRContext &context) {
  return moduleOf(forwardOf(test), context);
}

CompileOptions test::optionsOf(const GradientCase &test) {
  CompileOptions options;
  options.tiles = test.tiles;
  options.schedule = test.schedule;
  options.backward = true;
  options.gradients = test.problem.gradients;
  options.lseGradient = !test.problem.dLse.empty();
  options.deterministic = test.problem.deterministic;
  return options;
}

CompiledGradients test::compileGradients(const GradientCase &test,
                                         const std::string &arch,
                                         int64_t alignment,
                                         const Assembler *assembler) {
  CompiledGradients out;
  CompileOptions options = optionsOf(test);
  options.arch = arch;
  options.alignment = alignment;
  auto compile = [&]() -> llvm::Expected<ProgramImage> {
    std::unique_ptr<mlir::MLIRContext> context = makeContext();
    auto module = moduleOf(test, *context);
    if (!module)
      return module.takeError();
    return compileProgramToGPU(**module, options, assembler);
  };
  llvm::Expected<ProgramImage> image = compile();
  if (!image && options.tiles != "auto") {
    out.refusedTiles = llvm::toString(image.takeError());
    options.tiles = "auto";
    image = compile();
  }
  if (image)
    out.image = std::move(*image);
  else
    out.error = llvm::toString(image.takeError());
  return out;
}

/// As flashc prints it for sm_90a.
static std::string roleSchedule(int64_t headDim) {
  return fmt::format(
      "#tile.schedule<q = {}, kv = 128, stages = 3, warps = 8, q_in_registers "
      "= false, sram = 232448, roles = <groups = 2, producer = 72, consumer = "
      "216, overlap = true, turns = false, rescale = always, apart = false, "
      "ahead = false, skip = false>>",
      headDim == 64 ? 128 : 64);
}

std::vector<GradientCase> test::roleCases() {
  struct Shape {
    int64_t batch, heads, kvHeads, sq, sk;
  };
  // Ends inside of blocks, fewer keys or queries than a block, query heads that
  // share keys, rows without a key where the mask is causal, no row.
  constexpr Shape shapes[] = {{1, 2, 2, 256, 256}, {1, 1, 1, 300, 200},
                              {2, 4, 1, 70, 333},  {1, 4, 2, 131, 500},
                              {1, 2, 1, 500, 300}, {1, 1, 1, 1, 1},
                              {1, 2, 1, 0, 70}};
  const MaskExpr masks[] = {MaskExpr::none(), MaskExpr::causal(),
                            MaskExpr::window(100, 50)};
  std::vector<GradientCase> cases;
  Random random(22);
  for (int64_t dim : {64, 96, 128})
    for (Element element : {Element::F16, Element::BF16})
      for (const MaskExpr &mask : masks)
        for (const Shape &shape : shapes) {
          AttentionProblem p;
          p.mask = mask;
          p.scale = 1 / std::sqrt(double(dim));
          p.q = HostTensor::dense(
              element, {shape.batch, shape.heads, shape.sq, dim}, p.layout);
          p.k = p.v = HostTensor::dense(
              element, {shape.batch, shape.kvHeads, shape.sk, dim}, p.layout);
          for (HostTensor *t : {&p.q, &p.k, &p.v})
            fillNormal(*t, random);
          GradientCase test;
          test.name = "roles: " + p.describe();
          test.problem = gradientOf(std::move(p), random);
          test.schedule = roleSchedule(dim);
          cases.push_back(std::move(test));
        }
  return cases;
}

std::vector<GradientCase> test::roleNumericalCases() {
  constexpr const char *kinds[] = {
      "case 1:", "case 2:", "case 5:", "case 6:", "case 7:", "case 10:"};
  std::vector<GradientCase> cases;
  for (GradientCase &test : gradientCases()) {
    bool isKind = llvm::any_of(kinds, [&](llvm::StringRef kind) {
      return llvm::StringRef(test.name).starts_with(kind);
    });
    if (!isKind)
      continue;
    const AttentionProblem &p = test.problem.forward;
    bool isDim = p.headDim() == 64 || p.headDim() == 96 || p.headDim() == 128;
    if (!isDim || p.valueHeadDim() != p.headDim() ||
        p.dtype() == Element::F32 || p.score || !p.kvLengths.empty() ||
        test.problem.deterministic)
      continue;
    test.name = "roles: " + test.name;
    test.sameAs.clear(); // what is computed again has its own rounding
    test.schedule = roleSchedule(p.headDim());
    cases.push_back(std::move(test));
  }
  return cases;
}

HostTensor test::unwritten(const HostTensor &like, Layout layout) {
  HostTensor tensor = HostTensor::dense(like.element, like.shape, layout);
  std::memset(tensor.storage.data(), 0xff, tensor.storage.size());
  return tensor;
}

bool test::sameBits(const Gradients &a, const Gradients &b) {
  auto areSame = [](const std::vector<float> &x, const std::vector<float> &y) {
    return x.size() == y.size() &&
           std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  };
  return a.dq.storage == b.dq.storage && a.dk.storage == b.dk.storage &&
         a.dv.storage == b.dv.storage &&
         std::equal(a.captures.begin(), a.captures.end(), b.captures.begin(),
                    b.captures.end(), areSame);
}

std::string GradientJudge::judge(const GradientCase &test, Gradients result,
                                 bool comparesBits) {
  GradientReport report = checkGradients(test.problem, result);
  if (!report.ok)
    return test.name + ": " + report.why;
  for (int n = 0; n < 3; ++n)
    if (double ratio = report.rmsError[n] / report.rmsUnfused[n];
        report.rmsUnfused[n] > 0 && ratio > worst) {
      worst = ratio;
      worstName = test.name + ": " + report.summary();
    }
  if (test.expect)
    if (std::string wrong = test.expect(test.problem, result); !wrong.empty())
      return test.name + ": " + wrong;
  if (!test.sameAs.empty() && comparesBits) {
    auto same = earlier.find(test.sameAs);
    if (same == earlier.end())
      return test.name + ": '" + test.sameAs + "' has not run";
    if (!sameBits(same->second, result))
      return test.name + ": differs from '" + test.sameAs + "'";
  }
  earlier.insert_or_assign(test.name, std::move(result));
  return "";
}
