// The backward on the GPU: the numerical cases, the random sweep against the
// fp64 oracle, and repeats.
#include "unittests/Catch.h"

#include "gpu/GpuHarness.h"
#include "gpu/GradientHarness.h"

#include <chrono>
#include <iostream>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
bool runsOnGpu(const GradientCase &test) {
  return test.problem.forward.dtype() != Element::F32;
}

/// Draws without f32, `count` of them from number `first` on.
std::vector<GradientCase> draws(uint64_t first, uint64_t count, uint64_t step,
                                DrawOptions options) {
  options.withF32 = false;
  std::vector<GradientCase> out;
  for (uint64_t seed = first; out.size() < count; seed += step)
    out.push_back(drawGradient(seed, options));
  return out;
}

/// Null where kernels with roles do not run.
std::unique_ptr<GpuHarness> openHopper() {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  return gpu && gpu->device().sm() == 90 ? std::move(gpu) : nullptr;
}

/// A backward that may sum in any order cannot be asked for the same bits.
void withoutOrder(std::vector<GradientCase> &tests) {
  for (GradientCase &test : tests)
    if (!test.problem.gradients.empty())
      test.problem.deterministic = false;
}

void check(const std::string &arch, std::vector<GradientCase> tests) {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  REQUIRE_FALSE(tests.empty());
  withoutOrder(tests);
  auto start = std::chrono::steady_clock::now();
  GpuGradients gradients(gpu->device(), arch);
  GradientJudge judge;
  std::vector<std::string> wrong = gradients.runAll(tests, judge);
  for (const std::string &line : wrong)
    FAIL_CHECK(line);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::cout << "backward " << arch << ": " << tests.size() << " cases, "
            << wrong.size() << " wrong, " << seconds.count()
            << " s, largest rms error " << judge.worstRatio()
            << " of the unfused (" << judge.worstCase() << ")" << std::endl;
}

void checkNumericalCases(const char *arch) {
  std::vector<GradientCase> tests;
  for (GradientCase &test : gradientCases())
    if (runsOnGpu(test))
      tests.push_back(std::move(test));
  CHECK(tests.size() > 100);
  check(arch, std::move(tests));
}
} // namespace

TEST_CASE("GPU backward: the numerical cases", "[backward]") {
  checkNumericalCases("sm_80");
}

TEST_CASE("GPU backward with roles: the numerical cases",
          "[backward][backward-roles]") {
  if (!openHopper())
    FLASHC_SKIP("no GPU of sm_90");
  checkNumericalCases("sm_90a");
}

// In parts, which run beside each other.
TEMPLATE_TEST_CASE_SIG("GPU backward sweep: 40 of 320 draws as sm_80 PTX",
                       "[backward]", ((int Part), Part), 0, 1, 2, 3, 4, 5, 6,
                       7) {
  check("sm_80", draws(Part, 40, 8, {.kernels = 96, .maxWork = 16'000'000}));
}

TEMPLATE_TEST_CASE_SIG("GPU backward sweep: 16 draws as PTX of another arch",
                       "[backward]", ((int SM), SM), 75, 86, 89, 90) {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  if (SM > gpu->device().sm())
    FLASHC_SKIP("the GPU is older than sm_" + std::to_string(SM));
  // sm_75 has 64 KiB of shared memory and no bf16.
  check("sm_" + std::to_string(SM),
        draws(1000, 16, 1, {.withBF16 = SM != 75, .maxWork = 16'000'000}));
}

namespace {
GradientCase repeated(int64_t dim, int64_t kvHeads, bool deterministic) {
  Random random(18);
  AttentionProblem p;
  p.mask = MaskExpr::causal();
  p.scale = 0.125;
  p.q = HostTensor::dense(Element::F16, {2, 4, 700, dim}, p.layout);
  p.k = p.v = HostTensor::dense(Element::F16, {2, kvHeads, 700, dim}, p.layout);
  for (HostTensor *t : {&p.q, &p.k, &p.v})
    fillNormal(*t, random);
  GradientCase test;
  test.name = fmt::format("repeated, d {}, {} key heads", dim, kvHeads);
  test.problem = gradientOf(std::move(p), random);
  test.problem.deterministic = deterministic;
  return test;
}
} // namespace

static void checkDeterministic(const Device &device, const char *arch) {
  GpuGradients gradients(device, arch);
  GradientJudge judge;
  std::vector<GradientCase> tests;
  for (int64_t dim : {64, 128, 256})
    for (int64_t kvHeads : {4, 2})
      tests.push_back(repeated(dim, kvHeads, true));
  std::vector<Gradients> first;
  for (int round = 0; round < 200; ++round)
    for (auto [i, test] : llvm::enumerate(tests)) {
      INFO(test.name << ", round " << round);
      Gradients output = llvm::cantFail(gradients.run(test));
      if (round == 0) {
        REQUIRE(judge.judge(test, output) == "");
        first.push_back(std::move(output));
        continue;
      }
      REQUIRE(sameBits(first[i], output));
    }
}

