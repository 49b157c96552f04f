// From a backward to a module, and from its result to a verdict: what the tests
// of all targets have in common.
#include "cases/GradientModule.h"

#include "cases/CaseModule.h"
#include "cases/CaseRunner.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

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

namespace {
/// Of Q and K, and of V.
struct Dims {
  int64_t qk, v;
  Dims(int64_t dim) : qk(dim), v(dim) {}
  Dims(int64_t qk, int64_t v) : qk(qk), v(v) {}
  /// Whether groups have the same keys, and dV or dK of them.
  bool areShared() const { return qk != v || qk > 128; }
};
} // namespace

/// As flashc prints it for sm_90a.
static std::string roleSchedule(Dims dims, bool hasScore = false,
                                bool isDistance = false,
                                bool isOrdered = false) {
  bool isNarrow = hasScore && !dims.areShared();
  bool isLong = !dims.areShared() && dims.qk <= 64 && (!hasScore || isDistance);
  bool isWide = dims.areShared() && dims.qk + dims.v > 384;
  return fmt::format(
      "#tile.schedule<q = {}, kv = {}, stages = {}, warps = 8, q_in_registers "
      "= false, sram = 232448, roles = <groups = 2, producer = {}, consumer = "
      "{}, overlap = true, turns = false, rescale = always, apart = false, "
      "ahead = false, skip = false>>",
      isLong ? 128 : 64, dims.areShared() ? 64 : 128,
      isWide                                    ? 2
      : dims.areShared() || isLong || isOrdered ? 3
                                                : 4,
      isNarrow ? 56 : 72, isNarrow ? 224 : 216);
}

namespace {
struct Shape {
  int64_t batch, heads, kvHeads, sq, sk;
};

AttentionProblem normalProblem(Element element, Dims dims, const Shape &shape,
                               const MaskExpr &mask, Random &random) {
  AttentionProblem p;
  p.mask = mask;
  p.scale = 1 / std::sqrt(double(dims.qk));
  auto tensor = [&](int64_t heads, int64_t length, int64_t dim) {
    return HostTensor::dense(element, {shape.batch, heads, length, dim},
                             p.layout);
  };
  p.q = tensor(shape.heads, shape.sq, dims.qk);
  p.k = tensor(shape.kvHeads, shape.sk, dims.qk);
  p.v = tensor(shape.kvHeads, shape.sk, dims.v);
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
  for (Dims dims : {Dims(64), Dims(96), Dims(128), Dims(192, 128), Dims(256)})
    for (Element element : {Element::F16, Element::BF16})
      for (const MaskExpr &mask : masks)
        for (const Shape &shape : shapes) {
          AttentionProblem p =
              normalProblem(element, dims, shape, mask, random);
          GradientCase test;
          test.name = "roles: " + p.describe();
          test.problem = gradientOf(std::move(p), random);
          test.schedule = roleSchedule(dims);
          cases.push_back(std::move(test));
        }
  return cases;
}

namespace {
/// Kernels with roles of one pair of head dims and type: score functions, key
/// lengths, and sums in order.
class RoleVariants {
public:
  RoleVariants(Dims dims, Element element, Random &random)
      : dims(dims), element(element), random(random) {}

  void addScores(std::vector<GradientCase> &cases) {
    for (int kind = 0; kind < kScoreKinds; ++kind) {
      // Gradients of other captures are summed up elsewhere.
      bool isGathered = ScoreKind(kind) <= ScoreKind::HeadBias;
      MaskExpr mask = kind % 2 ? MaskExpr::none() : MaskExpr::causal();
      AttentionProblem p =
          normalProblem(element, dims, {2, 4, 2, 170, 290}, mask, random);
      addScoreFunction(p, ScoreKind(kind), random, /*staticHeads=*/false);
      GradientCase test =
          make(std::move(p), ScoreKind(kind) == ScoreKind::Slopes);
      if (!isGathered)
        test.problem.gradients.clear();
      cases.push_back(std::move(test));
    }
  }

  /// Biases whose gradient has an element for each pair, and with it in keys
  /// that no query sees what is no number.
  void addBiases(std::vector<GradientCase> &cases) {
    for (const MaskExpr &mask : {MaskExpr::none(), MaskExpr::causal()})
      for (bool isJunk : {false, true}) {
        AttentionProblem p =
            normalProblem(element, dims, {1, 4, 2, 170, 290}, mask, random);
        if (isJunk)
          p.kvLengths = {211};
        for (int64_t s = 211; isJunk && s < 290; ++s)
          for (int64_t h = 0; h < 2; ++h)
            p.v.set(0, h, s, 3, std::numeric_limits<float>::quiet_NaN());
        addNarrowBias(p, random, /*byBatch=*/false, /*byHead=*/true);
        cases.push_back(make(std::move(p)));
      }
  }

