// Backwards that run on a GPU elsewhere must compile here.
#include "unittests/Catch.h"

#include "cases/CaseModule.h"
#include "cases/GradientModule.h"

#include "llvm/Support/Parallel.h"

#include <map>

using namespace flashc;
using namespace flashc::test;
using namespace flashc::reference;

namespace {
void compileAll(std::vector<GradientCase> tests, const std::string &arch) {
  std::map<std::string, GradientCase> byKey;
  for (GradientCase &test : tests) {
    // Sums for captures are in any order on a GPU.
    if (!test.problem.gradients.empty())
      test.problem.deterministic = false;
    if (test.problem.forward.dtype() != Element::F32)
      byKey.try_emplace(gradientKey(test), std::move(test));
  }
  std::vector<const GradientCase *> all;
  for (auto &[key, test] : byKey)
    all.push_back(&test);
  std::vector<CompiledGradients> done(all.size());
  llvm::parallelFor(0, all.size(), [&](size_t at) {
    done[at] = compileGradients(*all[at], arch);
  });
  for (size_t at = 0; at < all.size(); ++at) {
    if (!done[at].image)
      FAIL_CHECK(arch << ": " << all[at]->name << ": " << done[at].error);
    if (!done[at].refusedTiles.empty() && !namesBudget(done[at].refusedTiles))
      FAIL_CHECK(arch << ": " << all[at]->name
                      << ": tiles refused for no "
                         "budget: "
                      << done[at].refusedTiles);
  }
}

std::vector<GradientCase> draws(uint64_t first, uint64_t count,
                                DrawOptions options) {
  options.withF32 = false;
  std::vector<GradientCase> out;
  for (uint64_t seed = first; seed < first + count; ++seed)
    out.push_back(drawGradient(seed, options));
  return out;
}
} // namespace

TEST_CASE("compile: a few draws of the backward, as PTX") {
  compileAll(draws(0, 8, {.kernels = 96, .maxWork = 1'000'000}), "sm_80");
}

TEST_CASE("compile: backwards with roles, as PTX") {
  compileAll(roleCases(), "sm_90a");
}

TEST_CASE("compile: backwards with roles of other forms, as PTX") {
  compileAll(roleVariantCases(), "sm_90a");
}

TEST_CASE("compile: every program of the backward's sweep and cases", "[.]") {
  std::vector<GradientCase> tests =
      draws(0, 96, {.kernels = 96, .maxWork = 1'000'000});
  for (GradientCase &test : gradientCases())
    tests.push_back(std::move(test));
  compileAll(std::move(tests), "sm_80");
}

TEST_CASE("compile: draws of the backward for other targets", "[.]") {
  for (int sm : {75, 86, 89, 90})
    compileAll(draws(1000, 16, {.withBF16 = sm != 75, .maxWork = 1'000'000}),
               "sm_" + std::to_string(sm));
}
