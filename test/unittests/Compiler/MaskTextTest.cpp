// Masks as text, and the count of what they leave visible.
#include "flashc/Compiler/MaskText.h"
#include "flashc/Compiler/Explain.h"
#include "flashc/Compiler/Module.h"
#include "flashc/Reference/Problem.h"

#include "unittests/Catch.h"

using namespace flashc;
using reference::MaskExpr;

static std::string roundTrip(llvm::StringRef text) {
  auto context = makeContext();
  auto mask = parseMask(text, *context);
  return mask ? printMask(*mask) : "error: " + llvm::toString(mask.takeError());
}

static bool contains(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}

TEST_CASE("a mask's text reads back as the mask") {
  for (const char *text :
       {"none", "causal", "causal-topleft", "key-length", "prefix(7)",
        "window(3,-1)", "window-topleft(0,2)", "causal & window(5,0)",
        "causal & (prefix(3) | !key-length)", "!(causal | prefix(1)) & causal"})
    CHECK(roundTrip(text) == text);
  CHECK(roundTrip(" ( causal)&window( 5 , 0 )") == "causal & window(5,0)");
}

TEST_CASE("a wrong mask names the column and what was expected") {
  CHECK(roundTrip("causal &") ==
        "error: mask 'causal &', column 9: expected none, causal, "
        "causal-topleft, window(L,R), window-topleft(L,R), prefix(N), "
        "key-length, ! or (, but found the end; write for example causal & "
        "window(128,0)");
  CHECK(contains(roundTrip("window(-2,0)"),
                 "column 8: expected a number from -1 to"));
  CHECK(contains(roundTrip("causal causal"),
                 "column 8: expected &, | or the end"));
  CHECK(contains(roundTrip("(causal"), "expected ')'"));
  CHECK(contains(roundTrip(std::string(100, '!') + "causal"),
                 "at most 64 nested parts"));
  CHECK(contains(roundTrip("prefix(99999999999999999999)"),
                 "column 8: expected a number"));
}

TEST_CASE("the visible pairs are counted as the oracle sees them") {
  auto context = makeContext();
  MaskExpr masks[] = {
      MaskExpr::none(),
      MaskExpr::causal(),
      MaskExpr::causalTopLeft(),
      MaskExpr::window(3, 2),
      MaskExpr::both(MaskExpr::causal(), MaskExpr::window(4, -1)),
      MaskExpr::either(MaskExpr::prefix(2), MaskExpr::window(0, 0)),
      MaskExpr::both(MaskExpr::inverse(MaskExpr::window(1, 1)),
                     MaskExpr::inverse(MaskExpr::prefix(3)))};
  for (const MaskExpr &expr : masks)
    for (auto [queries, keys] : {std::pair(7, 12), {12, 7}, {1, 5}, {5, 0}}) {
      auto mask = parseMask(expr.text(), *context);
      REQUIRE(bool(mask));
      int64_t want = 0;
      for (int64_t i = 0; i < queries; ++i)
        for (int64_t j = 0; j < keys; ++j)
          want += expr.visible(i, j, queries, keys);
      INFO(expr.text() << " " << queries << " x " << keys);
      CHECK(countVisible(*mask, queries, keys) == want);
    }
}
