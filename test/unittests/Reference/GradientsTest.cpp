// The oracle of the backward beside finite differences of the forward's, and
// the error rule: what passes, and that small mistakes do not.
#include "unittests/Catch.h"

#include "flashc/Reference/Attention.h"
#include "flashc/Reference/GradientCases.h"

#include <cmath>
#include <limits>

using namespace flashc::reference;

namespace {
AttentionProblem example(Element element, int64_t sq, int64_t sk, int64_t d,
                         MaskExpr mask = MaskExpr::causal()) {
  AttentionProblem p;
  p.q = HostTensor::dense(element, {2, 4, sq, d}, Layout::BSHD);
  p.k = HostTensor::dense(element, {2, 2, sk, d}, Layout::BSHD);
  p.v = HostTensor::dense(element, {2, 2, sk, d}, Layout::BSHD);
  p.scale = 1 / std::sqrt(double(d));
  p.mask = mask;
  Random random(3);
  for (HostTensor *t : {&p.q, &p.k, &p.v})
    fillNormal(*t, random);
  return p;
}

/// sum dO O + sum dLSE LSE, in double.
double lossOf(const GradientProblem &problem) {
  const AttentionProblem &p = problem.forward;
  RowValues values = referenceAttention(p, sampleRows(p, int64_t(1) << 40));
  double loss = 0;
  for (size_t at = 0; at < values.rows.size(); ++at) {
    Row row = values.rows[at];
    for (int64_t d = 0; d < p.valueHeadDim(); ++d)
      loss += values.o[at * p.valueHeadDim() + d] *
              problem.dO.get(row.b, row.h, row.i, d);
    double lse = values.lse[at];
    if (!problem.dLse.empty() && std::isfinite(lse))
      loss += lse * problem.dLse[(row.b * p.heads() + row.h) * p.sq() + row.i];
  }
  return loss;
}

/// Compares some elements of a gradient with difference quotients.
void compare(GradientProblem problem, HostTensor AttentionProblem::*tensor,
             const GradientArray &gradient) {
  constexpr float kStep = 0x1p-9;
  HostTensor &t = problem.forward.*tensor;
  Random random(7);
  for (int n = 0; n < 20; ++n) {
    int64_t b = random.range(0, t.shape[0] - 1),
            h = random.range(0, t.shape[1] - 1),
            s = random.range(0, t.shape[2] - 1),
            d = random.range(0, t.shape[3] - 1);
    float kept = t.get(b, h, s, d);
    t.set(b, h, s, d, kept + kStep);
    double high = lossOf(problem), up = t.get(b, h, s, d);
    t.set(b, h, s, d, kept - kStep);
    double low = lossOf(problem), down = t.get(b, h, s, d);
    t.set(b, h, s, d, kept);
    double got =
        gradient
            .values[((b * t.shape[1] + h) * t.shape[2] + s) * t.shape[3] + d];
    CHECK(got == Approx((high - low) / (up - down)).epsilon(1e-4).margin(1e-5));
  }
}

/// Gradients as if a kernel had made them.
Gradients made(const GradientProblem &problem, const GradientValues &values) {
  const AttentionProblem &p = problem.forward;
  auto tensor = [&](const HostTensor &like, const GradientArray &array) {
    HostTensor t = HostTensor::dense(like.element, like.shape, p.layout);
    auto [batches, heads, length, dims] = like.shape;
    for (int64_t n = 0; n < batches * heads * length * dims; ++n)
      t.set(n / dims / length / heads, n / dims / length % heads,
            n / dims % length, n % dims, float(array.values[n]));
    return t;
  };
  Gradients out{tensor(p.q, values.dq),
                tensor(p.k, values.dk),
                tensor(p.v, values.dv),
                {}};
  for (const GradientArray &capture : values.captures)
    out.captures.emplace_back(capture.values.begin(), capture.values.end());
  return out;
}
} // namespace

TEST_CASE("gradients: the reference agrees with finite differences") {
  for (MaskExpr mask :
       {MaskExpr::none(), MaskExpr::causal(), MaskExpr::window(3, 1)}) {
    AttentionProblem p = example(Element::F32, 9, 7, 8, mask);
    p.kvLengths = {7, 4};
    Random random(5);
    GradientProblem problem = gradientOf(p, random, /*withDLse=*/true);
    GradientValues values = referenceGradients(problem);
    compare(problem, &AttentionProblem::q, values.dq);
    compare(problem, &AttentionProblem::k, values.dk);
    compare(problem, &AttentionProblem::v, values.dv);
  }
}

