//===- CasesOfShape.cpp - The numerical cases, forward: shapes ------------===//
//
// Numbers as in the project's list: 11 head dims, 12 lengths, 13 windows, 14
// large grids, 15 views. Without a number: few queries of heads that share
// keys, which a launch may put in one tile (docs/decisions/026).
//
//===----------------------------------------------------------------------===//
#include "CaseList.h"

#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

namespace {
void headDims(CaseList &list) {
  for (Element element : {Element::F16, Element::BF16}) {
    std::string type = elementName(element).str();
    for (int64_t d : {1, 7, 40, 56, 80, 96, 192, 256})
      list.add(
          fmt::format("case 11: head dim {}, {}", d, type),
          normalProblem(
              {.heads = 4, .sq = 77, .sk = 131, .d = d, .element = element},
              MaskExpr::causal(), d));
    for (auto [d, dv] :
         {std::pair<int64_t, int64_t>{192, 128}, {128, 64}, {64, 128}, {40, 7}})
      list.add(fmt::format("case 11: head dims {} and {}, {}", d, dv, type),
               normalProblem({.heads = 4,
                              .sq = 77,
                              .sk = 131,
                              .d = d,
                              .dv = dv,
                              .element = element,
                              .layout = Layout::BHSD},
                             MaskExpr::none(), d));
  }
}

void lengths(CaseList &list) {
  static constexpr int64_t all[] = {1, 2, 15, 17, 63, 65, 127, 129, 257};
  for (int64_t sq : all)
    for (int64_t sk : all) {
      AttentionProblem p =
          normalProblem({.sq = sq, .sk = sk}, MaskExpr::none(), sq * 1000 + sk);
      p.q.fill(0);
      list.add(fmt::format("case 12: the mean of V, Sq {}, Sk {}", sq, sk), p);
    }
}

void windows(CaseList &list) {
  constexpr int64_t s = 150;
  Shape shape{.heads = 4, .sq = s, .sk = s};
  list.add("case 13: causal", normalProblem(shape, MaskExpr::causal()));
  for (int64_t left : {s - 1, s, int64_t(-1)})
    list.add(fmt::format("case 13: window ({}, 0)", left),
             normalProblem(shape, MaskExpr::window(left, 0)))
        .sameAs = "case 13: causal";
  list.add("case 13: window (0, 0)",
           normalProblem(shape, MaskExpr::window(0, 0)))
      .expect = equalsV;
}

/// A problem whose K, Q and V have these strides and offset.
AttentionProblem viewed(AttentionProblem p, std::array<int64_t, 4> strides,
                        int64_t offset) {
  Random random(15);
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    *t = HostTensor::strided(t->element, t->shape, strides, offset);
    t->fill(kNaN);
    fillNormal(*t, random);
  }
  return p;
}

void views(CaseList &list) {
  list.add(
      "case 14: 71280 batch and head pairs",
      normalProblem(
          {.batch = 2970, .heads = 24, .kvHeads = 8, .sq = 3, .sk = 3, .d = 16},
          MaskExpr::causal()));
  AttentionProblem p =
      normalProblem({.batch = 2, .heads = 3, .kvHeads = 3, .sq = 70, .sk = 70},
                    MaskExpr::causal());
  // (length, batch, head, dim) in memory.
  list.add("case 15: length outermost",
           viewed(p, {3 * 64, 64, 2 * 3 * 64, 1}, 0));
  AttentionProblem shared = p;
  shared.k.strides = {0, 0, 64, 1};
  shared.v.strides = {0, 64 * 70, 64, 1};
  list.add("case 15: one K for every batch and head", shared);
  list.add("case 15: base address off by one element",
           viewed(p, {3 * 70 * 64, 64, 3 * 64, 1}, 1))
      .mayCopy = true;
  list.add("case 15: rows off by one element",
           viewed(p, {70 * 3 * 65, 65, 3 * 65, 1}, 0))
      .mayCopy = true;
  list.add("case 15: last stride 2",
           viewed(p, {3 * 70 * 128, 128, 3 * 128, 2}, 0))
      .mayCopy = true;
  list.add("case 15: head dim before length",
           viewed(p, {3 * 70 * 64, 70 * 64, 1, 70}, 0))
      .mayCopy = true;
}
} // namespace

namespace {
void groups(CaseList &list) {
  uint64_t seed = 26;
  for (Element element : {Element::F16, Element::BF16})
    for (Layout layout : {Layout::BSHD, Layout::BHSD})
      for (int64_t sq : {1, 3, 33})
        for (bool causal : {false, true})
          for (int64_t d : {64, 128}) {
            AttentionProblem p = normalProblem(
                {.batch = 2,
                 .heads = 12,
                 .kvHeads = 2,
                 .sq = sq,
                 .sk = 300,
                 .d = d,
                 .element = element,
                 .layout = layout},
                causal ? MaskExpr::causal() : MaskExpr::none(), ++seed);
            if (d == 128)
              p.kvLengths = {300, 41};
            list.add(fmt::format("group: {} {} {}, {} queries, head dim {}",
                                 elementName(element).str(),
                                 layout == Layout::BSHD ? "bshd" : "bhsd",
                                 causal ? "causal" : "full", sq, d),
                     p);
          }
}
} // namespace

void reference::addShapeCases(CaseList &list) {
  headDims(list);
  lengths(list);
  windows(list);
  views(list);
  groups(list);
}
