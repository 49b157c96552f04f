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
static std::string roleSchedule(int64_t headDim, bool hasScore = false,
                                bool isDistance = false) {
  return fmt::format(
      "#tile.schedule<q = {}, kv = 128, stages = 3, warps = 8, q_in_registers "
      "= false, sram = 232448, roles = <groups = 2, producer = {}, consumer = "
      "{}, overlap = true, turns = false, rescale = always, apart = false, "
      "ahead = false, skip = false>>",
      headDim <= 64 && (!hasScore || isDistance) ? 128 : 64, hasScore ? 56 : 72,
      hasScore ? 224 : 216);
}

namespace {
struct Shape {
  int64_t batch, heads, kvHeads, sq, sk;
};

AttentionProblem normalProblem(Element element, int64_t dim, const Shape &shape,
                               const MaskExpr &mask, Random &random) {
  AttentionProblem p;
  p.mask = mask;
  p.scale = 1 / std::sqrt(double(dim));
  p.q = HostTensor::dense(element, {shape.batch, shape.heads, shape.sq, dim},
                          p.layout);
  p.k = p.v = HostTensor::dense(
      element, {shape.batch, shape.kvHeads, shape.sk, dim}, p.layout);
  for (HostTensor *t : {&p.q, &p.k, &p.v})
    fillNormal(*t, random);
  return p;
}
} // namespace

std::vector<GradientCase> test::roleCases() {
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
          AttentionProblem p = normalProblem(element, dim, shape, mask, random);
          GradientCase test;
          test.name = "roles: " + p.describe();
          test.problem = gradientOf(std::move(p), random);
          test.schedule = roleSchedule(dim);
          cases.push_back(std::move(test));
        }
  return cases;
}

namespace {
/// Kernels with roles of one head dim and type: score functions, key lengths,
/// and sums in order.
class RoleVariants {
public:
  RoleVariants(int64_t dim, Element element, Random &random)
      : dim(dim), element(element), random(random) {}

  void addScores(std::vector<GradientCase> &cases) {
    for (int kind = 0; kind < kScoreKinds; ++kind) {
      // Gradients of other captures are summed up elsewhere.
      bool isGathered = ScoreKind(kind) <= ScoreKind::HeadBias;
      MaskExpr mask = kind % 2 ? MaskExpr::none() : MaskExpr::causal();
      AttentionProblem p =
          normalProblem(element, dim, {2, 4, 2, 170, 290}, mask, random);
      addScoreFunction(p, ScoreKind(kind), random, /*staticHeads=*/false);
      GradientCase test =
          make(std::move(p), ScoreKind(kind) == ScoreKind::Slopes);
      if (!isGathered)
        test.problem.gradients.clear();
      cases.push_back(std::move(test));
    }
  }

  void addKeyLengths(std::vector<GradientCase> &cases) {
    for (const MaskExpr &mask : {MaskExpr::none(), MaskExpr::causal()}) {
      AttentionProblem p =
          normalProblem(element, dim, {4, 2, 1, 200, 300}, mask, random);
      p.kvLengths = {300, 129, 0, 57};
      cases.push_back(make(std::move(p)));
    }
  }

  void addPlain(std::vector<GradientCase> &cases) {
    for (const Shape &shape : {Shape{2, 4, 2, 170, 290}, {1, 1, 1, 300, 200}})
      cases.push_back(make(normalProblem(element, dim, shape,
                                         MaskExpr::window(100, 50), random)));
  }

  void addOrdered(std::vector<GradientCase> &cases) {
    for (const Shape &shape :
         {Shape{2, 4, 2, 400, 700}, {1, 2, 2, 700, 400}, {1, 1, 1, 1, 1}})
      for (const MaskExpr &mask :
           {MaskExpr::none(), MaskExpr::causal(), MaskExpr::window(100, 50)}) {
        AttentionProblem p = normalProblem(element, dim, shape, mask, random);
        GradientCase test = make(std::move(p));
        test.problem.deterministic = true;
        cases.push_back(std::move(test));
      }
  }

private:
  GradientCase make(AttentionProblem p, bool isDistance = false) {
    GradientCase test;
    test.name = "roles: " + p.describe();
    test.schedule = roleSchedule(dim, bool(p.score), isDistance);
    test.problem = gradientOf(std::move(p), random);
    return test;
  }

  int64_t dim;
  Element element;
  Random &random;
};
} // namespace

std::vector<GradientCase> test::roleVariantCases() {
  std::vector<GradientCase> cases;
  Random random(23);
  constexpr std::pair<int64_t, Element> kinds[] = {{64, Element::F16},
                                                   {96, Element::BF16},
                                                   {128, Element::F16},
                                                   {128, Element::BF16}};
  for (auto [dim, element] : kinds) {
    RoleVariants variants(dim, element, random);
    variants.addScores(cases);
    variants.addKeyLengths(cases);
    variants.addOrdered(cases);
  }
  for (int64_t dim : {16, 32, 48, 80, 112})
    RoleVariants(dim, dim % 32 ? Element::F16 : Element::BF16, random)
        .addPlain(cases);
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
