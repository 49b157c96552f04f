//===- ExpandStraightUpdate.cpp - The running softmax without a branch ----===//
//
// Part of tile-expand-softmax, for kernels with roles. Where these say `late`
// or `always`, maximum, alpha and sum are computed straight on, and the
// accumulator follows behind the exponentials, so that the product it comes
// from may still be under way; with `late` that stands under a branch. The
// first key block, which has nothing to rescale, is done like this in any case.
// The formulas are in UpdateExpander.h.
//
//===----------------------------------------------------------------------===//
#include "Rescale.h"
#include "RowProduct.h"
#include "UpdateExpander.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace flashc::tile {
namespace {
/// Whether every row of `update` starts here: m = -inf and l = 0.
bool isFirst(SoftmaxUpdateOp update) {
  return matchPattern(update.getRowMax(), m_NegInfFloat()) &&
         matchPattern(update.getRowSum(), m_AnyZeroFloat());
}

/// m where it is near enough, else the maximum with this block.
Value buildLazyMax(ImplicitLocOpBuilder &b, SoftmaxUpdateOp op, Value blockMax,
                   Value raised) {
  Value old = op.getRowMax();
  return buildMap(
      b, old.getType(), {old, blockMax, raised}, {}, [&](ValueRange x) {
        return SmallVector<Value>{arith::SelectOp::create(b, x[2], x[1], x[0])};
      })[0];
}

/// tile * alpha under a branch: alpha is 1 on rows that are not raised.
Value buildLateProduct(ImplicitLocOpBuilder &b, Value tile, Value alpha,
                       Value anyRaised) {
  auto branch = scf::IfOp::create(b, tile.getType(), anyRaised,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, buildRowProduct(b, tile, alpha));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, tile);
  return branch.getResult(0);
}

/// m', l', p and alpha of every row without a branch, and the rescales in their
/// own places.
struct ExpandStraightUpdate : OpRewritePattern<SoftmaxUpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxUpdateOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() != ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "not in base two");
    if (!isStraight(op))
      return rewriter.notifyMatchFailure(op, "rescales under one branch");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    UpdateExpander expander(b, op);
    bool first = isFirst(op), late = getRescale(op) == Rescale::Late;
    Value newMax = expander.buildBlockMax(), anyRaised;
    if (!first && (late || op.getLazyAttr())) {
      Value raised = expander.buildRaised(newMax);
      if (late)
        anyRaised = AnyOp::create(b, b.getI1Type(), raised);
      if (op.getLazyAttr())
        newMax = buildLazyMax(b, op, newMax, raised);
    }
    Value shift = expander.buildShift(newMax);
    Value alpha = expander.buildAlpha(shift), sum = op.getRowSum();
    if (!first)
      sum = buildRowProduct(b, sum, alpha);
    Value probs =
        expander.buildExponentials(op.getScores(), expander.buildStart(shift));
    Value newSum = expander.buildNewSum(probs, sum);
    for (Operation *user :
         llvm::make_early_inc_range(op.getRescale().getUsers())) {
      auto rescale = dyn_cast<RescaleOp>(user);
      if (!rescale || !isRescaledBy(op, rescale))
        continue;
      b.setInsertionPoint(rescale);
      Value tile = rescale.getTile();
      rewriter.replaceOp(rescale,
                         anyRaised ? buildLateProduct(b, tile, alpha, anyRaised)
                                   : buildRowProduct(b, tile, alpha));
    }
    rewriter.replaceOp(op, {probs, newMax, newSum, alpha});
    return success();
  }
};
} // namespace

bool isStraight(SoftmaxUpdateOp update) {
  Rescale rescale = getRescale(update);
  return getRoles(update) &&
         ((rescale != Rescale::Lazy && rescale != Rescale::Test) ||
          isFirst(update));
}

void populateExpandStraightUpdatePatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandStraightUpdate>(patterns.getContext());
}
} // namespace flashc::tile
