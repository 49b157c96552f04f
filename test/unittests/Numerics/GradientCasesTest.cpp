// The backward side of the numerical cases, on the CPU path.
#include "unittests/Catch.h"
#include "unittests/Numerics/GradientHarness.h"

#include <cmath>
#include <limits>

using namespace flashc::test;
using namespace flashc::reference;

static void runCases(llvm::StringRef prefix, size_t atLeast) {
  GradientHarness harness;
  size_t count = 0;
  for (const GradientCase &test : gradientCases()) {
    if (!llvm::StringRef(test.name).starts_with(prefix))
      continue;
    ++count;
    std::string wrong = harness.runAndJudge(test);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
  }
  CHECK(count >= atLeast);
}

TEST_CASE("cpu backward case 1: rows without a visible key") {
  runCases("case 1:", 6);
}
TEST_CASE("cpu backward case 2: causal where Sq is not Sk") {
  runCases("case 2:", 4);
}
TEST_CASE("cpu backward case 5: LSE near -122") { runCases("case 5:", 4); }
TEST_CASE("cpu backward case 6: huge equal inputs") { runCases("case 6:", 2); }
TEST_CASE("cpu backward case 7: NaN and infinity where nobody looks") {
  runCases("case 7:", 11);
}
TEST_CASE("cpu backward case 8: a bias as a mask") { runCases("case 8:", 3); }
TEST_CASE("cpu backward case 10: empty problems") { runCases("case 10:", 7); }
TEST_CASE("cpu backward case 11: head dims") { runCases("case 11:", 16); }
TEST_CASE("cpu backward case 12: lengths around tile edges") {
  runCases("case 12:", 81);
}
TEST_CASE("cpu backward case 14: a grid past 65535 blocks") {
  runCases("case 14:", 1);
}
TEST_CASE("cpu backward case 15: views") { runCases("case 15:", 7); }
TEST_CASE("cpu backward case 18: equal masks") { runCases("case 18:", 4); }

TEST_CASE("cpu backward case 18: 200 runs on any number of threads are the "
          "same bits") {
  Random random(18);
  GradientHarness harness;
  for (int64_t kvHeads : {4, 1}) {
    GradientCase test;
    test.name = "repeated";
    AttentionProblem p;
    p.mask = MaskExpr::causal();
    p.scale = 0.125;
    p.q = HostTensor::dense(Element::F16, {2, 4, 90, 64}, p.layout);
    p.k = p.v = HostTensor::dense(Element::F16, {2, kvHeads, 90, 64}, p.layout);
    for (HostTensor *t : {&p.q, &p.k, &p.v})
      fillNormal(*t, random);
    p.kvLengths = {90, 41};
    addScoreFunction(p, ScoreKind::Mixed, random, /*staticHeads=*/false);
    test.problem = gradientOf(std::move(p), random, /*withDLse=*/true);
    test.problem.deterministic = true;
    REQUIRE(harness.runAndJudge(test) == "");
    Gradients first = llvm::cantFail(harness.run(test));
    int different = 0;
    for (unsigned n = 0; n < 100; ++n) {
      Gradients again = llvm::cantFail(harness.run(test, 1 + n % 5));
      different += again.dq.storage != first.dq.storage ||
                   again.dk.storage != first.dk.storage ||
                   again.dv.storage != first.dv.storage ||
                   again.captures != first.captures;
    }
    CHECK(different == 0);
  }
}

TEST_CASE("cpu backward: rows that do not see a key keep clear of its NaN") {
  GradientCase test;
  test.name = "clean";
  AttentionProblem p;
  p.mask = MaskExpr::causal();
  p.scale = 0.125;
  Random random(9);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::dense(Element::F16, {1, 2, 100, 64}, p.layout);
    fillNormal(*t, random);
  }
  test.problem = gradientOf(std::move(p), random);
  GradientHarness harness;
  Gradients clean = llvm::cantFail(harness.run(test));
  constexpr int64_t kKey = 41;
  float nan = std::numeric_limits<float>::quiet_NaN();
  test.problem.forward.v.set(0, 0, kKey, 3, nan);
  Gradients out = llvm::cantFail(harness.run(test));
  for (int64_t i = 0; i < 100; ++i)
    for (int64_t d = 0; d < 64; ++d) {
      float value = out.dq.get(0, 0, i, d);
      if (i >= kKey)
        CHECK(std::isnan(value));
      else
        CHECK(value == clean.dq.get(0, 0, i, d));
    }
}
