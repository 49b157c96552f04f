//===- Check.h - The error rule ---------------------------------*- C++ -*-===//
//
// docs: ../shared/style.md, "Numbers": the error against the fp64 reference is
// at most twice that of the unfused computation in the same precision, plus
// rounding. No tolerance is guessed: the rounding is derived here.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_REFERENCE_CHECK_H
#define FLASHC_REFERENCE_CHECK_H

#include "flashc/Reference/Attention.h"

namespace flashc::reference {

/// How far a result is from the fp64 reference, beside the unfused computation.
struct ErrorReport {
  bool ok = true;
  /// The first thing that is wrong, with place and both values; empty if ok.
  std::string why;
  int64_t rowsChecked = 0;
  /// Largest |error| of O, and rms(error) / rms(O), of the result and of the
  /// unfused computation; largest |error| of LSE likewise.
  double maxError = 0, maxUnfused = 0;
  double rmsError = 0, rmsUnfused = 0;
  double lseError = 0, lseUnfused = 0;
  /// One line with the figures above.
  std::string summary() const;
};

/// Check `o` (B, Hq, Sq, Dv) and, unless null, `lse` (B x Hq x Sq, contiguous).
/// On every row: no NaN but where the formula gives one, and rows without a
/// visible key have O = 0 and LSE = -inf exactly. On the rows that
/// `sampleRows(problem, maxWork)` takes, with u the unit roundoff of the
/// element type, e the error of the unfused computation on the same row, and p,
/// v, x as in `attn.forward`:
///
///     |O_d - ref_d|  <=  2 max_d e_d  +  2u max_d |ref_d|  +  2u max_d |p
///     v_d|_2  +  r max_d |p v_d|_1 |LSE - ref|    <=  2 e          +  2^-23
///     |ref|       +  r r               =  2^-22 (1 + max_j scale |q|.|k_j|)
///
/// In words, beyond twice the unfused error: one ulp of the result; every p_j
/// rounded once to the element type, as independent errors (their standard
/// deviation is at most 0.41u, so 2u is over four of them); and one f32
/// rounding each of the dot product, the scale, the difference to the maximum
/// and the exponential, at the size of the terms they are made of. Over all
/// checked rows together, rms(error) is at most 2 rms(unfused error) plus the
/// rms of the rounding above.
ErrorReport checkError(const AttentionProblem &problem, const HostTensor &o,
                       const float *lse, int64_t maxWork = 1 << 25);

} // namespace flashc::reference

#endif // FLASHC_REFERENCE_CHECK_H
