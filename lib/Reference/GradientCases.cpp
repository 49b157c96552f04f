//===- GradientCases.cpp - The numerical cases, backward ------------------===//
//
// Numbers as in the project's list. Most are the forward's problems with a dO;
// here are those that ask for something else: 1 rows without keys, 5 very
// negative logits, 6 huge equal inputs, 7 NaN at keys that nobody sees, 15 a dO
// without strides, 18 masks that are equal.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/GradientCases.h"

#include "CaseList.h"

#include <cmath>
#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

namespace {
using GradientExpectation =
    std::function<std::string(const GradientProblem &, const Gradients &)>;

class GradientList {
public:
  std::vector<GradientCase> all;

  GradientCase &add(std::string name, AttentionProblem p) {
    GradientCase &test = all.emplace_back();
    test.name = std::move(name);
    Random random(1); // the same dO for problems of one shape
    test.problem = gradientOf(std::move(p), random, /*withDLse=*/false);
    return test;
  }
};

/// The forward's cases that have a backward side.
void forwardCases(GradientList &list) {
  static constexpr llvm::StringLiteral prefixes[] = {
      "case 1:",  "case 2:",  "case 6:",  "case 7:",  "case 8:",
      "case 10:", "case 11:", "case 12:", "case 14:", "case 15:"};
  for (TestCase &forward : cases()) {
    llvm::StringRef name = forward.name;
    if (llvm::none_of(prefixes, [&](llvm::StringRef prefix) {
          return name.starts_with(prefix);
        }))
      continue;
    // Of head dims in both types, the rest would show nothing more.
    if (name.starts_with("case 11: head dim ") && name.ends_with("bf16"))
      continue;
    GradientCase &test = list.add(forward.name, std::move(forward.problem));
    test.mayCopy = forward.mayCopy;
    test.sameAs = forward.sameAs;
    if (name.starts_with("case 6:"))
      test.expect = [](const GradientProblem &problem, const Gradients &out) {
        for (int64_t h = 0; h < out.dv.shape[1]; ++h)
          for (int64_t d = 0; d < out.dv.shape[3]; ++d)
            if (out.dv.get(0, h, 0, d) != problem.dO.get(0, h, 0, d))
              return fmt::format("dv[{}, {}] is {}, but P is 1 and dO is {}", h,
                                 d, out.dv.get(0, h, 0, d),
                                 problem.dO.get(0, h, 0, d));
        return std::string();
      };
  }
}

/// Set row `s` of every head.
void fillRow(HostTensor &t, int64_t s, float value) {
  for (int64_t b = 0; b < t.shape[0]; ++b)
    for (int64_t h = 0; h < t.shape[1]; ++h)
      for (int64_t d = 0; d < t.shape[3]; ++d)
        t.set(b, h, s, d, value);
}

/// What a row that sees no key holds reaches no gradient.
void rowsWithoutKeys(GradientList &list) {
  // Of 71 rows over 70 keys the first sees none.
  AttentionProblem p =
      normalProblem({.heads = 4, .sq = 71, .sk = 70}, MaskExpr::causal());
  std::string clean = "case 1: a row without keys";
  list.add(clean, p);
  for (float junk : {kNaN, kInf}) {
    AttentionProblem spoilt = p;
    fillRow(spoilt.q, 0, junk);
    GradientCase &test =
        list.add(fmt::format("case 1: {} in a row without keys", junk), spoilt);
    fillRow(test.problem.dO, 0, junk);
    test.sameAs = clean;
  }
}

void veryNegative(GradientList &list) {
  for (int64_t sk : {128, 97})
    for (Element element : {Element::F16, Element::BF16}) {
      // Every logit is -127 and a little noise, so LSE is near -122.
      AttentionProblem p = normalProblem(
          {.sq = 1, .sk = sk, .element = element}, MaskExpr::none(), 5);
      p.q.fill(1);
      Random random(5);
      setEach(p.k, [&](int64_t, int64_t, int64_t, int64_t) {
        return float(-127.0 / 8 + 0.05 * random.normal());
      });
      list.add(fmt::format("case 5: LSE near -122, Sk {}, {}", sk,
                           elementName(element).str()),
               std::move(p));
    }
}

/// Top-left causal with more keys than queries: no row sees the last ones.
void unseenKeys(GradientList &list) {
  AttentionProblem p = normalProblem({.heads = 4, .sq = 40, .sk = 100},
                                     MaskExpr::causalTopLeft());
  std::string clean = "case 7: keys that no row sees";
  list.add(clean, p);
  for (float junk : {kNaN, kInf}) {
    AttentionProblem spoilt = p;
    for (int64_t s = 40; s < 100; ++s) {
      fillRow(spoilt.k, s, junk);
      fillRow(spoilt.v, s, junk);
    }
    GradientCase &test = list.add(
        fmt::format("case 7: {} in keys that no row sees", junk), spoilt);
    test.sameAs = clean;
  }
}

void expandedGradient(GradientList &list) {
  GradientCase &test =
      list.add("case 15: dO expanded from one row",
               normalProblem({.batch = 2, .heads = 4, .sq = 70, .sk = 90},
                             MaskExpr::causal()));
  // The sum of O as the loss: all dO are 1. One row of ones serves them all.
  test.problem.dO.fill(1);
  test.problem.dO.strides = {0, 0, 0, 1};
}

void equalMasks(GradientList &list) {
  constexpr int64_t s = 150;
  AttentionProblem p =
      normalProblem({.heads = 4, .sq = s, .sk = s}, MaskExpr::causal());
  list.add("case 18: causal", p);
  for (MaskExpr mask :
       {MaskExpr::window(s - 1, 0), MaskExpr::window(-1, 0),
        MaskExpr::both(MaskExpr::causal(), MaskExpr::causalTopLeft())}) {
    AttentionProblem other = p;
    other.mask = mask;
    GradientCase &test = list.add("case 18: " + mask.text(), other);
    test.sameAs = "case 18: causal";
  }
}
} // namespace

std::vector<GradientCase> reference::gradientCases() {
  GradientList list;
  forwardCases(list);
  rowsWithoutKeys(list);
  veryNegative(list);
  unseenKeys(list);
  expandedGradient(list);
  equalMasks(list);
  return std::move(list.all);
}
