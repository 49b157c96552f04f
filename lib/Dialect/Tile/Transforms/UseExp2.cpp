//===- UseExp2.cpp - tile-use-exp2 ----------------------------------------===//
//
// Between convert-attn-to-tile and tile-expand-softmax. In: running softmax ops
// in base e. Out: the same in base two.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEUSEEXP2
#include "Tile/TilePasses.h.inc"

namespace {
/// B^(c*x) with B = e is 2^((c*log2 e)*x).
template <typename OpTy> struct FoldLog2eIntoScale : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() == ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "already in base two");
    float scale = op.getScale().convertToFloat();
    rewriter.modifyOpInPlace(op, [&] {
      op.setBase(ExpBase::Two);
      op.setScale(llvm::APFloat(float(scale * llvm::numbers::log2e)));
    });
    return success();
  }
};

struct TileUseExp2 : impl::TileUseExp2Base<TileUseExp2> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateUseExp2Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

void populateUseExp2Patterns(RewritePatternSet &patterns) {
  patterns.add<FoldLog2eIntoScale<SoftmaxUpdateOp>,
               FoldLog2eIntoScale<FinishOp>, FoldLog2eIntoScale<ProbsOp>>(
      patterns.getContext());
}
} // namespace flashc::tile