  /// Biases that batches or heads share, so that their gradients are summed up:
  /// by the main kernel, or in order by one of their own.
  void addSharedBiases(std::vector<GradientCase> &cases) {
    for (bool byBatch : {false, true})
      for (bool byHead : {false, true}) {
        if (byBatch && byHead)
          continue;
        for (const MaskExpr &mask : {MaskExpr::none(), MaskExpr::causal()}) {
          bool isCausal = mask.kind != MaskExpr::Kind::None;
          AttentionProblem p =
              normalProblem(element, dims, {2, 4, 2, 200, 330}, mask, random);
          if (isCausal)
            p.kvLengths = {211, 330};
          for (int64_t s = 211; isCausal && !byHead && s < 330; ++s)
            p.v.set(0, 1, s, 3, std::numeric_limits<float>::quiet_NaN());
          addNarrowBias(p, random, byBatch, byHead);
          cases.push_back(make(std::move(p)));
        }
      }
    AttentionProblem p = normalProblem(element, dims, {2, 2, 2, 200, 130},
                                       MaskExpr::none(), random);
    addNarrowBias(p, random, /*byBatch=*/false, /*byHead=*/false);
    GradientCase test = make(std::move(p));
    test.problem.deterministic = true;
    test.schedule = roleSchedule(dims, /*hasScore=*/true, /*isDistance=*/false,
                                 /*isOrdered=*/true);
    cases.push_back(std::move(test));
  }

  void addKeyLengths(std::vector<GradientCase> &cases) {
    for (const MaskExpr &mask : {MaskExpr::none(), MaskExpr::causal()}) {
      AttentionProblem p =
          normalProblem(element, dims, {4, 2, 1, 200, 300}, mask, random);
      p.kvLengths = {300, 129, 0, 57};
      cases.push_back(make(std::move(p)));
    }
  }

  void addPlain(std::vector<GradientCase> &cases) {
    for (const Shape &shape : {Shape{2, 4, 2, 170, 290}, {1, 1, 1, 300, 200}})
      cases.push_back(make(normalProblem(element, dims, shape,
                                         MaskExpr::window(100, 50), random)));
  }

  void addOrdered(std::vector<GradientCase> &cases) {
    for (const Shape &shape :
         {Shape{2, 4, 2, 400, 700}, {1, 2, 2, 700, 400}, {1, 1, 1, 1, 1}})
      for (const MaskExpr &mask :
           {MaskExpr::none(), MaskExpr::causal(), MaskExpr::window(100, 50)}) {
        AttentionProblem p = normalProblem(element, dims, shape, mask, random);
        GradientCase test = make(std::move(p));
        test.problem.deterministic = true;
        test.schedule = roleSchedule(dims, /*hasScore=*/false,
                                     /*isDistance=*/false, /*isOrdered=*/true);
        cases.push_back(std::move(test));
      }
  }

private:
  GradientCase make(AttentionProblem p, bool isDistance = false) {
    GradientCase test;
    test.name = "roles: " + p.describe();
    test.schedule = roleSchedule(dims, bool(p.score), isDistance);
    test.problem = gradientOf(std::move(p), random);
    return test;
  }

  Dims dims;
  Element element;
  Random &random;
};
} // namespace

std::vector<GradientCase> test::roleVariantCases() {
  std::vector<GradientCase> cases;
  Random random(23);
  const std::pair<Dims, Element> kinds[] = {
      {Dims(64), Element::F16},  {Dims(96), Element::BF16},
      {Dims(128), Element::F16}, {Dims(128), Element::BF16},
      {Dims(256), Element::F16}, {Dims(192, 128), Element::BF16}};
  for (auto [dims, element] : kinds) {
    RoleVariants variants(dims, element, random);
    variants.addScores(cases);
    variants.addBiases(cases);
    variants.addSharedBiases(cases);
    variants.addKeyLengths(cases);
    variants.addOrdered(cases);
  }
  for (Dims dims : {Dims(16), Dims(32), Dims(48), Dims(80), Dims(112),
                    Dims(160), Dims(224), Dims(64, 128), Dims(128, 48)})
    RoleVariants(dims, dims.qk % 32 ? Element::F16 : Element::BF16, random)
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
    Dims dims(p.headDim(), p.valueHeadDim());
    bool areDims = dims.qk % 16 == 0 && dims.v % 16 == 0;
    if (!areDims || p.dtype() == Element::F32 || p.score ||
        !p.kvLengths.empty() || test.problem.deterministic)
      continue;
    test.name = "roles: " + test.name;
    test.sameAs.clear(); // what is computed again has its own rounding
    test.schedule = roleSchedule(dims);
    cases.push_back(std::move(test));
  }
  return cases;
}

std::vector<float> test::flat(const HostTensor &row) {
  std::vector<float> out;
  for (int64_t e = 0; e < row.shape[3]; ++e)
    out.push_back(row.get(0, 0, 0, e));
  return out;
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
