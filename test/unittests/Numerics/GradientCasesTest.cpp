// The backward side of the numerical cases, on the CPU path.
#include "unittests/Catch.h"
#include "unittests/Numerics/CpuHarness.h"
#include "unittests/Numerics/GradientHarness.h"
#include "unittests/Numerics/Reserve.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

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

// The order of a warpgroup's products, as the tile level has it. It is the same
// for both types; a GPU runs both.
TEST_CASE("roles backward: lengths, masks and groups of heads") {
  GradientHarness harness;
  for (const GradientCase &test : roleCases()) {
    if (test.problem.forward.dtype() != Element::F16)
      continue;
    std::string wrong = harness.runAndJudge(test);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
  }
  CHECK(harness.programCount() == 5 * 3);
}

TEST_CASE("roles backward: score functions, key lengths and sums in order") {
  GradientHarness harness;
  for (const GradientCase &test : roleVariantCases()) {
    if (test.problem.forward.dtype() != Element::F16)
      continue;
    std::string wrong = harness.runAndJudge(test);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
  }
  // Of head dims 64, 128 and 256.
  CHECK(harness.programCount() >= 3 * (kScoreKinds + 2 + 2 + 3));
}

// What they compute without a look at it, and then again.
TEST_CASE("roles backward: the numerical cases") {
  GradientHarness harness;
  std::set<std::string> kinds;
  for (const GradientCase &test : roleNumericalCases()) {
    size_t kind = std::string("roles: ").size();
    kinds.insert(test.name.substr(0, test.name.find(':', kind)));
    std::string wrong = harness.runAndJudge(test);
    if (!wrong.empty())
      FAIL_CHECK(wrong);
  }
  for (int number : {1, 6, 7})
    CHECK(kinds.count("roles: case " + std::to_string(number)));
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
// LSE = -3.4e38 + log N is -3.4e38 in f32: what is recomputed from it is 1 for
// each key, not 1 / N (docs/decisions/018).
TEST_CASE(
    "cpu backward case 8: a bias of -3.4e38 on a whole row leaves P = 1") {
  Random random(8);
  AttentionProblem p;
  p.scale = 0.125;
  p.q = HostTensor::dense(Element::F16, {1, 1, 24, 64}, p.layout);
  p.k = p.v = HostTensor::dense(Element::F16, {1, 1, 40, 64}, p.layout);
  for (HostTensor *t : {&p.q, &p.k, &p.v})
    fillNormal(*t, random);
  addScoreFunction(p, ScoreKind::KeyBias, random, /*staticHeads=*/false);
  for (float &bias : p.captures[0].data)
    bias = -3.4e38f;
  p.score = [](double s, int64_t, int64_t, int64_t, int64_t) {
    return s - double(3.4e38f);
  };
  GradientCase test;
  test.name = "lost log N";
  test.problem = gradientOf(std::move(p), random);
  for (float lse : test.problem.lse)
    REQUIRE(lse == -3.4e38f);
  GradientHarness harness;
  Gradients result = llvm::cantFail(harness.run(test));
  for (int64_t c = 0; c < 64; ++c) {
    double sum = 0, size = 0;
    for (int64_t i = 0; i < 24; ++i) {
      sum += test.problem.dO.get(0, 0, i, c);
      size += std::fabs(test.problem.dO.get(0, 0, i, c));
    }
    for (int64_t j = 0; j < 40; ++j)
      REQUIRE(std::fabs(result.dv.get(0, 0, j, c) - sum) <= size * 0x1p-10);
  }
}
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

/// The gradients with all arrays far apart have the bits that they have dense.
static void compareFar(int64_t length, const std::array<int64_t, 4> &strides) {
  GradientCase test;
  test.name = "far apart";
  AttentionProblem p;
  p.mask = MaskExpr::causal();
  p.scale = 0.125;
  Random random(14);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::dense(Element::F16, {2, 2, length, 64}, p.layout);
    fillNormal(*t, random);
  }
  test.problem = gradientOf(std::move(p), random);
  GradientHarness harness;
  REQUIRE(harness.runAndJudge(test) == "");
  Gradients dense = llvm::cantFail(harness.run(test));

  GradientProblem &problem = test.problem;
  AttentionProblem &f = problem.forward;
  Gradients far = dense;
  for (HostTensor *t : {&far.dq, &far.dk, &far.dv})
    t->fill(0);
  std::vector<std::pair<const char *, HostTensor *>> tensors = {
      {"q", &f.q},         {"k", &f.k},     {"v", &f.v},     {"o", &problem.o},
      {"do", &problem.dO}, {"dq", &far.dq}, {"dk", &far.dk}, {"dv", &far.dv}};
  llvm::SmallVector<int64_t, 4> rows{2, 2, length};
  llvm::StringMap<flashc::CpuArgument> arrays;
  arrays["lse"] = {problem.lse.data(), rows, {}};
  std::vector<std::unique_ptr<Reserve>> memory;
  for (auto [name, tensor] : tensors) {
    memory.push_back(std::make_unique<Reserve>(size_t(9) << 30));
    if (!memory.back()->ok())
      FLASHC_SKIP("this machine reserves no 72 GiB of address space");
    copyRows(*tensor, memory.back()->data(), strides, /*toFar=*/true);
    flashc::CpuArgument argument = argumentOf(*tensor);
    argument.data = memory.back()->data();
    argument.strides.assign(strides.begin(), strides.end());
    arrays[name] = argument;
  }
  llvm::Error error = harness.program(test).program->run(arrays);
  REQUIRE(llvm::toString(std::move(error)) == "");
  for (auto [n, pair] : llvm::enumerate(tensors))
    copyRows(*pair.second, memory[n]->data(), strides, /*toFar=*/false);
  CHECK(far.dq.storage == dense.dq.storage);
  CHECK(far.dk.storage == dense.dk.storage);
  CHECK(far.dv.storage == dense.dv.storage);
}

TEST_CASE("cpu backward case 14: arrays past 2^31 and 2^32 bytes") {
  constexpr int64_t kGi = int64_t(1) << 30;
  // Heads 2 GiB apart and batches 4 GiB and a row; row 3 6 GiB behind row 0.
  compareFar(70, {2 * kGi + 64, kGi, 64, 1});
  compareFar(4, {64 * 2, 64, kGi, 1});
}
