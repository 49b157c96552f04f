// Two forms of tanh(k v), for tile-split-tanh and tile-expand-tanh.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_TANH_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_TANH_H

#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashc::tile {

/// Whether `op` is one that these forms stand for: in f32, and not allowed to
/// be approximate (`afn`), for which the chip has an instruction.
bool isExactTanh(mlir::math::TanhOp op);

/// tanh's argument as k * v: a constant factor, 1 if there is none, becomes
/// part of the coefficients. With y = v^2:
///
///   * |k v| <= 5/8: v * (k + c1 y + c2 y^2 + c3 y^3 + c4 y^4), seven
///     operations. Minimax with the first coefficient fixed, relative error
///     2^-22.9.
///   * |k v| <= 13/32: v * (c0 + c1 y + c2 y^2 + c3 y^3), which takes a factor
///     of the result into its coefficients. Minimax, relative error 2^-23.
///   * everywhere: v * P(y) / Q(y) with degrees 3 and 4, v kept where |k v| <=
///     7.9 (tanh is 1 - 2^-21.8 there), thirteen operations and a reciprocal.
///     Minimax, relative error 2^-22.8. NaN stays.
///
/// Rounded, both are within 2^-21 of the result, and within 2^-20.7 where the
/// division is by a reciprocal that is off by a unit in the last place.
class TanhArgument {
public:
  explicit TanhArgument(mlir::math::TanhOp op);

  mlir::Value getBase() const { return base; }
  double getFactor() const { return factor; }
  /// |v| up to which the polynomial holds.
  float getPolynomialEnd() const;
  mlir::Value buildPolynomial(mlir::ImplicitLocOpBuilder &b) const;
  /// |v| up to which the short polynomial holds.
  float getShortEnd() const;
  /// c * tanh(k v) + start for an element `v`.
  mlir::Value buildShort(mlir::ImplicitLocOpBuilder &b, mlir::Value v, double c,
                         mlir::Value start) const;
  mlir::Value buildRational(mlir::ImplicitLocOpBuilder &b) const;
  /// 1 - 2 / (1 + e^(2 k v)): five operations, of which two are on the unit for
  /// exponentials. Off by 2^-22 absolutely, as is a result near 1.
  mlir::Value buildExponential(mlir::ImplicitLocOpBuilder &b) const;

private:
  mlir::Value base; // v
  double factor;    // k
};

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_TANH_H
