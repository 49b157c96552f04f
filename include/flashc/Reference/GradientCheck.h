//===- GradientCheck.h - The error rule for gradients -----------*- C++ -*-===//
#ifndef FLASHC_REFERENCE_GRADIENTCHECK_H
#define FLASHC_REFERENCE_GRADIENTCHECK_H

#include "flashc/Reference/Gradients.h"

#include "llvm/ADT/ArrayRef.h"

namespace flashc::reference {

/// What a kernel made of a backward.
struct Gradients {
  HostTensor dq, dk, dv;
  /// In the order of the problem's `gradients`, flat, as f32.
  std::vector<std::vector<float>> captures;
};

/// How far gradients are from the fp64 reference.
struct GradientReport {
  bool ok = true;
  /// The first thing that is wrong, with place and both values; empty if ok.
  std::string why;
  /// rms(error) / rms(gradient) of dQ, dK, dV: of the result and of the unfused
  /// computation.
  double rmsError[3] = {}, rmsUnfused[3] = {};
  /// One line with the figures above.
  std::string summary() const;
};

/// Check gradients. Where the reference is exactly 0 (a row that sees no key, a
/// key that no row sees) the result is; nowhere is it NaN unless the reference
/// is. For each row of dQ, dK and dV, with e the error of the unfused
/// computation on it:
///
///     |result_d - ref_d|  <=  2 max_d e_d  +  rounding
///
/// where rounding is, beyond twice the unfused error, one ulp of the result;
/// every P and dS rounded once to the element type as independent errors (2u,
/// over four standard deviations); D with such an error in each element of O,
/// which is what a forward stores; and f32 roundings of scores, dP and D at the
/// size of the terms that they are made of, with a few more for a score
/// function. Elements of captures likewise, with
/// the sum in f32 on top, and rounded to `captureRoundoff` at the end. Over all
/// rows of dQ, dK and dV each, rms(error) is at most 2 rms(unfused error) plus
/// the rms of the rounding.
GradientReport checkGradients(const GradientProblem &problem,
                              const Gradients &result,
                              llvm::ArrayRef<double> captureRoundoff = {});

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_GRADIENTCHECK_H
