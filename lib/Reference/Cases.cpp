//===- Cases.cpp - The numerical cases, forward ---------------------------===//
//
// Each was reported against a well-known kernel library. Numbers as in the
// project's list: 1 rows without keys, 2 alignment of causal, 4 very negative
// logits, 6 huge equal inputs, 7 NaN past the used keys, 8 bias as a mask, 9
// masked keys above the rest, 10 empty problems, 11 head dims, 12 lengths, 13
// windows, 14 large grids, 15 views.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Cases.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace flashc;
using namespace flashc::reference;

namespace {
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Shape {
  int64_t batch = 1, heads = 2, kvHeads = 2, sq = 64, sk = 64, d = 64, dv = 0;
  Element element = Element::F16;
  Layout layout = Layout::BSHD;
};

/// Normal inputs.
AttentionProblem problem(const Shape &s, MaskExpr mask, uint64_t seed = 1) {
  int64_t dv = s.dv ? s.dv : s.d;
  AttentionProblem p;
  p.layout = s.layout;
  p.scale = 1 / std::sqrt(double(s.d));
  p.mask = std::move(mask);
  p.q = HostTensor::dense(s.element, {s.batch, s.heads, s.sq, s.d}, s.layout);
  p.k = HostTensor::dense(s.element, {s.batch, s.kvHeads, s.sk, s.d}, s.layout);
  p.v = HostTensor::dense(s.element, {s.batch, s.kvHeads, s.sk, dv}, s.layout);
  Random random(seed);
  fillNormal(p.q, random);
  fillNormal(p.k, random);
  fillNormal(p.v, random);
  return p;
}

template <typename F> void each(HostTensor &t, F value) {
  for (int64_t b = 0; b < t.shape[0]; ++b)
    for (int64_t h = 0; h < t.shape[1]; ++h)
      for (int64_t s = 0; s < t.shape[2]; ++s)
        for (int64_t d = 0; d < t.shape[3]; ++d)
          t.set(b, h, s, d, value(b, h, s, d));
}

/// O must be V of the same row, bit for bit.
std::string equalsV(const AttentionProblem &p, const HostTensor &o,
                    const float *) {
  int64_t group = p.heads() / p.kvHeads();
  for (int64_t b = 0; b < p.batch(); ++b)
    for (int64_t h = 0; h < p.heads(); ++h)
      for (int64_t i = 0; i < p.sq(); ++i)
        for (int64_t d = 0; d < p.valueHeadDim(); ++d)
          if (o.get(b, h, i, d) != p.v.get(b, h / group, i, d))
            return fmt::format("o[{},{},{},{}] is {}, but v there is {}", b, h,
                               i, d, o.get(b, h, i, d),
                               p.v.get(b, h / group, i, d));
  return "";
}

/// Rows lo to hi - 1 of every head: O = 0 and LSE = -inf.
auto emptyRows(int64_t lo, int64_t hi) {
  return [=](const AttentionProblem &p, const HostTensor &o,
             const float *lse) -> std::string {
    for (int64_t b = 0; b < p.batch(); ++b)
      for (int64_t h = 0; h < p.heads(); ++h)
        for (int64_t i = lo; i < hi; ++i) {
          float l = lse[(b * p.heads() + h) * p.sq() + i];
          if (o.get(b, h, i, 0) != 0 || l != -kInf)
            return fmt::format("row {} sees no key, but o is {} and lse {}", i,
                               o.get(b, h, i, 0), l);
        }
    return "";
  };
}

/// Rows i with i % 7 == 3 are the mean of V, to one rounding of the result: the
/// error rule says little where scores are as large as f32 goes.
std::string uniformRows(const AttentionProblem &p, const HostTensor &o,
                        const float *lse) {
  double u = unitRoundoff(p.dtype());
  for (int64_t h = 0; h < p.heads(); ++h)
    for (int64_t d = 0; d < p.valueHeadDim(); ++d) {
      double mean = 0;
      for (int64_t j = 0; j < p.sk(); ++j)
        mean += p.v.get(0, h, j, d) / double(p.sk());
      for (int64_t i = 3; i < p.sq(); i += 7)
        if (!(std::fabs(o.get(0, h, i, d) - mean) <=
              2 * u * std::fabs(mean) + 0x1p-20) ||
            !std::isfinite(lse[h * p.sq() + i]))
          return fmt::format(
              "row {} is uniform, but o is {} and not the mean {} of V, lse {}",
              i, o.get(0, h, i, d), mean, lse[h * p.sq() + i]);
    }
  return "";
}

std::string noEmptyRow(const AttentionProblem &p, const HostTensor &,
                       const float *lse) {
  for (int64_t n = 0; n < p.batch() * p.heads() * p.sq(); ++n)
    if (lse[n] == -kInf)
      return fmt::format("lse {} is -inf, but every row sees a key", n);
  return "";
}

/// The description with an additive bias of shape Sq x Sk as its score
/// function.
std::string biasModule(const AttentionProblem &p) {
  auto tensor = [&](int64_t d) {
    return fmt::format("tensor<?x?x?x{}x{}>", d, elementName(p.dtype()).str());
  };
  return fmt::format(
      R"(func.func @attention(%q: {0}, %k: {0}, %v: {1}, %bias: tensor<?x?xf32>) -> ({1}, tensor<?x?x?xf32>) {{
  %o, %lse = attn.forward %q, %k, %v captures(%bias : tensor<?x?xf32>) scale({2:e}) layout({3})
      : {0}, {0}, {1} -> ({1}, tensor<?x?x?xf32>) {{
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<?x?xf32>):
    %x = tensor.extract %m[%i, %j] : tensor<?x?xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  }}
  return %o, %lse : {1}, tensor<?x?x?xf32>
}}
)",
      tensor(p.headDim()), tensor(p.valueHeadDim()), p.scale,
      layoutName(p.layout).str());
}

