// The pattern families behind the passes of the `tile` level.
#ifndef FLASHC_DIALECT_TILE_TRANSFORMS_PATTERNS_H
#define FLASHC_DIALECT_TILE_TRANSFORMS_PATTERNS_H

namespace mlir {
class RewritePatternSet;
}

namespace flashc::tile {
/// `softmax_update` and `finish` in base e to base two.
void populateUseExp2Patterns(mlir::RewritePatternSet &patterns);
/// `mask` to a map; needs nothing.
void populateExpandMaskPatterns(mlir::RewritePatternSet &patterns);
/// `softmax_update` (with the rescales of its accumulators), `rescale` and
/// `finish` to maps, reductions and branches; needs base two.
void populateExpandSoftmaxPatterns(mlir::RewritePatternSet &patterns);
/// `probs` and `probs_gradient` to maps; needs base two.
void populateExpandProbsPatterns(mlir::RewritePatternSet &patterns);
} // namespace flashc::tile

#endif // FLASHC_DIALECT_TILE_TRANSFORMS_PATTERNS_H
