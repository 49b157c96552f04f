//===- ExpandUpdate.cpp - The running softmax as maps ---------------------===//
//
// Part of tile-expand-softmax: the running softmax with one branch for all that
// follows a new maximum. The formulas are in UpdateExpander.h.
//
//===----------------------------------------------------------------------===//
#include "Rescale.h"
#include "RowProduct.h"
#include "UpdateExpander.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace flashc::tile {

bool isRescaledBy(SoftmaxUpdateOp update, RescaleOp rescale) {
  Operation *def = rescale.getTile().getDefiningOp();
  return rescale->getBlock() == update->getBlock() &&
         rescale.getFactor() == update.getRescale() &&
         (isStraight(update) || !def || def->getBlock() != update->getBlock() ||
          def->isBeforeInBlock(update));
}

namespace {
/// m', l', p and alpha, with everything that depends on alpha under one branch
/// that is taken only where some row's maximum rises.
struct ExpandSoftmaxUpdate : OpRewritePattern<SoftmaxUpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxUpdateOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() != ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "not in base two");
    if (isStraight(op))
      return rewriter.notifyMatchFailure(op, "does without this branch");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    UpdateExpander expander(b, op);
    SmallVector<RescaleOp> rescales;
    for (Operation *user : op.getRescale().getUsers())
      if (auto rescale = dyn_cast<RescaleOp>(user);
          rescale && isRescaledBy(op, rescale))
        rescales.push_back(rescale);
    bool alphaLeaves =
        llvm::range_size(op.getRescale().getUses()) != rescales.size();

    // Where the branch is taken by a test alone, it finds the maximum itself.
    bool tests = getRescale(op) == Rescale::Test;
    Value blockMax, raised, anyRaised;
    if (tests) {
      anyRaised = expander.buildMayRise();
    } else {
      blockMax = expander.buildBlockMax();
      raised = expander.buildRaised(blockMax);
      anyRaised = AnyOp::create(b, b.getI1Type(), raised);
    }
    SmallVector<Value> kept = {op.getRowMax(), op.getRowSum()};
    for (RescaleOp rescale : rescales)
      kept.push_back(rescale.getTile());
    SmallVector<Type> types(ValueRange(kept).getTypes());
    if (alphaLeaves)
      types.push_back(op.getRescale().getType());
    auto branch = scf::IfOp::create(b, types, anyRaised, /*withElse=*/true);
    fillBranch(b, expander, op, branch, kept, blockMax, raised, alphaLeaves);

    Value probs = expander.buildProbs(branch.getResult(0));
    Value newSum = expander.buildNewSum(probs, branch.getResult(1));
    for (auto [i, rescale] : llvm::enumerate(rescales))
      rewriter.replaceOp(rescale, branch.getResult(2 + i));
    Value alpha = op.getRowMax(); // unused unless it leaves
    if (alphaLeaves)
      alpha = branch.getResults().back();
    rewriter.replaceOp(op, {probs, branch.getResult(0), newSum, alpha});
    return success();
  }

private:
  static void fillBranch(ImplicitLocOpBuilder &b, UpdateExpander &expander,
                         SoftmaxUpdateOp op, scf::IfOp branch,
                         ArrayRef<Value> kept, Value blockMax, Value raised,
                         bool alphaLeaves) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    if (!blockMax) {
      blockMax = expander.buildBlockMax();
      raised = expander.buildRaised(blockMax);
    }
    auto [newMax, alpha] = expander.buildNewMax(blockMax, raised);
    SmallVector<Value> results = {newMax};
    for (Value value : kept.drop_front())
      results.push_back(buildRowProduct(b, value, alpha));
    if (alphaLeaves)
      results.push_back(alpha);
    scf::YieldOp::create(b, results);
    b.setInsertionPointToStart(branch.elseBlock());
    results.assign(kept.begin(), kept.end());
    if (alphaLeaves)
      results.push_back(
          buildSplat(b, op.getRescale().getType().getShape(), 1.0f));
    scf::YieldOp::create(b, results);
  }
};
} // namespace

void populateExpandUpdatePatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandSoftmaxUpdate>(patterns.getContext());
}
} // namespace flashc::tile