TEST_CASE("gradients: score functions and their captures agree with finite "
          "differences") {
  for (int kind = 0; kind < kScoreKinds; ++kind) {
    AttentionProblem p = example(Element::F32, 30, 25, 8);
    Random random(6);
    addScoreFunction(p, ScoreKind(kind), random, /*staticHeads=*/false);
    GradientProblem problem = gradientOf(p, random);
    GradientValues values = referenceGradients(problem);
    compare(problem, &AttentionProblem::q, values.dq);
    REQUIRE(values.captures.size() == p.captures.size());
    // The derivative by a capture, at one pair, beside that of the score.
    for (int n = 0; n < 20; ++n) {
      double s = random.normal();
      int64_t b = n % 2, h = n % 4, i = n, j = (3 * n) % 25;
      constexpr double kStep = 0x1p-15;
      double byScore = p.scoreDerivative(s, b, h, i, j).byScore;
      double quotient =
          (p.score(s + kStep, b, h, i, j) - p.score(s - kStep, b, h, i, j)) /
          (2 * kStep);
      CHECK(byScore == Approx(quotient).epsilon(1e-6).margin(1e-7));
    }
  }
}

TEST_CASE("gradient rule: the unfused result passes in every type") {
  for (Element element : {Element::F16, Element::BF16, Element::F32}) {
    Random random(5);
    GradientProblem problem =
        gradientOf(example(element, 60, 90, 32), random, /*withDLse=*/true);
    GradientReport report =
        checkGradients(problem, made(problem, unfusedGradients(problem)));
    INFO(report.why);
    CHECK(report.ok);
    CHECK(report.rmsError[0] == Approx(report.rmsUnfused[0]));
  }
}

TEST_CASE("gradient rule: small mistakes are errors") {
  for (Element element : {Element::F16, Element::BF16}) {
    Random random(5);
    AttentionProblem p = example(element, 60, 90, 32);
    GradientProblem problem = gradientOf(p, random, /*withDLse=*/true);
    auto verdict = [&](const GradientProblem &other) {
      return checkGradients(problem, made(problem, unfusedGradients(other))).ok;
    };
    REQUIRE(verdict(problem));
    GradientProblem other = problem;
    other.dLse.clear(); // a forgotten gradient of LSE
    CHECK(!verdict(other));
    other = problem;
    other.forward.scale *= 1.05;
    CHECK(!verdict(other));
    other = problem;
    other.forward.mask = MaskExpr::window(-1, 1); // one key too many
    CHECK(!verdict(other));
    other = problem;
    other.forward.mask = MaskExpr::window(-1, -1);
    CHECK(!verdict(other));
    other = problem;
    other.forward.kvLengths = {90, 89}; // one key too few
    CHECK(!verdict(other));
  }
}

TEST_CASE("gradient rule: zeros are exact and NaN is nowhere") {
  Random random(5);
  AttentionProblem p = example(Element::F16, 20, 10, 16); // 10 rows see no key
  GradientProblem problem = gradientOf(p, random);
  Gradients out = made(problem, unfusedGradients(problem));
  REQUIRE(checkGradients(problem, out).ok);
  Gradients wrong = out;
  wrong.dq.set(0, 0, 3, 2, 0x1p-20f);
  GradientReport report = checkGradients(problem, wrong);
  CHECK(!report.ok);
  CHECK(
      report.why.find("dq[0,0,3,2] is 9.5367431640625e-07, but should be 0") !=
      std::string::npos);
  wrong = out;
  wrong.dk.set(1, 1, 9, 15, std::numeric_limits<float>::quiet_NaN());
  CHECK(!checkGradients(problem, wrong).ok);
}

TEST_CASE("gradient rule: captures") {
  Random random(5);
  AttentionProblem p = example(Element::F16, 40, 50, 16);
  addScoreFunction(p, ScoreKind::Slopes, random, /*staticHeads=*/false);
  GradientProblem problem = gradientOf(p, random);
  Gradients out = made(problem, unfusedGradients(problem));
  REQUIRE(checkGradients(problem, out).ok);
  out.captures[0][2] *= 1.1f;
  GradientReport report = checkGradients(problem, out);
  CHECK(!report.ok);
  CHECK(report.why.find("gradient 0 of captures is") != std::string::npos);
}

TEST_CASE("gradient draws are the same each time and cover the kinds") {
  int scores = 0, dLses = 0, deterministic = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    DrawOptions options{.kernels = 80, .maxWork = 1'000'000};
    GradientCase a = drawGradient(seed, options),
                 b = drawGradient(seed, options);
    CHECK(a.name == b.name);
    CHECK(a.problem.dO.storage == b.problem.dO.storage);
    scores += !a.problem.gradients.empty();
    dLses += !a.problem.dLse.empty();
    deterministic += a.problem.deterministic;
  }
  CHECK(scores > 10);
  CHECK(dLses > 5);
  CHECK(deterministic > 5);
}
