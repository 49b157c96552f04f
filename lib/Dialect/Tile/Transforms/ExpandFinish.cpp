//===- ExpandFinish.cpp - Rescale and finish as maps ----------------------===//
//
// Part of tile-expand-softmax: what is left of the running softmax beside its
// update (ExpandUpdate.cpp).
//
//===----------------------------------------------------------------------===//
#include "Rescale.h"
#include "RowProduct.h"
#include "UpdateExpander.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {

Value buildRowProduct(ImplicitLocOpBuilder &b, Value tile, Value factor) {
  return buildMap(b, tile.getType(), {tile, factor}, {}, [&](ValueRange x) {
    return SmallVector<Value>{arith::MulFOp::create(b, x[0], x[1])};
  })[0];
}

namespace {
/// tile * factor, where no softmax_update has taken the rescale along.
struct ExpandRescale : OpRewritePattern<RescaleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RescaleOp op,
                                PatternRewriter &rewriter) const override {
    auto update = op.getFactor().getDefiningOp<SoftmaxUpdateOp>();
    if (update && isRescaledBy(update, op))
      return rewriter.notifyMatchFailure(op,
                                         "is expanded with its softmax_update");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, buildRowProduct(b, op.getTile(), op.getFactor()));
    return success();
  }
};

/// (1 / l, ln2 * c * m + ln2 * log2(l)) of one row; no keys give 0 and -inf.
SmallVector<Value> buildEnds(ImplicitLocOpBuilder &b, FinishOp op, Value rowMax,
                             Value rowSum) {
  float scale = op.getScale().convertToFloat();
  float nats = float(llvm::numbers::ln2 * scale);
  float noKeys = -std::numeric_limits<float>::infinity();
  bool marksLarge = bool(getRoles(op));
  Value zero = buildF32(b, 0.0f);
  // A sum of 0 is also what too large exponents may leave.
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                     marksLarge ? rowMax : rowSum,
                                     marksLarge ? buildF32(b, noKeys) : zero);
  // Off by one unit in the last place at most, where a division is not exact.
  Value inverse = arith::DivFOp::create(b, buildF32(b, 1.0f), rowSum,
                                        arith::FastMathFlags::afn);
  Value log = arith::MulFOp::create(b, math::Log2Op::create(b, rowSum),
                                    buildF32(b, llvm::numbers::ln2f));
  Value lse = math::FmaOp::create(b, rowMax, buildF32(b, nats), log);
  if (marksLarge) {
    Value exponent = arith::MulFOp::create(b, rowMax, buildF32(b, scale));
    Value isLarge = buildIsLarge(b, exponent);
    Value mark = buildF32(b, std::numeric_limits<float>::quiet_NaN());
    inverse = arith::SelectOp::create(b, isLarge, mark, inverse);
  }
  return {arith::SelectOp::create(b, none, zero, inverse),
          arith::SelectOp::create(b, none, buildF32(b, noKeys), lse)};
}

/// O = acc * (1 / l) and LSE. In kernels with roles, rows whose exponents were
/// too large for their softmax come out as NaN, which they are checked for.
struct ExpandFinish : OpRewritePattern<FinishOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(FinishOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() != ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "not in base two");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type rows = op.getLse().getType();
    Value sum = CollectOp::create(b, rows, op.getRowSum());
    ResultRange ends =
        buildMap(b, {rows, rows}, {op.getRowMax(), sum}, {},
                 [&](ValueRange x) { return buildEnds(b, op, x[0], x[1]); });
    Value output = buildRowProduct(b, op.getAcc(), ends[0]);
    rewriter.replaceOp(op, {output, ends[1]});
    return success();
  }
};
} // namespace

void populateExpandSoftmaxPatterns(RewritePatternSet &patterns) {
  populateExpandUpdatePatterns(patterns);
  populateExpandStraightUpdatePatterns(patterns);
  patterns.add<ExpandRescale, ExpandFinish>(patterns.getContext());
}
} // namespace flashc::tile
