// The numerical cases that real attention kernels got wrong, on the CPU path.
#include "unittests/Catch.h"
#include "unittests/Numerics/CpuHarness.h"

#include <cmath>
#include <limits>

using namespace flashc::test;
using namespace flashc::reference;

static void runCases(llvm::StringRef prefix, size_t atLeast) {
  CpuHarness harness;
  Judge judge;
  size_t count = 0;
  for (const TestCase &test : cases()) {
    if (!llvm::StringRef(test.name).starts_with(prefix))
      continue;
    ++count;
    std::string wrong = harness.runAndJudge(test, judge);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
  }
  CHECK(count >= atLeast);
}

TEST_CASE("cpu case 1: rows without a visible key") { runCases("case 1:", 3); }
TEST_CASE("cpu case 2: causal where Sq is not Sk") { runCases("case 2:", 4); }
TEST_CASE("cpu case 4: logits near -2.4e5") { runCases("case 4:", 1); }
TEST_CASE("cpu case 6: huge equal inputs") { runCases("case 6:", 2); }
TEST_CASE("cpu case 7: NaN and infinity past the used keys") {
  runCases("case 7:", 8);
}
TEST_CASE("cpu case 8: a bias as a mask") { runCases("case 8:", 3); }
TEST_CASE("cpu case 9: a masked key far above the others") {
  runCases("case 9:", 1);
}
TEST_CASE("cpu case 10: empty problems") { runCases("case 10:", 7); }
TEST_CASE("cpu case 11: head dims") { runCases("case 11:", 24); }
TEST_CASE("cpu case 12: lengths around tile edges") {
  runCases("case 12:", 81);
}
TEST_CASE("cpu case 13: windows that are causal") { runCases("case 13:", 5); }
TEST_CASE("cpu cases of few queries of heads that share keys") {
  runCases("group:", 48);
}
TEST_CASE("cpu case 14: a grid past 65535 blocks") { runCases("case 14:", 1); }
TEST_CASE("cpu case 15: views") { runCases("case 15:", 6); }

TEST_CASE(
    "cpu case 9: rows that do not see a key keep clear of its NaN and inf") {
  TestCase test;
  test.name = "clean";
  AttentionProblem &p = test.problem;
  p.mask = MaskExpr::causal();
  p.scale = 0.125;
  Random random(9);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::dense(Element::F16, {1, 2, 100, 64}, p.layout);
    fillNormal(*t, random);
  }
  CpuHarness harness;
  Output clean = llvm::cantFail(harness.run(test));
  constexpr int64_t kKey = 41;
  p.v.set(0, 0, kKey, 3, std::numeric_limits<float>::quiet_NaN());
  p.v.set(0, 0, kKey, 4, std::numeric_limits<float>::infinity());
  Output out = llvm::cantFail(harness.run(test));
  for (int64_t i = 0; i < 100; ++i)
    for (int64_t d = 0; d < 64; ++d) {
      float value = out.o.get(0, 0, i, d);
      bool sees = i >= kKey;
      if (sees && d == 3)
        CHECK(std::isnan(value));
      else if (sees && d == 4)
        CHECK(std::isinf(value));
      else
        CHECK(value == clean.o.get(0, 0, i, d));
    }
}
