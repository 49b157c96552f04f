//===- ExpandUpdate.cpp - The running softmax as maps ---------------------===//
//
// Part of tile-expand-softmax: the numerics of the running softmax, for the CPU
// and the GPU alike. With c the scale, m the row maximum in raw scores and M
// the rounded product c*m:
//
//   * p = 2^fma(s, c, -M), one operation before the exponential. Rounding c*m
//     shifts all exponents of a row alike, so alpha is built from the same M
//     and the shift cancels in O = acc / l.
//   * From |M| = 2^22 on, the shift itself (half a unit in M's last place)
//   would
//     be of the order of 1: there s - m is taken first and M is 0. The branch
//     is for a whole group of rows and both sides agree on rows with a small M.
//   * A row that has seen no key has m = -inf; its exponents read m as 0.
//   * The sums l are deferred: each part is scaled by alpha and added to alone.
//
//===----------------------------------------------------------------------===//
#include "RowProduct.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {

bool isRescaledBy(SoftmaxUpdateOp update, RescaleOp rescale) {
  Operation *def = rescale.getTile().getDefiningOp();
  return rescale->getBlock() == update->getBlock() &&
         rescale.getFactor() == update.getRescale() &&
         (!def || def->getBlock() != update->getBlock() ||
          def->isBeforeInBlock(update));
}

namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// |c*m| from which s - m is taken before the product: f32 has 24 bits, so an
/// exponent below this is off by at most 2^-3.
constexpr float kLargeExponent = 4194304.0f; // 2^22

Type i1Rows(Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  return type.clone(IntegerType::get(type.getContext(), 1));
}

Value buildIsLarge(ImplicitLocOpBuilder &b, Value exponent) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGE,
                               math::AbsFOp::create(b, exponent),
                               buildF32(b, kLargeExponent));
}

/// m, or 0 where no key has been seen.
Value buildFiniteMax(ImplicitLocOpBuilder &b, Value rowMax) {
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, rowMax,
                                     buildF32(b, -kInfinity));
  return arith::SelectOp::create(b, none, buildF32(b, 0.0f), rowMax);
}

class UpdateExpander {
public:
  UpdateExpander(ImplicitLocOpBuilder &b, SoftmaxUpdateOp op)
      : b(b), op(op), scale(op.getScale().convertToFloat()) {}

  /// The rows whose maximum rises, given the maximum with this block.
  Value buildRaised(Value blockMax);
  /// (m', alpha) of the raised rows; the others keep m and have alpha = 1.
  std::pair<Value, Value> buildNewMax(Value blockMax, Value raised);
  /// 2^(c * (s - m')).
  Value buildProbs(Value newMax);

private:
  Value buildAlphaExponent(Value oldMax, Value newMax);
  ImplicitLocOpBuilder &b;
  SoftmaxUpdateOp op;
  float scale;
};

Value UpdateExpander::buildRaised(Value blockMax) {
  // c * (max - m) > t, as max - m > t / c: the difference of two near numbers
  // is exact, and is NaN (false) where both are -inf.
  float slack = 0.0f;
  if (auto lazy = op.getLazyAttr())
    slack = float(lazy.getValueAsDouble() / double(scale));
  Value old = op.getRowMax();
  return buildMap(b, i1Rows(old), {old, blockMax}, {}, [&](ValueRange x) {
    Value left = x[1], right = x[0];
    if (slack > 0.0f) {
      left = arith::SubFOp::create(b, x[1], x[0]);
      right = buildF32(b, slack);
    }
    return SmallVector<Value>{
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, left, right)};
  })[0];
}

/// c*m - c*m' in the products that p is built from, or c * (m - m') where those
/// are too coarse.
Value UpdateExpander::buildAlphaExponent(Value oldMax, Value newMax) {
  Value c = buildF32(b, scale);
  Value oldExponent = arith::MulFOp::create(b, oldMax, c);
  Value newExponent = arith::MulFOp::create(b, newMax, c);
  Value ofProducts = arith::SubFOp::create(b, oldExponent, newExponent);
  Value ofScores =
      arith::MulFOp::create(b, arith::SubFOp::create(b, oldMax, newMax), c);
  return arith::SelectOp::create(b, buildIsLarge(b, newExponent), ofScores,
                                 ofProducts);
}

