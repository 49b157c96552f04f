// Kernels of a GPU whose warps have roles, as the tile level leaves them (the
// key loops overlapped, the softmax straight or under a late branch), run on
// this machine.
#include "unittests/Catch.h"
#include "unittests/Numerics/CpuHarness.h"

#include <cmath>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
constexpr char kArch[] = "sm_90a";

void runCases(llvm::StringRef prefix, size_t atLeast) {
  CpuHarness harness(kArch);
  Judge judge;
  size_t count = 0;
  for (const TestCase &test : cases()) {
    if (!llvm::StringRef(test.name).starts_with(prefix))
      continue;
    std::string wrong = harness.runAndJudge(test, judge);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
    count += harness.kernel(test).rescale.has_value();
  }
  CHECK(count >= atLeast);
}

TestCase gridCase(int64_t dim, MaskExpr mask, int64_t sq, int64_t sk) {
  TestCase test;
  AttentionProblem &p = test.problem;
  test.name = fmt::format("d {} {} sq {} sk {}", dim, mask.text(), sq, sk);
  p.mask = std::move(mask);
  p.scale = 1 / std::sqrt(double(dim));
  Random random(sq * 1000 + sk);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    bool isQuery = t == &p.q;
    *t = HostTensor::dense(
        Element::F16, {1, isQuery ? 2 : 1, isQuery ? sq : sk, dim}, p.layout);
    fillNormal(*t, random);
  }
  return test;
}

/// The clause of attn.forward.
std::string maskOf(const MaskExpr &mask) {
  if (mask.kind == MaskExpr::Kind::None)
    return "";
  if (mask.kind == MaskExpr::Kind::Causal)
    return "mask(#attn.causal)";
  return fmt::format("mask(#attn.window<left = {}, right = {}>)", mask.left,
                     mask.right);
}

/// `test` with a score function: `captures`, if any, and the region's `body`
/// from %s to %r.
void addScore(TestCase &test, llvm::StringRef captures, llvm::StringRef body) {
  AttentionProblem &p = test.problem;
  bool any = !captures.empty();
  std::string tensor = fmt::format("tensor<?x?x?x{}xf16>", p.headDim());
  p.mlir = fmt::format(
      R"(func.func @attention(%q: {0}, %k: {0}, %v: {0}{1}) -> ({0}, tensor<?x?x?xf32>) {{
  %o, %lse = attn.forward %q, %k, %v {2} {5} scale({3:e}) layout({4})
      : {0}, {0}, {0} -> ({0}, tensor<?x?x?xf32>) {{
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index{6}):
    {7}
    attn.yield %r : f32
  }}
  return %o, %lse : {0}, tensor<?x?x?xf32>
}}
)",
      tensor, any ? fmt::format(", %c: {}", captures.str()) : "",
      any ? fmt::format("captures(%c : {})", captures.str()) : "", p.scale,
      layoutName(p.layout).str(), maskOf(p.mask),
      any ? fmt::format(", %m: {}", captures.str()) : "", body.str());
}

/// score + slope_h (j - i), or score - slope_h |j - i|.
void addAlibi(TestCase &test, bool symmetric, float steepest) {
  Capture slopes{"slopes", {test.problem.heads()}, {}};
  for (int64_t h = 0; h < test.problem.heads(); ++h)
    slopes.data.push_back(steepest / float(1 << (4 * h)));
  test.problem.score = [data = slopes.data, symmetric](
                           double x, int64_t, int64_t h, int64_t i, int64_t j) {
    double slope = double(data[h]);
    return symmetric ? x - slope * double(std::abs(j - i))
                     : x + slope * double(j - i);
  };
  test.problem.captures.push_back(std::move(slopes));
  test.name += fmt::format(" steepest {}", steepest);
  addScore(test, "tensor<?xf32>",
           std::string(R"(
    %slope = tensor.extract %m[%h] : tensor<?xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32)") +
               (symmetric ? R"(
    %a = math.absf %df : f32
    %bias = arith.mulf %slope, %a : f32
    %r = arith.subf %s, %bias : f32)"
                          : R"(
    %bias = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %bias : f32)"));
}

void addSoftcap(TestCase &test, double cap) {
  test.problem.score = [cap](double x, int64_t, int64_t, int64_t, int64_t) {
    return cap * std::tanh(x / cap);
  };
  test.name += fmt::format(" scale {}", test.problem.scale);
  addScore(test, "",
           fmt::format(R"(
    %cap = arith.constant {:e} : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %cap : f32)",
                       cap));
}
} // namespace

TEST_CASE("roles case 1: rows without a visible key") {
  runCases("case 1:", 3);
}
TEST_CASE("roles case 2: causal where Sq is not Sk") { runCases("case 2:", 4); }
TEST_CASE("roles case 4: logits near -2.4e5") { runCases("case 4:", 1); }
TEST_CASE("roles case 7: NaN and infinity past the used keys") {
  runCases("case 7:", 8);
}
// Exponents too large for the softmax of these kernels: tiles come out as NaN
// and are computed again.
TEST_CASE("roles case 6: huge equal inputs") { runCases("case 6:", 2); }
TEST_CASE("roles case 8: a bias as a mask") { runCases("case 8:", 3); }
TEST_CASE("roles case 10: empty problems") { runCases("case 10:", 7); }
TEST_CASE("roles case 12: lengths around tile edges") {
  runCases("case 12:", 81);
}
TEST_CASE("roles case 13: windows that are causal") { runCases("case 13:", 5); }

