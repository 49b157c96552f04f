// attn-simplify-score: after attn-simplify-mask, before convert-attn-to-tile.
// In: score regions as people write them. Out: the same functions with fewer
// operations a score. A score region says what is computed in real numbers, so
// factors may meet and products be added without a rounding between; each
// rewrite costs a unit in the last place at most.
#include "flashc/Dialect/Attn/IR/ScoreBias.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

using namespace mlir;

namespace flashc::attn {
#define GEN_PASS_DEF_ATTNSIMPLIFYSCORE
#include "Attn/AttnPasses.h.inc"

namespace {
/// The f32 constant that `value` is.
std::optional<float> getConstant(Value value) {
  FloatAttr attr;
  if (!value.getType().isF32() || !matchPattern(value, m_Constant(&attr)))
    return std::nullopt;
  return attr.getValue().convertToFloat();
}

/// x * c with c a constant.
struct Scaled {
  Value x;
  float c;
};
std::optional<Scaled> matchScaled(Value value) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product)
    return std::nullopt;
  if (auto c = getConstant(product.getRhs()))
    return Scaled{product.getLhs(), *c};
  if (auto c = getConstant(product.getLhs()))
    return Scaled{product.getRhs(), *c};
  return std::nullopt;
}

Value buildScaled(PatternRewriter &rewriter, Location loc, Value x, float c) {
  Value factor =
      arith::ConstantOp::create(rewriter, loc, rewriter.getF32FloatAttr(c));
  return arith::MulFOp::create(rewriter, loc, x, factor);
}

/// x / c = x * (1 / c): no chip divides as fast as it multiplies.
struct DivideByMultiplying : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    auto c = getConstant(op.getRhs());
    if (!c || !std::isnormal(*c) || !std::isnormal(1 / *c))
      return rewriter.notifyMatchFailure(op, "not by a constant that has a "
                                             "reciprocal");
    rewriter.replaceOp(op,
                       buildScaled(rewriter, op.getLoc(), op.getLhs(), 1 / *c));
    return success();
  }
};

/// (x * c) * d = x * (c * d).
struct MergeFactors : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op,
                                PatternRewriter &rewriter) const override {
    auto outer = matchScaled(op.getResult());
    auto inner = outer ? matchScaled(outer->x) : std::nullopt;
    if (!inner || !std::isnormal(outer->c * inner->c))
      return rewriter.notifyMatchFailure(op, "not two constant factors");
    rewriter.replaceOp(
        op, buildScaled(rewriter, op.getLoc(), inner->x, outer->c * inner->c));
    return success();
  }
};

/// a * b + c = fma(a, b, c), where nothing else reads the product.
struct ContractSum : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    // Of two products, the one with a constant stays apart: it may yet become
    // part of the scale.
    Value sides[] = {op.getLhs(), op.getRhs()};
    if (matchScaled(sides[0]))
      std::swap(sides[0], sides[1]);
    for (auto [side, other] :
         {std::pair{sides[0], sides[1]}, std::pair{sides[1], sides[0]}}) {
      auto product = side.getDefiningOp<arith::MulFOp>();
      if (!product || !product->hasOneUse())
        continue;
      rewriter.replaceOpWithNewOp<math::FmaOp>(op, product.getLhs(),
                                               product.getRhs(), other);
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no product to add");
  }
};

/// x - a * b = fma(-a, b, x) with a the same for a whole head, where nothing
/// else reads the product.
struct ContractDifference : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SubFOp op,
                                PatternRewriter &rewriter) const override {
    auto product = op.getRhs().getDefiningOp<arith::MulFOp>();
    if (!op.getType().isF32() || !product || !product->hasOneUse())
      return rewriter.notifyMatchFailure(op, "no product to subtract");
    Value sides[] = {product.getLhs(), product.getRhs()};
    if (!isSameForHead(sides[0]))
      std::swap(sides[0], sides[1]);
    if (!isSameForHead(sides[0]))
      return rewriter.notifyMatchFailure(op, "each factor changes");
    Value minus = arith::NegFOp::create(rewriter, op.getLoc(), sides[0]);
    rewriter.replaceOpWithNewOp<math::FmaOp>(op, minus, sides[1], op.getLhs());
    return success();
  }
};

/// score(scale * s), where the region only multiplies by c > 0 at first, is
/// score'((scale * c) * s).
struct FoldFactorIntoScale : OpRewritePattern<ForwardOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ForwardOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasScore())
      return rewriter.notifyMatchFailure(op, "no score region");
    Value score = op.getScore().front().getArgument(0);
    if (!score.hasOneUse())
      return rewriter.notifyMatchFailure(op, "the score is used twice");
    auto product = dyn_cast<arith::MulFOp>(*score.user_begin());
    auto scaled = product ? matchScaled(product.getResult()) : std::nullopt;
    if (!scaled || scaled->x != score)
      return rewriter.notifyMatchFailure(op, "no constant factor");
    double scale = op.getScaleValue() * double(scaled->c);
    if (!(scale > 0) || !std::isnormal(float(scale)))
      return rewriter.notifyMatchFailure(op, "not a scale");
    rewriter.replaceOp(product, score);
    rewriter.modifyOpInPlace(op, [&] { op.setScale(llvm::APFloat(scale)); });
    return success();
  }
};

struct AttnSimplifyScore : impl::AttnSimplifyScoreBase<AttnSimplifyScore> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DivideByMultiplying, MergeFactors, ContractSum,
                 ContractDifference, FoldFactorIntoScale>(&getContext());
    SmallVector<Operation *> work;
    getOperation()->walk([&](ForwardOp op) {
      work.push_back(op);
      op.getScore().walk([&](Operation *inner) { work.push_back(inner); });
    });
    if (failed(applyOpPatternsGreedily(
            work, std::move(patterns),
            GreedyRewriteConfig().setStrictness(
                GreedyRewriteStrictness::ExistingAndNewOps))))
      signalPassFailure();
  }
};
} // namespace
} // namespace flashc::attn
