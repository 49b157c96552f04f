//===- Gradients.h - Gradients in double precision --------------*- C++ -*-===//
#ifndef FLASHC_REFERENCE_GRADIENTS_H
#define FLASHC_REFERENCE_GRADIENTS_H

#include "flashc/Reference/Problem.h"

namespace flashc::reference {

/// Inputs of one backward: a forward, its results as they are stored, and the
/// gradients of the loss by them.
struct GradientProblem {
  AttentionProblem forward;
  /// O (B, Hq, Sq, Dv) and LSE (B x Hq x Sq) as a forward stores them: the fp64
  /// ones rounded.
  HostTensor o;
  std::vector<float> lse;
  /// d loss / d O and, unless empty, d loss / d LSE (B x Hq x Sq).
  HostTensor dO;
  std::vector<float> dLse;
  /// Numbers of the captures whose gradients are wanted.
  std::vector<int64_t> gradients;
  bool deterministic = false;

  std::string describe() const;
};

/// Set `o` and `lse` from the forward, in fp64 and then rounded.
void fillResults(GradientProblem &problem);

/// One gradient, in the order batch, head, row, dim, or flat for a capture.
struct GradientArray {
  std::vector<double> values;
  /// Of the fp64 reference only: for each row (each element of a capture) how
  /// far rounding alone may take a result from it, beyond twice the error of
  /// the unfused computation; see `checkGradients`.
  std::vector<double> rounding;
};

struct GradientValues {
  GradientArray dq, dk, dv;
  /// In the order of `gradients`.
  std::vector<GradientArray> captures;
};

/// In fp64 from the inputs as they are stored, O and LSE not read. Pairs that
/// are not visible, or whose probability is 0, are not read. Source of the
/// formulas: `attn.backward`.
GradientValues referenceGradients(const GradientProblem &problem);

/// The unfused computation in the problem's precision: everything in f32 with P
/// and dS rounded to the element type, as are the results.
GradientValues unfusedGradients(const GradientProblem &problem);

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_GRADIENTS_H
