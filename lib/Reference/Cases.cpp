//===- Cases.cpp - The numerical cases, forward: values -------------------===//
//
// Each was reported against a well-known kernel library. Numbers as in the
// project's list: 1 rows without keys, 2 alignment of causal, 4 very negative
// logits, 6 huge equal inputs, 7 NaN past the used keys, 8 bias as a mask, 9
// masked keys above the rest, 10 empty problems.
//
//===----------------------------------------------------------------------===//
#include "CaseList.h"

#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

namespace {
void rowsWithoutKeys(CaseList &list) {
  AttentionProblem p = normalProblem({.sq = 70, .sk = 70}, MaskExpr::none());
  addBias(p, [](int64_t i, int64_t j) { return i == 33 ? -kInf : 0.f; });
  list.add("case 1: one row all masked", p).expect = emptyRows(33, 34);
  // Bottom-right above top-left: of 71 rows over 70 keys the first sees none.
  list.add("case 1: one row outside every band",
           normalProblem(
               {.sq = 71, .sk = 70},
               MaskExpr::both(MaskExpr::causal(), MaskExpr::window(100, -1))))
      .expect = emptyRows(0, 1);
  list.add("case 1: no row sees a key", normalProblem({}, MaskExpr::prefix(0)))
      .expect = emptyRows(0, 64);
  for (Element element : {Element::F16, Element::BF16}) {
    Shape shape{.sq = 160, .sk = 32, .element = element};
    std::string type = elementName(element).str();
    list.add("case 2: causal, bottom-right, Sq 160, Sk 32, " + type,
             normalProblem(shape, MaskExpr::causal()))
        .expect = emptyRows(0, 128);
    list.add("case 2: causal, top-left, Sq 160, Sk 32, " + type,
             normalProblem(shape, MaskExpr::causalTopLeft()))
        .expect = noEmptyRow;
  }
}

void extremeLogits(CaseList &list) {
  // 127 * 145 * -146 + k_0 in raw scores, over sqrt(128): -2.4e5 and a spread.
  AttentionProblem p =
      normalProblem({.sq = 130, .sk = 200, .d = 128, .element = Element::BF16},
                    MaskExpr::none());
  Random random(4);
  setEach(p.q,
          [](int64_t, int64_t, int64_t, int64_t d) { return d ? 145.f : 1.f; });
  setEach(p.k, [&](int64_t, int64_t, int64_t, int64_t d) {
    return d ? -146.f : float(11 * random.normal());
  });
  list.add("case 4: logits near -2.4e5", p);
  for (int64_t heads : {1, 4}) {
    AttentionProblem one = normalProblem({.heads = heads,
                                          .kvHeads = heads,
                                          .sq = 1,
                                          .sk = 1,
                                          .element = Element::BF16},
                                         MaskExpr::none());
    for (HostTensor *t : {&one.q, &one.k, &one.v})
      t->fill(133120);
    list.add(fmt::format("case 6: Q = K = V = 133120, {} heads", heads), one)
        .expect = equalsV;
  }
}

void unreadableKeys(CaseList &list) {
  for (MaskExpr mask : {MaskExpr::none(), MaskExpr::causal()}) {
    AttentionProblem p =
        normalProblem({.batch = 3, .heads = 4, .sq = 100, .sk = 150}, mask);
    p.kvLengths = {100, 65, 1};
    std::string zero =
        fmt::format("case 7: unused slots zero, {}", mask.text());
    for (float junk : {0.f, kNaN, kInf, -kInf}) {
      for (HostTensor *t : {&p.k, &p.v})
        for (int64_t b = 0; b < 3; ++b)
          for (int64_t h = 0; h < 2; ++h)
            for (int64_t s = p.kvLengths[b]; s < 150; ++s)
              for (int64_t d = 0; d < 64; ++d)
                t->set(b, h, s, d, junk);
      if (junk == 0)
        list.add(zero, p);
      else
        list.add(fmt::format("case 7: unused slots {}, {}", junk, mask.text()),
                 p)
            .sameAs = zero;
    }
  }
}

void biases(CaseList &list) {
  AttentionProblem p = normalProblem({.sq = 65, .sk = 90}, MaskExpr::none(), 8);
  AttentionProblem masked = p;
  masked.mask = MaskExpr::causal();
  list.add("case 8: causal as a mask", masked);
  AttentionProblem hidden = p;
  addBias(hidden,
          [](int64_t i, int64_t j) { return j <= i + 25 ? 0.f : -kInf; });
  list.add("case 8: causal as a bias of -inf", hidden);
  AttentionProblem uniform = p;
  addBias(uniform,
          [](int64_t i, int64_t) { return i % 7 == 3 ? -3.4e38f : 0.5f; });
  list.add("case 8: a bias of -3.4e38 on a whole row", uniform).expect =
      uniformRows;

  // 64 * 50 * 50 / 8 = 2e4; the masked key 0 stands at -1e4 and holds NaN in V.
  AttentionProblem above =
      normalProblem({}, MaskExpr::inverse(MaskExpr::prefix(1)), 9);
  above.q.fill(50);
  setEach(above.k, [](int64_t, int64_t, int64_t s, int64_t) {
    return s ? -50.f : -25.f;
  });
  for (int64_t h = 0; h < 2; ++h)
    above.v.set(0, h, 0, 5, kNaN);
  list.add("case 9: a masked key far above the others", above);
}

void emptyProblems(CaseList &list) {
  for (MaskExpr mask : {MaskExpr::none(), MaskExpr::causal()}) {
    std::string text = mask.text();
    list.add("case 10: Sk = 0, " + text,
             normalProblem({.sq = 40, .sk = 0}, mask))
        .expect = emptyRows(0, 40);
    list.add("case 10: Sq = 0, " + text,
             normalProblem({.sq = 0, .sk = 40}, mask));
    list.add("case 10: batch = 0, " + text, normalProblem({.batch = 0}, mask));
  }
  // A score function must not read an array that holds nothing.
  AttentionProblem biased =
      normalProblem({.sq = 40, .sk = 0}, MaskExpr::none());
  addBias(biased, [](int64_t, int64_t) { return 0.f; });
  list.add("case 10: Sk = 0, a bias", biased).expect = emptyRows(0, 40);
}
} // namespace

void reference::addValueCases(CaseList &list) {
  rowsWithoutKeys(list);
  extremeLogits(list);
  unreadableKeys(list);
  biases(list);
  emptyProblems(list);
}

std::vector<TestCase> reference::cases() {
  CaseList list;
  addValueCases(list);
  addShapeCases(list);
  return std::move(list.all);
}