/// Give the problem the bias `value(i, j)`.
template <typename F> void addBias(AttentionProblem &p, F value) {
  Capture bias{"bias", {p.sq(), p.sk()}, {}};
  for (int64_t i = 0; i < p.sq(); ++i)
    for (int64_t j = 0; j < p.sk(); ++j)
      bias.data.push_back(value(i, j));
  p.score = [data = bias.data, sk = p.sk()](double x, int64_t, int64_t,
                                            int64_t i, int64_t j) {
    return x + double(data[i * sk + j]);
  };
  p.captures.push_back(std::move(bias));
  p.mlir = biasModule(p);
}

/// The list as it grows.
struct List {
  std::vector<TestCase> all;
  TestCase &add(std::string name, AttentionProblem p) {
    TestCase &test = all.emplace_back();
    test.name = std::move(name);
    test.problem = std::move(p);
    return test;
  }
};

void rowsWithoutKeys(List &list) {
  AttentionProblem p = problem({.sq = 70, .sk = 70}, MaskExpr::none());
  addBias(p, [](int64_t i, int64_t j) { return i == 33 ? -kInf : 0.f; });
  list.add("case 1: one row all masked", p).expect = emptyRows(33, 34);
  // Bottom-right above top-left: of 71 rows over 70 keys the first sees none.
  list.add("case 1: one row outside every band",
           problem(
               {.sq = 71, .sk = 70},
               MaskExpr::both(MaskExpr::causal(), MaskExpr::window(100, -1))))
      .expect = emptyRows(0, 1);
  list.add("case 1: no row sees a key", problem({}, MaskExpr::prefix(0)))
      .expect = emptyRows(0, 64);
  for (Element element : {Element::F16, Element::BF16}) {
    Shape shape{.sq = 160, .sk = 32, .element = element};
    std::string type = elementName(element).str();
    list.add("case 2: causal, bottom-right, Sq 160, Sk 32, " + type,
             problem(shape, MaskExpr::causal()))
        .expect = emptyRows(0, 128);
    list.add("case 2: causal, top-left, Sq 160, Sk 32, " + type,
             problem(shape, MaskExpr::causalTopLeft()))
        .expect = noEmptyRow;
  }
}

