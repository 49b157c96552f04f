// The numerical cases on the GPU, compiled for sm_80 and run as PTX.
#include "unittests/Catch.h"

#include "gpu/GpuHarness.h"

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
/// The cases whose name starts so, but those that a kernel may refuse.
std::vector<TestCase> select(llvm::StringRef prefix) {
  std::vector<TestCase> out;
  for (TestCase &test : cases())
    if (llvm::StringRef(test.name).starts_with(prefix) && !test.mayCopy)
      out.push_back(std::move(test));
  return out;
}

void runCases(llvm::StringRef prefix, size_t atLeast,
              const std::string &arch = "sm_80") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  if (arch == "sm_90a" && gpu->device().sm() != 90)
    FLASHC_SKIP("the GPU is no Hopper");
  std::vector<TestCase> tests = select(prefix);
  CHECK(tests.size() >= atLeast);
  Judge judge;
  for (const std::string &wrong : gpu->runAll(tests, arch, judge))
    FAIL_CHECK(wrong);
}
} // namespace

TEST_CASE("GPU case 1: rows without a visible key", "[cases]") {
  runCases("case 1:", 3);
}
TEST_CASE("GPU case 2: causal where Sq is not Sk", "[cases]") {
  runCases("case 2:", 4);
}
TEST_CASE("GPU case 4: logits near -2.4e5", "[cases]") {
  runCases("case 4:", 1);
}
TEST_CASE("GPU case 6: huge equal inputs", "[cases]") {
  runCases("case 6:", 2);
}
TEST_CASE("GPU case 7: NaN and infinity past the used keys", "[cases]") {
  runCases("case 7:", 8);
}
TEST_CASE("GPU case 8: a bias as a mask", "[cases]") { runCases("case 8:", 3); }
TEST_CASE("GPU case 9: a masked key far above the others", "[cases]") {
  runCases("case 9:", 1);
}
TEST_CASE("GPU case 10: empty problems", "[cases]") { runCases("case 10:", 6); }
TEST_CASE("GPU case 11: head dims", "[cases]") { runCases("case 11:", 24); }
TEST_CASE("GPU case 12: lengths around tile edges", "[cases]") {
  runCases("case 12:", 81);
}
TEST_CASE("GPU case 13: windows that are causal", "[cases]") {
  runCases("case 13:", 5);
}
TEST_CASE("GPU case 14: a grid past 65535 blocks", "[cases]") {
  runCases("case 14:", 1);
}
TEST_CASE("GPU case 15: views that kernels read in place", "[cases]") {
  runCases("case 15:", 2);
}

TEST_CASE("GPU cases of few queries of heads that share keys", "[cases]") {
  runCases("group:", 48);
}
TEST_CASE("GPU cases of few queries of heads that share keys as sm_90a PTX",
          "[cases][hopper]") {
  runCases("group:", 48, "sm_90a");
}

TEMPLATE_TEST_CASE_SIG("GPU case as sm_90a PTX", "[cases][hopper]",
                       ((int Number), Number), 1, 2, 4, 6, 7, 8, 9, 10, 11, 12,
                       13, 14, 15) {
  runCases("case " + std::to_string(Number) + ":", 1, "sm_90a");
}

TEST_CASE("GPU case 15: views that must be copied or recompiled for",
          "[cases]") {
  std::unique_ptr<GpuHarness> gpu = GpuHarness::open();
  if (!gpu)
    FLASHC_SKIP("no GPU");
  Judge judge;
  for (TestCase &test : cases()) {
    if (!test.mayCopy)
      continue;
    INFO(test.name);
    const LoadedKernel &loaded = gpu->kernel(test, "sm_80");
    REQUIRE(loaded.error == "");
    llvm::Expected<Output> direct = gpu->run(*loaded.module, test);
    REQUIRE_FALSE(
        bool(direct)); // refused before the launch, by the array's name
    CHECK_THAT(llvm::toString(direct.takeError()),
               Catch::Contains("array 'query'"));
    if (test.problem.q.strides[3] == 1) {
      const LoadedKernel &loose = gpu->kernel(test, "sm_80", 2);
      REQUIRE(loose.error == "");
      CHECK(judge.judge(test, llvm::cantFail(gpu->run(*loose.module, test))) ==
            "");
    }
    TestCase copied = test;
    for (HostTensor *t :
         {&copied.problem.q, &copied.problem.k, &copied.problem.v})
      *t = denseCopy(*t, test.problem.layout);
    CHECK(judge.judge(copied,
                      llvm::cantFail(gpu->run(*loaded.module, copied))) == "");
  }
}
