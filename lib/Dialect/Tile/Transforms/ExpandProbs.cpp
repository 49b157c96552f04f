//===- ExpandProbs.cpp - The softmax of the backward as maps --------------===//
//
// Part of tile-expand-softmax.
//
//===----------------------------------------------------------------------===//
#include "UpdateExpander.h"
#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {
namespace {
/// What a row's scores are compared with: L, and for a row that sees no key
/// +inf, from which each score is infinitely far.
Value buildLimit(ImplicitLocOpBuilder &b, Value lse) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, lse,
                                       buildF32(b, -infinity));
  return arith::SelectOp::create(b, isNone, buildF32(b, infinity), lse);
}

/// 2^(log2(e) * (c * s - L)). The difference is taken first: a forward's L is
/// c * m + log l with the product rounded as it is here, so that what cancels
/// does so exactly, however large. Where L comes as an exponent it is
/// 2^(log2(e) * c * s + L).
struct ExpandProbs : OpRewritePattern<ProbsOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ProbsOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() != ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "not in base two");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    if (op.getAsExponent()) {
      auto add = [&](ValueRange x) -> SmallVector<Value> {
        Value scale = buildF32(b, op.getScale().convertToFloat());
        Value exponent = math::FmaOp::create(b, x[0], scale, x[1]);
        return {math::Exp2Op::create(b, exponent)};
      };
      rewriter.replaceOp(
          op,
          buildMap(b, op.getType(), {op.getScores(), op.getLse()}, {}, add)[0]);
      return success();
    }
    Value limits =
        buildMap(b, op.getLse().getType(), op.getLse(), {}, [&](ValueRange x) {
          return SmallVector<Value>{buildLimit(b, x[0])};
        })[0];
    float nats = float(llvm::numbers::ln2 * op.getScale().convertToDouble());
    auto body = [&](ValueRange x) -> SmallVector<Value> {
      Value score = x[0];
      if (nats != 1.0f)
        score = arith::MulFOp::create(b, score, buildF32(b, nats));
      Value distance = arith::SubFOp::create(b, score, x[1]);
      Value exponent = arith::MulFOp::create(
          b, distance, buildF32(b, llvm::numbers::log2ef));
      return {math::Exp2Op::create(b, exponent)};
    };
    Value probs =
        buildMap(b, op.getType(), {op.getScores(), limits}, {}, body)[0];
    rewriter.replaceOp(op, probs);
    return success();
  }
};

/// Starts the product that `gradient` is, if it is one that starts at zero, at
/// -delta: dp - delta then comes for nothing, and delta lives no longer than
/// the product's beginning.
bool startAtDelta(PatternRewriter &rewriter, Value gradient, Value delta) {
  auto dot = gradient.getDefiningOp<DotOp>();
  if (!dot || !dot->hasOneUse() ||
      !matchPattern(dot.getAcc(), m_AnyZeroFloat()))
    return false;
  Operation *loaded = delta.getDefiningOp();
  if (loaded &&
      (loaded->getBlock() != dot->getBlock() || !loaded->isBeforeInBlock(dot)))
    return false;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(dot);
  ImplicitLocOpBuilder b(dot.getLoc(), rewriter);
  Value start = buildMap(
      b, dot.getAcc().getType(), {dot.getAcc(), delta}, {}, [&](ValueRange x) {
        return SmallVector<Value>{arith::NegFOp::create(b, x[1])};
      })[0];
  rewriter.modifyOpInPlace(dot, [&] { dot.getAccMutable().assign(start); });
  return true;
}

/// The 16-bit tile that `probs` widens, if it does nothing else: then each
/// element is widened where it is used, which takes no registers for the rest.
Value findRounded(Value probs) {
  auto map = probs.getDefiningOp<MapOp>();
  if (!map || map.getInputs().size() != 1 || !map.getOrigin().empty() ||
      map.getResults().size() != 1)
    return {};
  Block &body = map.getBody().front();
  auto wide =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::ExtFOp>();
  return wide && wide.getIn() == body.getArgument(0) ? map.getInputs().front()
                                                     : Value();
}

/// p * (dp - delta), and 0 where p is, if that is asked for.
struct ExpandProbsGradient : OpRewritePattern<ProbsGradientOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ProbsGradientOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value rounded = findRounded(op.getProbs());
    SmallVector<Value> inputs = {rounded ? rounded : op.getProbs(),
                                 op.getGradient()};
    if (!startAtDelta(rewriter, op.getGradient(), op.getDelta()))
      inputs.push_back(op.getDelta());
    auto body = [&](ValueRange x) -> SmallVector<Value> {
      Value difference = x[1];
      if (inputs.size() == 3)
        difference = arith::SubFOp::create(b, difference, x[2]);
      Value p = x[0];
      if (rounded)
        p = arith::ExtFOp::create(b, b.getF32Type(), p);
      Value product = arith::MulFOp::create(b, p, difference);
      if (!op.getGuarded())
        return {product};
      Value zero = buildF32(b, 0.0f);
      Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, p, zero);
      return {arith::SelectOp::create(b, none, zero, product)};
    };
    Value result = buildMap(b, op.getType(), inputs, {}, body)[0];
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void populateExpandProbsPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandProbs, ExpandProbsGradient>(patterns.getContext());
}
} // namespace flashc::tile
