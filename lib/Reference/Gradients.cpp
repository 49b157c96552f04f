//===- Gradients.cpp - Row by row, twice ----------------------------------===//
//
// In: a backward. Out: its gradients in fp64, or as the unfused computation has
// them. Each key head stands alone, so threads share nothing; gradients of
// captures are summed up over key heads at the end, in order.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Gradients.h"

#include "Dot.h"
#include "GradientSums.h"

#include "flashc/Reference/Attention.h"

#include "llvm/Support/Parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

using namespace flashc;
using namespace flashc::reference;

namespace {
/// Rounding of one f32 operation on terms of size 1, with room for several.
constexpr double kF32 = 0x1p-22;
/// The least exact op of a score function is tanh, within 2^-21 of its result
/// (tile-expand-tanh); 1 - tanh^2 has twice that.
constexpr double kScoreFunction = 0x1p-20;

/// Rows of one head as dense floats.
std::vector<float> unpack(const HostTensor &from, int64_t b, int64_t h) {
  std::vector<float> rows;
  rows.reserve(from.shape[2] * from.shape[3]);
  for (int64_t s = 0; s < from.shape[2]; ++s)
    for (int64_t d = 0; d < from.shape[3]; ++d)
      rows.push_back(from.get(b, h, s, d));
  return rows;
}

/// to += factor * row
template <typename T>
void addRow(T *to, T factor, const float *row, int64_t n) {
  for (int64_t d = 0; d < n; ++d)
    to[d] += factor * T(row[d]);
}

/// A key head at work: its query heads, row by row.
class KeyHead {
public:
  KeyHead(const GradientProblem &problem, int64_t b, int64_t hk)
      : problem(problem), p(problem.forward), b(b), hk(hk),
        group(p.heads() / p.kvHeads()), d(p.headDim()), dv(p.valueHeadDim()),
        k(unpack(p.k, b, hk)), v(unpack(p.v, b, hk)) {
    for (int64_t capture : problem.gradients)
      captures.emplace_back(elementsOf(p.captures[capture]));
  }

  void reference(GradientValues &out);
  void unfused(GradientValues &out);

  /// What this key head adds to the gradients of captures.
  std::vector<CaptureSum> captures;

private:
  /// One row's visible keys with what is known of them.
  struct Row {
    int64_t h, i;
    std::vector<float> q, dO, o;
    std::vector<int64_t> keys;
    float dLse = 0;
  };
  template <typename F> void eachRow(F visit);
  template <typename T>
  std::vector<T> scores(const Row &row, std::vector<T> &scaled);
  ScoreDerivative derivative(const Row &row, double scaled, int64_t j) const {
    if (!p.score)
      return {};
    return p.scoreDerivative(scaled, b, row.h, row.i, j);
  }
  /// One visible pair with a probability above 0.
  struct Term {
    int64_t j;
    double probability, dx;
    double r; // relative error of the probability
    ScoreDerivative by;
  };
  /// The size of the terms that a row's D is made of, and its error.
  struct Delta {
    double size, error;
  };
  Delta deltaOf(const Row &row) const;
  template <typename F> void eachCapture(const ScoreDerivative &by, F visit);
  void addTerm(const Row &row, const Delta &delta, const Term &term,
               GradientValues &out, Errors &errors,
               std::vector<double> &fromDelta);
  void referenceRow(const Row &row, GradientValues &out);
  void unfusedRow(const Row &row, GradientValues &out);
  void finishKeys(GradientValues &out);
  const float *key(int64_t j) const { return &k[j * d]; }
  const float *value(int64_t j) const { return &v[j * dv]; }
  int64_t place(const Row &row) const {
    return (b * p.heads() + row.h) * p.sq() + row.i;
  }
  int64_t keyPlace(int64_t j) const {
    return (b * p.kvHeads() + hk) * p.sk() + j;
  }

