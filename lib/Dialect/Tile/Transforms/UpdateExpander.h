// The parts of a running softmax, from which its expansions are put together.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_UPDATEEXPANDER_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_UPDATEEXPANDER_H

#include "RowProduct.h"

namespace flashc::tile {

/// Builds parts of one softmax_update in base two. With c the scale, m the row
/// maximum in raw scores and M the rounded product c*m:
///
///   * p = 2^fma(s, c, -M), or 2^fma(s, c, c*h - M), one operation before the
///   exponential. Rounding c*m
///     shifts all exponents of a row alike, so alpha is built from the same M
///     and the shift cancels in O = acc / l.
///   * From |M| = 2^22 on, the shift itself (half a unit in M's last place)
///     would be of the order of 1: there s - m is taken first and M is 0. The
///     branch is for a whole group of rows and both sides agree on rows with a
///     small M. Kernels with roles go without: tile.finish marks such rows.
///   * A row that has seen no key has m = -inf; its exponents read m as 0.
class UpdateExpander {
public:
  UpdateExpander(mlir::ImplicitLocOpBuilder &b, SoftmaxUpdateOp op);

  /// max(m, rowmax(s)).
  mlir::Value buildBlockMax();
  /// The rows whose maximum rises, given the maximum with this block.
  mlir::Value buildRaised(mlir::Value blockMax);
  /// Whether some row's maximum may rise; where it does, it is true.
  mlir::Value buildMayRise();
  /// (m', alpha) of the raised rows; the others keep m and have alpha = 1.
  std::pair<mlir::Value, mlir::Value> buildNewMax(mlir::Value blockMax,
                                                  mlir::Value raised);
  /// How far a score may be above m.
  float getSlack();
  /// 2^(c * (s - m')).
  mlir::Value buildProbs(mlir::Value newMax);
  /// l + rowsum(p), deferred: each part is scaled by alpha and added to alone.
  mlir::Value buildNewSum(mlir::Value probs, mlir::Value scaledSum);

  /// -M' of every row.
  mlir::Value buildShift(mlir::Value newMax);
  /// 2^(M - M'), exactly 1 where m' = m and 0 where m = -inf, for every row.
  mlir::Value buildAlpha(mlir::Value shift);
  /// c*h - M' of every row: the shift, where there is no offset h.
  mlir::Value buildStart(mlir::Value shift);
  /// 2^fma(s, c, start).
  mlir::Value buildExponentials(mlir::Value scores, mlir::Value start);

private:
  mlir::Value buildAlphaExponent(mlir::Value oldMax, mlir::Value newMax);
  mlir::scf::IfOp buildFarBranch(mlir::Value newMax, mlir::Value shift,
                                 mlir::Value isLarge);
  mlir::ImplicitLocOpBuilder &b;
  SoftmaxUpdateOp op;
  float scale;
  bool coversLarge; // whether exponents from 2^22 on are taken care of
};

/// Whether |c*m| is so large that s - m has to be taken before the product.
mlir::Value buildIsLarge(mlir::ImplicitLocOpBuilder &b, mlir::Value exponent);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_UPDATEEXPANDER_H