void extremeLogits(List &list) {
  // 127 * 145 * -146 + k_0 in raw scores, over sqrt(128): -2.4e5 and a spread.
  AttentionProblem p =
      problem({.sq = 130, .sk = 200, .d = 128, .element = Element::BF16},
              MaskExpr::none());
  Random random(4);
  each(p.q,
       [](int64_t, int64_t, int64_t, int64_t d) { return d ? 145.f : 1.f; });
  each(p.k, [&](int64_t, int64_t, int64_t, int64_t d) {
    return d ? -146.f : float(11 * random.normal());
  });
  list.add("case 4: logits near -2.4e5", p);
  for (int64_t heads : {1, 4}) {
    AttentionProblem one = problem({.heads = heads,
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

void unreadableKeys(List &list) {
  for (MaskExpr mask : {MaskExpr::none(), MaskExpr::causal()}) {
    AttentionProblem p =
        problem({.batch = 3, .heads = 4, .sq = 100, .sk = 150}, mask);
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

void biases(List &list) {
  AttentionProblem p = problem({.sq = 65, .sk = 90}, MaskExpr::none(), 8);
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
      problem({}, MaskExpr::inverse(MaskExpr::prefix(1)), 9);
  above.q.fill(50);
  each(above.k,
       [](int64_t, int64_t, int64_t s, int64_t) { return s ? -50.f : -25.f; });
  for (int64_t h = 0; h < 2; ++h)
    above.v.set(0, h, 0, 5, kNaN);
  list.add("case 9: a masked key far above the others", above);
}

void emptyProblems(List &list) {
  for (MaskExpr mask : {MaskExpr::none(), MaskExpr::causal()}) {
    std::string text = mask.text();
    list.add("case 10: Sk = 0, " + text, problem({.sq = 40, .sk = 0}, mask))
        .expect = emptyRows(0, 40);
    list.add("case 10: Sq = 0, " + text, problem({.sq = 0, .sk = 40}, mask));
    list.add("case 10: batch = 0, " + text, problem({.batch = 0}, mask));
  }
}

void headDims(List &list) {
  for (Element element : {Element::F16, Element::BF16}) {
    std::string type = elementName(element).str();
    for (int64_t d : {1, 7, 40, 56, 80, 96, 192, 256})
      list.add(
          fmt::format("case 11: head dim {}, {}", d, type),
          problem({.heads = 4, .sq = 77, .sk = 131, .d = d, .element = element},
                  MaskExpr::causal(), d));
    for (auto [d, dv] :
         {std::pair<int64_t, int64_t>{192, 128}, {128, 64}, {64, 128}, {40, 7}})
      list.add(fmt::format("case 11: head dims {} and {}, {}", d, dv, type),
               problem({.heads = 4,
                        .sq = 77,
                        .sk = 131,
                        .d = d,
                        .dv = dv,
                        .element = element,
                        .layout = Layout::BHSD},
                       MaskExpr::none(), d));
  }
}

void lengths(List &list) {
  static constexpr int64_t all[] = {1, 2, 15, 17, 63, 65, 127, 129, 257};
  for (int64_t sq : all)
    for (int64_t sk : all) {
      AttentionProblem p =
          problem({.sq = sq, .sk = sk}, MaskExpr::none(), sq * 1000 + sk);
      p.q.fill(0);
      list.add(fmt::format("case 12: the mean of V, Sq {}, Sk {}", sq, sk), p);
    }
}

void windows(List &list) {
  constexpr int64_t s = 150;
  Shape shape{.heads = 4, .sq = s, .sk = s};
  list.add("case 13: causal", problem(shape, MaskExpr::causal()));
  for (int64_t left : {s - 1, s, int64_t(-1)})
    list.add(fmt::format("case 13: window ({}, 0)", left),
             problem(shape, MaskExpr::window(left, 0)))
        .sameAs = "case 13: causal";
  list.add("case 13: window (0, 0)", problem(shape, MaskExpr::window(0, 0)))
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

void views(List &list) {
  list.add(
      "case 14: 71280 batch and head pairs",
      problem(
          {.batch = 2970, .heads = 24, .kvHeads = 8, .sq = 3, .sk = 3, .d = 16},
          MaskExpr::causal()));
  AttentionProblem p =
      problem({.batch = 2, .heads = 3, .kvHeads = 3, .sq = 70, .sk = 70},
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

std::vector<TestCase> reference::cases() {
  List list;
  rowsWithoutKeys(list);
  extremeLogits(list);
  unreadableKeys(list);
  biases(list);
  emptyProblems(list);
  headDims(list);
  lengths(list);
  windows(list);
  views(list);
  return std::move(list.all);
}