  const GradientProblem &problem;
  const AttentionProblem &p;
  int64_t b, hk, group, d, dv;
  std::vector<float> k, v;
  // Of the unfused computation: f32 sums over all rows.
  std::vector<float> dkSums, dvSums;
  // Of the reference: errors of dK and dV.
  std::optional<Errors> dkErrors, dvErrors;
};

template <typename F> void KeyHead::eachRow(F visit) {
  for (int64_t h = hk * group; h < (hk + 1) * group; ++h) {
    std::vector<float> q = unpack(p.q, b, h), dO = unpack(problem.dO, b, h),
                       o = unpack(problem.o, b, h);
    for (int64_t i = 0; i < p.sq(); ++i) {
      Row row{h, i, {}, {}, {}, {}, 0};
      for (int64_t j = 0; j < p.keys(b); ++j)
        if (p.visible(b, i, j))
          row.keys.push_back(j);
      row.q.assign(&q[i * d], &q[i * d] + d);
      row.dO.assign(&dO[i * dv], &dO[i * dv] + dv);
      row.o.assign(&o[i * dv], &o[i * dv] + dv);
      if (!problem.dLse.empty())
        row.dLse = problem.dLse[place(row)];
      visit(row);
    }
  }
}

/// Probabilities of the visible keys; `scaled` gets the scaled scores. Without
/// a key above -inf all are 0.
template <typename T>
std::vector<T> KeyHead::scores(const Row &row, std::vector<T> &scaled) {
  std::vector<T> x;
  T max = -std::numeric_limits<T>::infinity(), sum = 0;
  for (int64_t j : row.keys) {
    scaled.push_back(dot<T>(row.q.data(), key(j), d) * T(p.scale));
    x.push_back(p.score ? T(p.score(scaled.back(), b, row.h, row.i, j))
                        : scaled.back());
    max = std::max(max, x.back());
  }
  if (max == -std::numeric_limits<T>::infinity()) {
    std::fill(x.begin(), x.end(), T(0));
    return x;
  }
  for (T &value : x)
    sum += value = std::exp(value - max);
  for (T &value : x)
    value /= sum;
  return x;
}

/// Calls `visit(g, element, derivative)` for what the pair adds to captures.
template <typename F>
void KeyHead::eachCapture(const ScoreDerivative &by, F visit) {
  for (const ScoreDerivative::ByCapture &to : by.byCaptures)
    for (size_t g = 0; g < problem.gradients.size(); ++g)
      if (problem.gradients[g] == to.capture)
        visit(captures[g], to.element, to.value);
}

/// D is computed from O as it is stored, with an independent error in each
/// element, and in f32.
KeyHead::Delta KeyHead::deltaOf(const Row &row) const {
  double squares = 0;
  for (int64_t c = 0; c < dv; ++c)
    squares += std::pow(double(row.dO[c]) * row.o[c], 2);
  double size = absDot(row.dO.data(), row.o.data(), dv) + std::fabs(row.dLse);
  double u = unitRoundoff(p.dtype());
  return {size, 2 * u * std::sqrt(squares) + kF32 * size};
}

void KeyHead::referenceRow(const Row &row, GradientValues &out) {
  std::vector<double> scaled, probs = scores<double>(row, scaled);
  std::vector<double> dp(probs.size());
  double delta = -row.dLse, size = 0;
  for (size_t n = 0; n < probs.size(); ++n) {
    if (probs[n] == 0)
      continue;
    int64_t j = row.keys[n];
    dp[n] = dot<double>(row.dO.data(), value(j), dv);
    delta += probs[n] * dp[n];
    double score = p.score ? p.score(scaled[n], b, row.h, row.i, j) : scaled[n];
    size = std::max(
        {size, std::fabs(score), p.scale * absDot(row.q.data(), key(j), d)});
  }
  // Relative error of P, and of the derivative of the score function.
  double r = (kF32 + (p.score ? kScoreFunction : 0)) * (1 + size);
  Errors errors(d);
  std::vector<double> fromDelta(d);
  Delta ofRow = deltaOf(row);
  for (size_t n = 0; n < probs.size(); ++n) {
    if (probs[n] == 0)
      continue;
    Term term{row.keys[n], probs[n], probs[n] * (dp[n] - delta), r,
              derivative(row, scaled[n], row.keys[n])};
    addTerm(row, ofRow, term, out, errors, fromDelta);
  }
  for (CaptureSum &capture : captures)
    capture.endRow();
  double u = unitRoundoff(p.dtype()), most = 0, largest = 0;
  double *dq = &out.dq.values[place(row) * d];
  for (int64_t c = 0; c < d; ++c) {
    dq[c] *= p.scale;
    largest = std::max(largest, std::fabs(dq[c]));
    most = std::max(most, std::sqrt(errors.squares[c]) + errors.sums[c] +
                              std::fabs(fromDelta[c]));
  }
  out.dq.rounding[place(row)] = p.scale * most + 2 * u * largest;
}

/// One pair's part of dQ, dK, dV and captures, with its errors.
void KeyHead::addTerm(const Row &row, const Delta &delta, const Term &term,
                      GradientValues &out, Errors &errors,
                      std::vector<double> &fromDelta) {
  double u = unitRoundoff(p.dtype()), ds = term.dx * term.by.byScore;
  // Of dx: in f32, from P and from dP - D; from D, the same for a whole row.
  double f32 = term.r * std::fabs(term.dx) +
               term.probability * kF32 *
                   (absDot(row.dO.data(), value(term.j), dv) + delta.size);
  double ofDelta = term.probability * delta.error;
  double slope = std::fabs(term.by.byScore);
  addRow(&out.dq.values[place(row) * d], ds, key(term.j), d);
  addRow(&out.dk.values[keyPlace(term.j) * d], ds, row.q.data(), d);
  addRow(&out.dv.values[keyPlace(term.j) * dv], term.probability, row.dO.data(),
         dv);
  for (int64_t c = 0; c < d; ++c) {
    double kc = key(term.j)[c], qc = row.q[c];
    errors.squares[c] += std::pow(2 * u * ds * kc, 2);
    errors.sums[c] += f32 * slope * std::fabs(kc);
    fromDelta[c] += ofDelta * term.by.byScore * kc;
    int64_t at = term.j * d + c;
    dkErrors->squares[at] +=
        std::pow(2 * u * ds * qc, 2) + std::pow(ofDelta * slope * qc, 2);
    dkErrors->sums[at] += f32 * slope * std::fabs(qc);
  }
  for (int64_t c = 0; c < dv; ++c) {
    double part = term.probability * row.dO[c];
    dvErrors->squares[term.j * dv + c] += std::pow(2 * u * part, 2);
    dvErrors->sums[term.j * dv + c] += term.r * std::fabs(part);
  }
  eachCapture(term.by, [&](CaptureSum &sum, int64_t element, double value) {
    sum.add(element, term.dx * value, f32 * std::fabs(value), ofDelta * value);
  });
}

void KeyHead::finishKeys(GradientValues &out) {
  double u = unitRoundoff(p.dtype());
  auto finish = [&](GradientArray &array, const Errors &errors, int64_t dims,
                    double scale) {
    for (int64_t j = 0; j < p.sk(); ++j) {
      double most = 0, largest = 0;
      for (int64_t c = 0; c < dims; ++c) {
        double &value = array.values[keyPlace(j) * dims + c];
        value *= scale;
        largest = std::max(largest, std::fabs(value));
        most = std::max(most, std::sqrt(errors.squares[j * dims + c]) +
                                  errors.sums[j * dims + c]);
      }
      array.rounding[keyPlace(j)] = scale * most + 2 * u * largest;
    }
  };
  finish(out.dk, *dkErrors, d, p.scale);
  finish(out.dv, *dvErrors, dv, 1);
}

void KeyHead::reference(GradientValues &out) {
  dkErrors.emplace(p.sk() * d);
  dvErrors.emplace(p.sk() * dv);
  eachRow([&](const Row &row) { referenceRow(row, out); });
  finishKeys(out);
}

void KeyHead::unfusedRow(const Row &row, GradientValues &out) {
  std::vector<float> scaled, probs = scores<float>(row, scaled);
  std::vector<float> dp(probs.size());
  float delta = -row.dLse;
  for (size_t n = 0; n < probs.size(); ++n) {
    probs[n] = roundTo(p.dtype(), probs[n]);
    if (probs[n] == 0)
      continue;
    dp[n] = dot<float>(row.dO.data(), value(row.keys[n]), dv);
    delta += probs[n] * dp[n];
  }
  std::vector<float> dq(d);
  for (size_t n = 0; n < probs.size(); ++n) {
    if (probs[n] == 0)
      continue;
    int64_t j = row.keys[n];
    float dx = roundTo(p.dtype(), probs[n] * (dp[n] - delta));
    ScoreDerivative by = derivative(row, scaled[n], j);
    float ds = roundTo(p.dtype(), dx * float(by.byScore));
    addRow(dq.data(), ds, key(j), d);
    addRow(&dkSums[j * d], ds, row.q.data(), d);
    addRow(&dvSums[j * dv], probs[n], row.dO.data(), dv);
    eachCapture(by, [&](CaptureSum &sum, int64_t element, double value) {
      sum.values[element] += double(dx * float(value));
    });
  }
  for (int64_t c = 0; c < d; ++c)
    out.dq.values[place(row) * d + c] =
        roundTo(p.dtype(), float(p.scale) * dq[c]);
}

void KeyHead::unfused(GradientValues &out) {
  dkSums.resize(p.sk() * d);
  dvSums.resize(p.sk() * dv);
  eachRow([&](const Row &row) { unfusedRow(row, out); });
  for (int64_t n = 0; n < p.sk() * d; ++n)
    out.dk.values[keyPlace(0) * d + n] =
        roundTo(p.dtype(), float(p.scale) * dkSums[n]);
  for (int64_t n = 0; n < p.sk() * dv; ++n)
    out.dv.values[keyPlace(0) * dv + n] = roundTo(p.dtype(), dvSums[n]);
}

GradientValues run(const GradientProblem &problem,
                   void (KeyHead::*one)(GradientValues &)) {
  const AttentionProblem &p = problem.forward;
  GradientValues out;
  auto resize = [&](GradientArray &array, int64_t rows, int64_t dim) {
    array.values.resize(rows * dim);
    array.rounding.resize(rows);
  };
  int64_t heads = p.batch() * p.kvHeads();
  resize(out.dq, p.batch() * p.heads() * p.sq(), p.headDim());
  resize(out.dk, heads * p.sk(), p.headDim());
  resize(out.dv, heads * p.sk(), p.valueHeadDim());
  std::vector<std::optional<KeyHead>> parts(heads);
  llvm::parallelFor(0, heads, [&](size_t n) {
    parts[n].emplace(problem, n / p.kvHeads(), n % p.kvHeads());
    ((*parts[n]).*one)(out);
  });
  for (size_t g = 0; g < problem.gradients.size(); ++g) {
    const Capture &of = p.captures[problem.gradients[g]];
    int64_t size = elementsOf(of);
    // Of a gradient of 16 bits each term is rounded so, as for dQ and dK,
    // before several are summed up in f32. One alone is the result, whose
    // rounding is counted where that is compared.
    double unit = of.element == Element::F32 ? 0 : unitRoundoff(of.element);
    GradientArray &array = out.captures.emplace_back();
    resize(array, size, 1);
    for (int64_t e = 0; e < size; ++e) {
      double squares = 0, sums = 0, sizes = 0, terms = 0, termSquares = 0;
      for (const std::optional<KeyHead> &part : parts) {
        const CaptureSum &sum = part->captures[g];
        array.values[e] += sum.values[e];
        squares += sum.errors.squares[e];
        sums += sum.errors.sums[e];
        sizes += sum.sizes[e];
        termSquares += sum.termSquares[e];
        terms += double(sum.terms[e]);
      }
      if (terms > 1)
        squares += 4 * unit * unit * termSquares;
      // The sum itself, in f32.
      array.rounding[e] = std::sqrt(squares) + sums +
                          kF32 * std::sqrt(terms) * sizes +
                          0x1p-23 * std::fabs(array.values[e]);
    }
  }
  return out;
}
} // namespace

