// What flashc-bench gives the compiler and the oracle says the same thing.
#include "flashc-bench/Description.h"
#include "flashc-bench/Bench.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Compiler/ScoreFunction.h"

#include "unittests/Catch.h"

#include <cmath>

using namespace flashc;

namespace {
Cell makeCell(const std::string &mask, const std::string &score) {
  Cell cell;
  cell.dim = 128;
  cell.length = 4096;
  cell.heads = 4;
  cell.mask = mask;
  cell.score = score;
  return llvm::cantFail(completeCell(cell));
}
} // namespace

TEST_CASE("the region and the formula of a score function agree") {
  for (const char *text : {"alibi", "alibi-symmetric", "softcap(30)"}) {
    INFO(text);
    Cell cell = makeCell("causal", text);
    auto context = makeContext();
    auto module = buildModule(cell, *context);
    if (!module)
      FAIL(llvm::toString(module.takeError()));
    AttnFunction found = llvm::cantFail(findAttention(**module));
    std::vector<float> slopes = getSlopes(cell);
    NpyArray array(NpyArray::DType::F32, {int64_t(slopes.size())});
    std::copy(slopes.begin(), slopes.end(), array.as<float>());
    std::vector<const NpyArray *> captures(slopes.empty() ? 0 : 1, &array);
    auto region = ScoreFunction::create(found.forward, captures);
    if (!region)
      FAIL(llvm::toString(region.takeError()));
    auto problem = llvm::cantFail(makeProblem(cell));
    CHECK(problem.mask.text() == "causal");
    CHECK(problem.scale == 1 / std::sqrt(128.0));
    for (double s : {-50.0, -1.5, 0.0, 0.25, 70.0})
      for (int64_t h : {0, 3})
        for (auto [i, j] :
             {std::pair<int64_t, int64_t>{7, 7}, {900, 3}, {5, 9}})
          CHECK(problem.score(s, 1, h, i, j) ==
                Approx((*region)(s, 1, h, i, j)).margin(1e-12));
  }
}

TEST_CASE("ALiBi's slopes are a geometric series from its ratio on") {
  Cell cell = makeCell("causal", "alibi");
  CHECK(getSlopes(cell) ==
        std::vector<float>{0.25f, 0.0625f, 0.015625f, 0.00390625f});
  CHECK(getSlopes(makeCell("causal", "softcap(30)")).empty());
}

TEST_CASE("every kind of cell compiles for both forms") {
  for (auto [arch, mask] : {std::pair{"sm_80", "causal"},
                            {"sm_90a", "none"},
                            {"sm_90a", "window(1024,0)"}})
    for (const char *score :
         {"none", "alibi", "alibi-symmetric", "softcap(30)"}) {
      INFO(arch << " " << mask << " " << score);
      Cell cell = makeCell(mask, score);
      auto context = makeContext();
      auto module = llvm::cantFail(buildModule(cell, *context));
      CompileOptions options;
      options.arch = arch;
      auto image = compileToGPU(*module, options);
      if (!image)
        FAIL(llvm::toString(image.takeError()));
      size_t captures = getSlopes(cell).empty() ? 0 : 1;
      CHECK(image->manifest.params.size() == 5 + captures);
      CHECK(image->manifest.mask == mask);
    }
}

TEST_CASE("the compiler is told all that a choice of tiles says") {
  Cell cell;
  cell.length = 1024;
  CompileOptions options = makeOptions(
      "sm_90a", cell, {"text", "64x128", 2, 8, false, "#tile.schedule<>"});
  CHECK(options.arch == "sm_90a");
  CHECK(options.length == 1024);
  CHECK(options.tiles == "64x128");
  CHECK(options.stages == 2);
  CHECK(options.warps == 8);
  CHECK(options.schedule == "#tile.schedule<>");
}
