//===- ExpandProbs.cpp - The softmax of the backward as maps --------------===//
//
// Part of tile-expand-softmax. With c the scale, L = log2(e) * lse:
//
//   * p = 2^fma(s, c, -L), one operation before the exponential.
//   * From |L| = 2^22 on, rounding L would shift all exponents of a row by 1 or
//     more. There s * scale - lse is taken first, as the forward has rounded
//     s * scale.
//   * A row that sees no key has lse = -inf, and its exponents are -inf.
//
//===----------------------------------------------------------------------===//
#include "UpdateExpander.h"
#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {
namespace {
/// (-L, whether |L| is large) of one row.
SmallVector<Value> buildShift(ImplicitLocOpBuilder &b, Value lse) {
  Value hidden = buildF32(b, -std::numeric_limits<float>::infinity());
  Value shift =
      arith::MulFOp::create(b, lse, buildF32(b, -llvm::numbers::log2ef));
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lse, hidden);
  Value isLarge = buildIsLarge(b, shift);
  Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
  return {arith::SelectOp::create(b, none, hidden, shift),
          arith::SelectOp::create(b, none, no, isLarge)};
}

struct ExpandProbs : OpRewritePattern<ProbsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ProbsOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() != ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "not in base two");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto rows = cast<RankedTensorType>(op.getLse().getType());
    ResultRange shifts =
        buildMap(b, {rows, rows.clone(b.getI1Type())}, op.getLse(), {},
                 [&](ValueRange x) { return buildShift(b, x[0]); });
    float scale = op.getScale().convertToFloat();
    auto body = [&](ValueRange x) -> SmallVector<Value> {
      Value near = math::FmaOp::create(b, x[0], buildF32(b, scale), x[2]);
      Value nats = buildF32(b, float(llvm::numbers::ln2 * scale));
      Value score = arith::MulFOp::create(b, x[0], nats);
      Value far =
          arith::MulFOp::create(b, arith::SubFOp::create(b, score, x[1]),
                                buildF32(b, llvm::numbers::log2ef));
      Value exponent = arith::SelectOp::create(b, x[3], far, near);
      return {math::Exp2Op::create(b, exponent)};
    };
    Value probs = buildMap(b, op.getType(),
                           {op.getScores(), op.getLse(), shifts[0], shifts[1]},
                           {}, body)[0];
    rewriter.replaceOp(op, probs);
    return success();
  }
};

/// p * (dp - delta), and 0 where p is, if that is asked for.
struct ExpandProbsGradient : OpRewritePattern<ProbsGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ProbsGradientOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto body = [&](ValueRange x) -> SmallVector<Value> {
      Value difference = arith::SubFOp::create(b, x[1], x[2]);
      Value product = arith::MulFOp::create(b, x[0], difference);
      if (!op.getGuarded())
        return {product};
      Value zero = buildF32(b, 0.0f);
      Value none =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[0], zero);
      return {arith::SelectOp::create(b, none, zero, product)};
    };
    Value result =
        buildMap(b, op.getType(),
                 {op.getProbs(), op.getGradient(), op.getDelta()}, {}, body)[0];
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void populateExpandProbsPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandProbs, ExpandProbsGradient>(patterns.getContext());
}
} // namespace flashc::tile
