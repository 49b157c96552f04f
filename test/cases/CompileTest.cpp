// What runs on a GPU elsewhere must compile here.
#include "unittests/Catch.h"

#include "cases/CaseModule.h"
#include "cases/CaseRunner.h"
#include "unittests/Assemblers.h"

#include "llvm/Support/Parallel.h"

#include <iostream>
#include <map>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
/// One test a kernel.
std::vector<TestCase> kernelsOf(std::vector<TestCase> tests) {
  std::map<std::string, TestCase> byKey;
  for (TestCase &test : tests)
    byKey.try_emplace(kernelKey(test), std::move(test));
  std::vector<TestCase> out;
  for (auto &[key, test] : byKey)
    out.push_back(std::move(test));
  return out;
}

/// Compile all of them; says what failed. `assembled` sees each image.
template <typename F>
void compileAll(const std::vector<TestCase> &tests, const std::string &arch,
                const Assembler *assembler, F seen) {
  std::vector<CompiledCase> done(tests.size());
  llvm::parallelFor(0, tests.size(), [&](size_t at) {
    done[at] = compileCase(tests[at], arch, 0, assembler);
  });
  for (size_t at = 0; at < tests.size(); ++at) {
    if (!done[at].image)
      FAIL_CHECK(arch << ": " << tests[at].name << ": " << done[at].error);
    if (!done[at].refusedTiles.empty() && !namesBudget(done[at].refusedTiles))
      FAIL_CHECK(arch << ": " << tests[at].name
                      << ": tiles refused for no budget: "
                      << done[at].refusedTiles);
    if (done[at].image)
      seen(tests[at], *done[at].image);
  }
}
} // namespace

TEST_CASE(
    "compile: cases with a description of their own, and a few draws, as PTX") {
  std::vector<TestCase> tests = kernelsOf(gpuDraws(0, 12, {.kernels = 192}));
  for (TestCase &test : cases())
    if (!test.problem.mlir.empty() && tests.size() < 15)
      tests.push_back(std::move(test));
  compileAll(tests, "sm_80", nullptr,
             [](const TestCase &test, const KernelImage &image) {
               CHECK(image.ptx.find(".entry " + image.name) !=
                     std::string::npos);
               CHECK(image.manifest.headDim == test.problem.headDim());
               CHECK(image.manifest.dtype == elementName(test.problem.dtype()));
             });
}

// Hidden, for development (minutes): every kernel of the GPU tests as PTX.
TEST_CASE("compile: all kernels of the GPU tests", "[.][all]") {
  std::vector<TestCase> tests = gpuDraws(0, 512, {.kernels = 192});
  for (TestCase &test : cases())
    tests.push_back(std::move(test));
  auto ignore = [](const TestCase &, const KernelImage &) {};
  compileAll(kernelsOf(std::move(tests)), "sm_80", nullptr, ignore);
  for (std::string arch : {"sm_75", "sm_86", "sm_89", "sm_90"})
    compileAll(
        kernelsOf(gpuDraws(1000, 24,
                           {.withBF16 = arch != "sm_75", .smallTiles = true})),
        arch, nullptr, ignore);
}

// Hidden, for development (many minutes): through ptxas as well.
TEST_CASE("compile: all kernels of the GPU tests assemble", "[.][assemble]") {
  std::unique_ptr<Assembler> assembler = findAssembler();
  if (!assembler)
    FLASHC_SKIP("no ptxas");
  std::vector<TestCase> tests = gpuDraws(0, 512, {.kernels = 192});
  for (TestCase &test : cases())
    tests.push_back(std::move(test));
  int spilling = 0;
  compileAll(kernelsOf(std::move(tests)), "sm_80", assembler.get(),
             [&](const TestCase &test, const KernelImage &image) {
               if (image.manifest.spillBytes > 0 && ++spilling)
                 std::cout << "spills " << image.manifest.spillBytes
                           << " bytes: " << test.name << std::endl;
             });
  std::cout << spilling << " kernels spill" << std::endl;
  for (std::string arch : {"sm_75", "sm_86", "sm_89", "sm_90"})
    compileAll(
        kernelsOf(gpuDraws(1000, 24,
                           {.withBF16 = arch != "sm_75", .smallTiles = true})),
        arch, assembler.get(), [](const TestCase &, const KernelImage &) {});
}