TEST_CASE("roles: each way to rescale, each kind of loops, short and long") {
  Judge judge;
  for (tile::Rescale rescale : {tile::Rescale::Lazy, tile::Rescale::Late,
                                tile::Rescale::Always, tile::Rescale::Test}) {
    CpuHarness harness(kArch, rescale);
    size_t kernels = 0;
    for (int64_t dim : {64, 256})
      for (const MaskExpr &mask :
           {MaskExpr::none(), MaskExpr::causal(), MaskExpr::window(300, 7)})
        for (auto [sq, sk] : {std::pair{1, 1},
                              {70, 0},
                              {64, 640},
                              {500, 129},
                              {129, 500},
                              {700, 700}}) {
          TestCase test = gridCase(dim, mask, sq, sk);
          std::string wrong = harness.runAndJudge(test, judge);
          if (!wrong.empty())
            FAIL_CHECK(wrong);
          kernels += harness.kernel(test).rescale == rescale;
        }
    CHECK(kernels == 36);
  }
}

// What a test of maxima alone might miss: rows that rise with every key block,
// and rows that stay below zero.
TEST_CASE("roles: rows that rise block by block, rows below zero") {
  Judge judge;
  for (tile::Rescale rescale : {tile::Rescale::Lazy, tile::Rescale::Test})
    for (float first : {-300.0f, 2.0f}) {
      CpuHarness harness(kArch, rescale);
      TestCase test = gridCase(64, MaskExpr::none(), 130, 700);
      test.name = fmt::format("rising from {}", first);
      AttentionProblem &p = test.problem;
      // q = e_0 for every query, so that a score is k's first element.
      p.q.fill(0.0f);
      for (int64_t head = 0; head < p.q.shape[1]; ++head)
        for (int64_t row = 0; row < p.q.shape[2]; ++row)
          p.q.set(0, head, row, 0, 1.0f);
      for (int64_t key = 0; key < p.k.shape[2]; ++key)
        p.k.set(0, 0, key, 0, first + 0.4f * float(key));
      std::string wrong = harness.runAndJudge(test, judge);
      if (!wrong.empty())
        FAIL_CHECK(wrong);
      CHECK(harness.kernel(test).rescale == rescale);
    }
}

// Biases by distance and soft caps: in fragments of the blocks' own keys, in
// another order of blocks, by polynomials where scores are small.
TEST_CASE("roles: ALiBi on both sides, steep and flat") {
  CpuHarness harness(kArch);
  Judge judge;
  for (bool symmetric : {false, true})
    for (float steepest : {0.7f, 3.0f, -0.5f})
      for (const MaskExpr &mask :
           {MaskExpr::none(), MaskExpr::causal(), MaskExpr::window(300, 7)})
        for (auto [sq, sk] : {std::pair{1, 1},
                              {70, 0},
                              {64, 640},
                              {500, 129},
                              {129, 500},
                              {700, 700}}) {
          TestCase test = gridCase(64, mask, sq, sk);
          addAlibi(test, symmetric, steepest);
          std::string wrong = harness.runAndJudge(test, judge);
          if (!wrong.empty())
            FAIL_CHECK(wrong);
          CHECK(harness.kernel(test).rescale == tile::Rescale::Test);
        }
}

TEST_CASE("roles: ALiBi under each way to rescale, small and large scores") {
  Judge judge;
  for (tile::Rescale rescale : {tile::Rescale::Lazy, tile::Rescale::Late,
                                tile::Rescale::Always, tile::Rescale::Test}) {
    CpuHarness harness(kArch, rescale);
    for (bool symmetric : {false, true})
      for (double size : {1.0, 40.0})
        for (const MaskExpr &mask : {MaskExpr::none(), MaskExpr::causal()})
          for (auto [sq, sk] : {std::pair{129, 500}, {700, 700}}) {
            TestCase test = gridCase(64, mask, sq, sk);
            test.problem.scale *= size;
            addAlibi(test, symmetric, 0.7f);
            std::string wrong = harness.runAndJudge(test, judge);
            if (!wrong.empty())
              FAIL_CHECK(wrong);
            CHECK(harness.kernel(test).rescale == rescale);
          }
  }
}

TEST_CASE("roles: soft caps of small, middling and large scores") {
  CpuHarness harness(kArch);
  Judge judge;
  for (double size : {1.0, 6.0, 40.0})
    for (const MaskExpr &mask :
         {MaskExpr::none(), MaskExpr::causal(), MaskExpr::window(300, 7)})
      for (auto [sq, sk] :
           {std::pair{1, 1}, {70, 0}, {64, 640}, {129, 500}, {700, 700}}) {
        TestCase test = gridCase(64, mask, sq, sk);
        test.problem.scale *= size;
        addSoftcap(test, 30.0);
        std::string wrong = harness.runAndJudge(test, judge);
        if (!wrong.empty())
          FAIL_CHECK(wrong);
        CHECK(harness.kernel(test).rescale == tile::Rescale::Test);
      }
}

TEST_CASE("roles sweep: 60 draws agree with the oracle") {
  CpuHarness harness(kArch);
  Judge judge;
  size_t withRoles = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    TestCase test = drawProblem(
        seed, {.withF32 = false, .kernels = 30, .maxWork = 5'000'000});
    test.tiles = "auto"; // others seldom have roles
    std::string wrong = harness.runAndJudge(test, judge);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
    withRoles += harness.kernel(test).rescale.has_value();
  }
  CHECK(withRoles >= 30);
}
