//===- CaseList.cpp - Problems and expectations of the cases --------------===//
//
// What the lists of cases have in common.
//
//===----------------------------------------------------------------------===//
#include "CaseList.h"

#include <cmath>
#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

AttentionProblem reference::normalProblem(const Shape &s, MaskExpr mask,
                                          uint64_t seed) {
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

/// The description with the bias as its score function.
static std::string biasModule(const AttentionProblem &p) {
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

void reference::addBias(AttentionProblem &p,
                        llvm::function_ref<float(int64_t, int64_t)> value) {
  Capture bias{"bias", {p.sq(), p.sk()}, {}};
  for (int64_t i = 0; i < p.sq(); ++i)
    for (int64_t j = 0; j < p.sk(); ++j)
      bias.data.push_back(value(i, j));
  p.score = [data = bias.data, sk = p.sk()](double x, int64_t, int64_t,
                                            int64_t i, int64_t j) {
    return x + double(data[i * sk + j]);
  };
  p.scoreDerivative = [sk = p.sk()](double, int64_t, int64_t, int64_t i,
                                    int64_t j) {
    return ScoreDerivative{1, {{0, i * sk + j, 1}}};
  };
  p.captures.push_back(std::move(bias));
  p.mlir = biasModule(p);
}

std::string reference::equalsV(const AttentionProblem &p, const HostTensor &o,
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

Expectation reference::emptyRows(int64_t lo, int64_t hi) {
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

std::string reference::noEmptyRow(const AttentionProblem &p, const HostTensor &,
                                  const float *lse) {
  for (int64_t n = 0; n < p.batch() * p.heads() * p.sq(); ++n)
    if (lse[n] == -kInf)
      return fmt::format("lse {} is -inf, but every row sees a key", n);
  return "";
}

std::string reference::uniformRows(const AttentionProblem &p,
                                   const HostTensor &o, const float *lse) {
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
