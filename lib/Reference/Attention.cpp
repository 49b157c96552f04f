//===- Attention.cpp - Row by row, twice ----------------------------------===//
//
// In: a problem and the rows wanted. Out: their O and LSE in fp64, or as the
// unfused computation has them. Each row stands alone, so threads share
// nothing.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Attention.h"

#include "Dot.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

using namespace flashc;
using namespace flashc::reference;

namespace {
constexpr double kInf = std::numeric_limits<double>::infinity();

/// K and V of one (batch, key head) as dense floats.
struct Head {
  std::vector<float> k, v;
};

/// The dense heads that the rows need; each is unpacked once.
class Heads {
public:
  explicit Heads(const AttentionProblem &problem)
      : p(problem), heads(p.batch() * p.kvHeads()), once(heads.size()) {}

  const Head &get(int64_t b, int64_t hk) {
    size_t at = b * p.kvHeads() + hk;
    std::call_once(once[at], [&] {
      unpack(p.k, b, hk, heads[at].k);
      unpack(p.v, b, hk, heads[at].v);
    });
    return heads[at];
  }

private:
  void unpack(const HostTensor &from, int64_t b, int64_t h,
              std::vector<float> &to) {
    to.resize(from.shape[2] * from.shape[3]);
    for (int64_t s = 0, at = 0; s < from.shape[2]; ++s)
      for (int64_t d = 0; d < from.shape[3]; ++d)
        to[at++] = from.get(b, h, s, d);
  }

  const AttentionProblem &p;
  std::vector<Head> heads;
  std::vector<std::once_flag> once;
};

/// One row at work: its query, the visible keys and their scores.
struct RowWork {
  RowWork(const AttentionProblem &problem, Heads &heads, Row row)
      : p(problem), row(row),
        head(heads.get(row.b, row.h / (p.heads() / p.kvHeads()))) {
    for (int64_t d = 0; d < p.headDim(); ++d)
      q.push_back(p.q.get(row.b, row.h, row.i, d));
    for (int64_t j = 0; j < p.keys(row.b); ++j)
      if (p.visible(row.b, row.i, j))
        keys.push_back(j);
  }
  const float *key(int64_t j) const { return &head.k[j * p.headDim()]; }
  const float *value(int64_t j) const { return &head.v[j * p.valueHeadDim()]; }

  /// Scores after scale and score function, computed in T.
  template <typename T> std::vector<T> scores() const {
    std::vector<T> x;
    for (int64_t j : keys) {
      T s = dot<T>(q.data(), key(j), p.headDim()) * T(p.scale);
      x.push_back(p.score ? T(p.score(s, row.b, row.h, row.i, j)) : s);
    }
    return x;
  }

  const AttentionProblem &p;
  Row row;
  const Head &head;
  std::vector<float> q;
  std::vector<int64_t> keys;
};

/// Turn scores into exp(x - max); returns (max, sum). No key above -inf: sum 0.
template <typename T> std::pair<T, T> exponentials(std::vector<T> &x) {
  T max = -std::numeric_limits<T>::infinity(), sum = 0;
  for (T value : x)
    max = std::max(max, value);
  if (max == -std::numeric_limits<T>::infinity()) {
    std::fill(x.begin(), x.end(), T(0));
    return {max, T(0)};
  }
  for (T &value : x)
    sum += value = std::exp(value - max);
  return {max, sum};
}

void referenceRow(const RowWork &work, RowValues &out, size_t at) {
  const AttentionProblem &p = work.p;
  std::vector<double> x = work.scores<double>();
  for (size_t n = 0; n < x.size(); ++n) {
    double size =
        p.scale * absDot(work.q.data(), work.key(work.keys[n]), p.headDim());
    if (std::isfinite(x[n]))
      size = std::max(size, std::fabs(x[n]));
    out.scoreSize[at] = std::max(out.scoreSize[at], size);
  }
  auto [max, sum] = exponentials(x);
  out.lse[at] = sum == 0 ? -kInf : max + std::log(sum);
  int64_t dv = p.valueHeadDim();
  double *o = &out.o[at * dv];
  std::vector<double> squares(dv), sizes(dv);
  for (size_t n = 0; n < x.size(); ++n) {
    double weight = sum == 0 ? 0 : x[n] / sum;
    if (weight == 0) // a key that weighs nothing may hold anything
      continue;
    const float *v = work.value(work.keys[n]);
    for (int64_t d = 0; d < dv; ++d) {
      double term = weight * v[d];
      o[d] += term;
      squares[d] += term * term;
      sizes[d] += std::fabs(term);
    }
  }
  out.norm2[at] = std::sqrt(*std::max_element(squares.begin(), squares.end()));
  out.norm1[at] = *std::max_element(sizes.begin(), sizes.end());
}

void unfusedRow(const RowWork &work, RowValues &out, size_t at) {
  const AttentionProblem &p = work.p;
  std::vector<float> x = work.scores<float>();
  auto [max, sum] = exponentials(x);
  out.lse[at] = sum == 0 ? -kInf : double(max + std::log(sum));
  int64_t dv = p.valueHeadDim();
  std::vector<float> o(dv);
  for (size_t n = 0; n < x.size(); ++n) {
    float weight = sum == 0 ? 0 : roundTo(p.dtype(), x[n] / sum);
    if (weight == 0)
      continue;
    const float *v = work.value(work.keys[n]);
    for (int64_t d = 0; d < dv; ++d)
      o[d] += weight * v[d];
  }
  for (int64_t d = 0; d < dv; ++d)
    out.o[at * dv + d] = roundTo(p.dtype(), o[d]);
}

RowValues run(const AttentionProblem &problem, std::vector<Row> rows,
              void (*one)(const RowWork &, RowValues &, size_t)) {
  RowValues out;
  size_t count = rows.size();
  out.o.resize(count * problem.valueHeadDim());
  out.lse.resize(count);
  out.norm2.resize(count);
  out.norm1.resize(count);
  out.scoreSize.resize(count);
  out.rows = std::move(rows);
  Heads heads(problem);
  llvm::parallelFor(0, count, [&](size_t at) {
    one(RowWork(problem, heads, out.rows[at]), out, at);
  });
  return out;
}
} // namespace

RowValues reference::referenceAttention(const AttentionProblem &problem,
                                        std::vector<Row> rows) {
  return run(problem, std::move(rows), referenceRow);
}

RowValues reference::unfusedAttention(const AttentionProblem &problem,
                                      std::vector<Row> rows) {
  return run(problem, std::move(rows), unfusedRow);
}