std::pair<Value, Value> UpdateExpander::buildNewMax(Value blockMax,
                                                    Value raised) {
  Value old = op.getRowMax();
  Type rows = old.getType();
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value newMax = arith::SelectOp::create(b, x[2], x[1], x[0]);
    Value alpha = math::Exp2Op::create(b, buildAlphaExponent(x[0], x[1]));
    alpha = arith::SelectOp::create(b, x[2], alpha, buildF32(b, 1.0f));
    return {newMax, alpha};
  };
  ResultRange results =
      buildMap(b, {rows, rows}, {old, blockMax, raised}, {}, body);
  return {results[0], results[1]};
}

Value UpdateExpander::buildProbs(Value newMax) {
  auto rows = cast<RankedTensorType>(newMax.getType());
  Type tile = op.getScores().getType();
  auto shiftBody = [&](ValueRange x) -> SmallVector<Value> {
    Value shift =
        arith::MulFOp::create(b, buildFiniteMax(b, x[0]), buildF32(b, -scale));
    return {shift, buildIsLarge(b, shift)};
  };
  ResultRange shift =
      buildMap(b, {Type(rows), i1Rows(newMax)}, newMax, {}, shiftBody);
  Value anyLarge = AnyOp::create(b, b.getI1Type(), shift[1]);
  auto branch = scf::IfOp::create(b, TypeRange{tile, rows}, anyLarge,
                                  /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    auto differences =
        buildMap(b, tile, {op.getScores(), newMax}, {}, [&](ValueRange x) {
          return SmallVector<Value>{
              arith::SubFOp::create(b, x[0], buildFiniteMax(b, x[1]))};
        });
    // A map and not a constant: canonicalization would turn the branch into a
    // select between whole tiles.
    Value none = buildMap(b, Type(rows), shift[0], {}, [&](ValueRange) {
      return SmallVector<Value>{buildF32(b, 0.0f)};
    })[0];
    scf::YieldOp::create(b, ValueRange{differences[0], none});
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, ValueRange{op.getScores(), shift[0]});
  }
  // The exponentials stand behind the branch, in one block with the product
  // that reads them, so that a machine level can interleave the two.
  return buildMap(b, tile, branch.getResults(), {}, [&](ValueRange x) {
    Value exponent = math::FmaOp::create(b, x[0], buildF32(b, scale), x[1]);
    return SmallVector<Value>{math::Exp2Op::create(b, exponent)};
  })[0];
}

/// m', l', p and alpha, with everything that depends on alpha under one branch
/// that is taken only where some row's maximum rises.
struct ExpandSoftmaxUpdate : OpRewritePattern<SoftmaxUpdateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxUpdateOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getBase() != ExpBase::Two)
      return rewriter.notifyMatchFailure(op, "not in base two");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    UpdateExpander expander(b, op);
    SmallVector<RescaleOp> rescales;
    for (Operation *user : op.getRescale().getUsers())
      if (auto rescale = dyn_cast<RescaleOp>(user);
          rescale && isRescaledBy(op, rescale))
        rescales.push_back(rescale);
    bool alphaLeaves =
        llvm::range_size(op.getRescale().getUses()) != rescales.size();

    Value blockMax = ReduceOp::create(b, ReduceKind::Max, op.getScores(),
                                      op.getRowMax(), /*deferred=*/false);
    Value raised = expander.buildRaised(blockMax);
    Value anyRaised = AnyOp::create(b, b.getI1Type(), raised);
    SmallVector<Value> kept = {op.getRowMax(), op.getRowSum()};
    for (RescaleOp rescale : rescales)
      kept.push_back(rescale.getTile());
    SmallVector<Type> types(ValueRange(kept).getTypes());
    if (alphaLeaves)
      types.push_back(op.getRescale().getType());
    auto branch = scf::IfOp::create(b, types, anyRaised, /*withElse=*/true);
    fillBranch(b, expander, op, branch, kept, blockMax, raised, alphaLeaves);

    Value probs = expander.buildProbs(branch.getResult(0));
    Value newSum =
        ReduceOp::create(b, ReduceKind::Add, probs, branch.getResult(1),
                         /*deferred=*/true);
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
