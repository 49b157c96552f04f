//===- Attention.h - Attention in double precision --------------*- C++ -*-===//
#ifndef FLASHC_REFERENCE_ATTENTION_H
#define FLASHC_REFERENCE_ATTENTION_H

#include "flashc/Reference/Problem.h"

namespace flashc::reference {

/// A row of the output.
struct Row {
  int64_t b, h, i;
};

/// Every row of the problem where that takes at most `maxWork` multiply-adds;
/// else a sample of about that work: rows at the edges of tiles of 16, 64 and
/// 128 of some heads first, then rows at random.
std::vector<Row> sampleRows(const AttentionProblem &problem, int64_t maxWork,
                            uint64_t seed = 0);

/// Rows of O and their log-sum-exp, and what an error bound needs.
struct RowValues {
  std::vector<Row> rows;
  /// rows.size() x Dv.
  std::vector<double> o;
  /// In nats; -inf where no key is visible (and O is 0).
  std::vector<double> lse;
  /// Of the fp64 reference only, per row: sqrt(max over d of
  /// sum_j p_j^2 v_jd^2), max over d of sum_j p_j |v_jd|, and the largest
  /// max(scale * sum_d |q_d k_jd|, |score|) of a visible key.
  std::vector<double> norm2, norm1, scoreSize;
};

/// In fp64 from the inputs as they are stored. Keys that are not visible are
/// not read. Source of the formula: `attn.forward`.
RowValues referenceAttention(const AttentionProblem &problem,
                             std::vector<Row> rows);

/// The unfused computation in the problem's precision: S = Q K^T with f32 sums,
/// scaled, softmax in f32, P rounded to the element type, P V with f32 sums, O
/// rounded to the element type.
RowValues unfusedAttention(const AttentionProblem &problem,
                           std::vector<Row> rows);

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_ATTENTION_H
