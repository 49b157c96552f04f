//===- ExpandSoftmax.cpp - tile-expand-softmax ----------------------------===//
//
// The last pass of the tile level. In: kernels with whole softmax ops in base
// two. Out: the same with tile.map, tile.reduce, tile.any, tile.collect and
// scf.if. The formulas are in UpdateExpander.h, ExpandFinish.cpp and
// ExpandMask.cpp.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEEXPANDSOFTMAX
#include "Tile/TilePasses.h.inc"

namespace {
template <typename OpTy> WalkResult checkBase(OpTy op) {
  if (op.getBase() == ExpBase::Two)
    return WalkResult::advance();
  op.emitOpError(
      "is in base e, but tile-expand-softmax writes out base two only; "
      "run tile-use-exp2 before it");
  return WalkResult::interrupt();
}

struct TileExpandSoftmax : impl::TileExpandSoftmaxBase<TileExpandSoftmax> {
  using Base::Base;
  void runOnOperation() override {
    auto check = [](Operation *op) {
      if (auto update = dyn_cast<SoftmaxUpdateOp>(op))
        return checkBase(update);
      if (auto finish = dyn_cast<FinishOp>(op))
        return checkBase(finish);
      if (auto probs = dyn_cast<ProbsOp>(op))
        return checkBase(probs);
      return WalkResult::advance();
    };
    if (getOperation()->walk(check).wasInterrupted())
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    populateExpandMaskPatterns(patterns);
    populateExpandSoftmaxPatterns(patterns);
    populateExpandProbsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace flashc::tile