TEST_CASE("GPU backward, deterministic: 200 runs are the same bits",
          "[backward]") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  checkDeterministic(gpu->device(), "sm_80");
}

TEST_CASE("GPU backward with roles, deterministic: 200 runs are the same bits",
          "[backward][backward-roles]") {
  std::unique_ptr<GpuHarness> gpu = openHopper();
  if (!gpu)
    FLASHC_SKIP("no GPU of sm_90");
  checkDeterministic(gpu->device(), "sm_90a");
}

TEMPLATE_TEST_CASE_SIG("GPU backward sweep: 40 of 320 draws as sm_90a PTX",
                       "[backward][backward-roles]", ((int Part), Part), 0, 1,
                       2, 3, 4, 5, 6, 7) {
  if (!openHopper())
    FLASHC_SKIP("no GPU of sm_90");
  check("sm_90a",
        draws(2000 + Part, 40, 8, {.kernels = 96, .maxWork = 16'000'000}));
}

TEST_CASE("GPU backward with roles", "[backward][backward-roles]") {
  if (!openHopper())
    FLASHC_SKIP("no GPU of sm_90");
  check("sm_90a", roleCases());
}

TEMPLATE_TEST_CASE_SIG("GPU backward with roles: a sixth of score functions, "
                       "key lengths, sums in order",
                       "[backward][backward-roles]", ((int Part), Part), 0, 1,
                       2, 3, 4, 5) {
  if (!openHopper())
    FLASHC_SKIP("no GPU of sm_90");
  constexpr size_t kParts = 6;
  std::vector<GradientCase> all = roleVariantCases(), part;
  size_t end = (Part + 1) * all.size() / kParts;
  for (size_t i = Part * all.size() / kParts; i < end; ++i)
    part.push_back(std::move(all[i]));
  check("sm_90a", std::move(part));
}

// dK and dV are sums of one block each: the same bits in any mode.
TEST_CASE("GPU backward: dK and dV are the same bits in 20 runs",
          "[backward]") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  GpuGradients gradients(gpu->device(), "sm_80");
  GradientCase test = repeated(128, 2, false);
  Gradients first = llvm::cantFail(gradients.run(test));
  for (int round = 1; round < 20; ++round) {
    Gradients again = llvm::cantFail(gradients.run(test));
    REQUIRE(again.dk.storage == first.dk.storage);
    REQUIRE(again.dv.storage == first.dv.storage);
  }
}

TEST_CASE("GPU backward with roles: dK and dV are the same bits in 20 runs",
          "[backward][backward-roles]") {
  std::unique_ptr<GpuHarness> gpu = openHopper();
  if (!gpu)
    FLASHC_SKIP("no GPU of sm_90");
  GpuGradients gradients(gpu->device(), "sm_90a");
  for (const GradientCase &test : roleCases()) {
    if (test.problem.forward.sk() < 300)
      continue;
    INFO(test.name);
    Gradients first = llvm::cantFail(gradients.run(test));
    for (int round = 1; round < 20; ++round) {
      Gradients again = llvm::cantFail(gradients.run(test));
      REQUIRE(again.dk.storage == first.dk.storage);
      REQUIRE(again.dv.storage == first.dv.storage);
    }
  }
}

// compute-sanitizer --tool memcheck flashc-gpu-tests "[sanitizer-backward]"
TEST_CASE("GPU backward sanitizer: small problems", "[sanitizer-backward]") {
  check("sm_80", draws(3000, 12, 1, {.maxWork = 2'000'000}));
}

TEST_CASE("GPU backward sanitizer: small problems with roles",
          "[sanitizer-backward-roles]") {
  if (!openHopper())
    FLASHC_SKIP("no GPU of sm_90");
  std::vector<GradientCase> tests;
  for (GradientCase &test : roleCases())
    if (test.problem.forward.dtype() == Element::F16)
      tests.push_back(std::move(test));
  // And what the main kernel writes or adds of gradients of biases.
  for (GradientCase &test : roleVariantCases()) {
    const GradientProblem &p = test.problem;
    bool isBias = !p.gradients.empty() &&
                  p.forward.captures[p.gradients[0]].element == Element::F16;
    if (isBias)
      tests.push_back(std::move(test));
  }
  check("sm_90a", std::move(tests));
}
