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

/// Whether `rescale` is expanded with `update`, which it stands beside: with
/// `lazy`, where the accumulator exists before `update` does, so that its
/// product can go under the branch that raises the maximum; otherwise always.
bool isRescaledBy(SoftmaxUpdateOp update, RescaleOp rescale);

/// softmax_update, with the rescales that go along.
void populateExpandUpdatePatterns(mlir::RewritePatternSet &patterns);
/// The same for kernels whose roles say `late` or `always`.
void populateExpandStraightUpdatePatterns(mlir::RewritePatternSet &patterns);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_ROWPRODUCT_H
