// The random sweep on the GPU, repeats, and the subset for compute-sanitizer.
#include "unittests/Catch.h"

#include "cases/CaseModule.h"
#include "gpu/GpuHarness.h"

#include <chrono>
#include <cstring>
#include <iostream>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
void sweep(GpuHarness &gpu, const std::string &arch,
           const std::vector<TestCase> &tests) {
  auto start = std::chrono::steady_clock::now();
  auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  gpu.prepare(tests, arch);
  double compiled = seconds();
  size_t refused = 0;
  for (const TestCase &test : tests) {
    const LoadedKernel &loaded = gpu.kernel(test, arch);
    refused += !loaded.refusedTiles.empty();
    if (!loaded.refusedTiles.empty() && !namesBudget(loaded.refusedTiles))
      FAIL_CHECK(test.name << ": tiles refused for no budget: "
                           << loaded.refusedTiles);
  }
  Judge judge;
  std::vector<std::string> wrong = gpu.runAll(tests, arch, judge);
  for (const std::string &line : wrong)
    FAIL_CHECK(line);
  std::cout << "sweep " << arch << ": " << tests.size() << " draws, "
            << wrong.size() << " wrong, " << refused
            << " with tiles over the budget (run with auto), compiled in "
            << compiled << " s, all in " << seconds()
            << " s, largest rms error " << judge.worstRatio()
            << " of the unfused" << std::endl;
  CHECK(refused <= tests.size() / 4);
}
} // namespace

// In parts, which bundle-run.sh runs beside each other: the driver compiles one
// kernel at a time in a process.
TEMPLATE_TEST_CASE_SIG("GPU sweep: 64 of 512 draws as sm_80 PTX", "[sweep]",
                       ((int Part), Part), 0, 1, 2, 3, 4, 5, 6, 7) {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  // Every eighth seed, so that draws of one kernel stay in one part.
  std::vector<TestCase> tests;
  for (uint64_t seed = Part; seed < 512; seed += 8)
    tests.push_back(std::move(gpuDraws(seed, 1, {.kernels = 192}).front()));
  sweep(*gpu, "sm_80", tests);
}

TEMPLATE_TEST_CASE_SIG("GPU sweep: 64 of 512 draws as sm_90a PTX",
                       "[sweep][hopper]", ((int Part), Part), 0, 1, 2, 3, 4, 5,
                       6, 7) {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  if (gpu->device().sm() != 90)
    FLASHC_SKIP("the GPU is no Hopper");
  std::vector<TestCase> tests;
  for (uint64_t seed = 4000 + Part; seed < 4512; seed += 8)
    tests.push_back(std::move(gpuDraws(seed, 1, {.kernels = 192}).front()));
  sweep(*gpu, "sm_90a", tests);
}

TEMPLATE_TEST_CASE_SIG("GPU sweep: 24 draws as PTX of another arch", "[sweep]",
                       ((int SM), SM), 75, 86, 89, 90) {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  if (SM > gpu->device().sm())
    FLASHC_SKIP("the GPU is older than sm_" + std::to_string(SM));
  // sm_75 has 64 KiB of shared memory and no bf16.
  bool turing = SM == 75;
  sweep(*gpu, "sm_" + std::to_string(SM),
        gpuDraws(1000, 24, {.withBF16 = !turing, .smallTiles = true}));
}

namespace {
// Round by round and not case by case: the first launches are one of each
// kernel, which is as many as bundle-run.sh has racecheck look at.
void repeat(const std::string &arch, int rounds) {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  if (arch == "sm_90a" && gpu->device().sm() != 90)
    FLASHC_SKIP("the GPU is no Hopper");
  std::vector<TestCase> tests = gpuDraws(2000, 12, {});
  gpu->prepare(tests, arch);
  std::vector<Output> first;
  for (int round = 0; round <= rounds; ++round)
    for (auto [i, test] : llvm::enumerate(tests)) {
      INFO(test.name << ", round " << round);
      const LoadedKernel &loaded = gpu->kernel(test, arch);
      REQUIRE(loaded.error == "");
      Output output = llvm::cantFail(gpu->run(*loaded.module, test));
      if (round == 0) {
        first.push_back(std::move(output));
        continue;
      }
      REQUIRE(output.o.storage == first[i].o.storage);
      REQUIRE(std::memcmp(output.lse.data(), first[i].lse.data(),
                          first[i].lse.size() * 4) == 0);
    }
}
} // namespace

TEST_CASE("GPU repeats: the same launch gives the same bits", "[repeat]") {
  repeat("sm_80", 20);
}
TEST_CASE("GPU repeats as sm_90a PTX: 200 times the same bits",
          "[repeat][hopper]") {
  repeat("sm_90a", 200);
}

// Small enough for compute-sanitizer, which slows a kernel some hundred times:
//   compute-sanitizer --tool memcheck flashc-gpu-tests "[sanitizer]"
TEST_CASE("GPU sanitizer: small problems of every kind", "[sanitizer]") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  std::vector<TestCase> tests;
  for (const char *take :
       {"case 1: one row all",
        "case 2: causal, bottom-right, Sq 160, Sk 32, f16",
        "case 7: unused slots zero, causal", "case 7: unused slots nan, causal",
        "case 8: causal as a bias", "case 10: Sk = 0, none",
        "case 11: head dim 7, f16", "case 11: head dim 40, bf16",
        "case 11: head dim 256, f16", "case 11: head dims 192 and 128, bf16",
        "case 12: the mean of V, Sq 17, Sk 129",
        "case 12: the mean of V, Sq 129, Sk 1", "case 13: window (0, 0)",
        "case 15: length outermost"}) {
    INFO(take);
    size_t before = tests.size();
    for (TestCase &test : cases())
      if (llvm::StringRef(test.name).starts_with(take))
        tests.push_back(std::move(test));
    CHECK(tests.size() > before);
  }
  for (TestCase &test : gpuDraws(3000, 10, {.maxWork = 4'000'000}))
    tests.push_back(std::move(test));
  Judge judge;
  for (std::string arch : {"sm_80", "sm_75"}) {
    std::vector<TestCase> able;
    for (const TestCase &test : tests)
      if (arch != "sm_75" || test.problem.dtype() == Element::F16)
        able.push_back(test);
    for (const std::string &wrong : gpu->runAll(able, arch, judge))
      FAIL_CHECK(arch << ": " << wrong);
  }
}