GradientValues reference::referenceGradients(const GradientProblem &problem) {
  return run(problem, &KeyHead::reference);
}

GradientValues reference::unfusedGradients(const GradientProblem &problem) {
  return run(problem, &KeyHead::unfused);
}

void reference::fillResults(GradientProblem &problem) {
  const AttentionProblem &p = problem.forward;
  std::vector<reference::Row> rows;
  for (int64_t b = 0; b < p.batch(); ++b)
    for (int64_t h = 0; h < p.heads(); ++h)
      for (int64_t i = 0; i < p.sq(); ++i)
        rows.push_back({b, h, i});
  RowValues values = referenceAttention(p, rows);
  problem.o = HostTensor::dense(
      p.dtype(), {p.batch(), p.heads(), p.sq(), p.valueHeadDim()}, p.layout);
  problem.lse.assign(values.lse.begin(), values.lse.end());
  for (size_t at = 0; at < rows.size(); ++at)
    for (int64_t c = 0; c < p.valueHeadDim(); ++c)
      problem.o.set(rows[at].b, rows[at].h, rows[at].i, c,
                    float(values.o[at * p.valueHeadDim() + c]));
}

std::string GradientProblem::describe() const {
  std::string text = forward.describe() + " backward";
  if (!dLse.empty())
    text += " dlse";
  for (int64_t capture : gradients)
    text += " d" + forward.captures[capture].name;
  return text;
}
