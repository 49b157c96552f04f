// What the expansions of softmax_update, rescale and finish share.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_ROWPRODUCT_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_ROWPRODUCT_H

#include "flashc/Dialect/Tile/IR/BuildMap.h"

namespace mlir {
class RewritePatternSet;
}

namespace flashc::tile {

/// tile * factor, row by row; `tile` may have rank 1.
mlir::Value buildRowProduct(mlir::ImplicitLocOpBuilder &b, mlir::Value tile,
                            mlir::Value factor);

/// Whether `update` is expanded without the one branch for all that follows a
/// new maximum: in kernels whose roles say so, and in their first key block.
bool isStraight(SoftmaxUpdateOp update);

/// Whether `rescale` is expanded with `update`, which it stands beside: under
/// the branch that raises the maximum, if the accumulator exists before
/// `update` does, or in its own place where `update` is straight.
bool isRescaledBy(SoftmaxUpdateOp update, RescaleOp rescale);

/// softmax_update, with the rescales that go along.
void populateExpandUpdatePatterns(mlir::RewritePatternSet &patterns);
/// The same for those that are straight.
void populateExpandStraightUpdatePatterns(mlir::RewritePatternSet &patterns);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_ROWPRODUCT_H
