// Part of tile-expand-softmax: the numerics of the running softmax, for the CPU
// and the GPU alike.
#include "UpdateExpander.h"

#include "Rescale.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {
namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// |c*m| from which s - m is taken before the product: f32 has 24 bits, so an
/// exponent below this is off by at most 2^-3.
constexpr float kLargeExponent = 4194304.0f; // 2^22

Type i1Rows(Value rows) {
  auto type = cast<RankedTensorType>(rows.getType());
  return type.clone(IntegerType::get(type.getContext(), 1));
}

/// m, or 0 where no key has been seen.
Value buildFiniteMax(ImplicitLocOpBuilder &b, Value rowMax) {
  Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, rowMax,
                                     buildF32(b, -kInfinity));
  return arith::SelectOp::create(b, none, buildF32(b, 0.0f), rowMax);
}
} // namespace

Value buildIsLarge(ImplicitLocOpBuilder &b, Value exponent) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OGE,
                               math::AbsFOp::create(b, exponent),
                               buildF32(b, kLargeExponent));
}

UpdateExpander::UpdateExpander(ImplicitLocOpBuilder &b, SoftmaxUpdateOp op)
    : b(b), op(op), scale(op.getScale().convertToFloat()),
      coversLarge(!getRoles(op)) {}

Value UpdateExpander::buildBlockMax() {
  Value old = op.getRowMax(), offset = op.getOffset();
  auto reduce = [&](Value init) -> Value {
    return ReduceOp::create(b, ReduceKind::Max, op.getScores(), init,
                            /*deferred=*/false);
  };
  if (!offset)
    return reduce(old);
  int64_t rows = cast<RankedTensorType>(old.getType()).getDimSize(0);
  Value ofBlock = reduce(buildSplat(b, rows, -kInfinity));
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value score = arith::AddFOp::create(b, x[1], x[2]);
    return {arith::MaxNumFOp::create(b, x[0], score)};
  };
  return buildMap(b, old.getType(), {old, ofBlock, offset}, {}, body)[0];
}

float UpdateExpander::getSlack() {
  auto lazy = op.getLazyAttr();
  return lazy ? float(lazy.getValueAsDouble() / double(scale)) : 0.0f;
}

Value UpdateExpander::buildMayRise() {
  // Rounding m + t / c moves the limit by less than p has room for.
  SmallVector<Value> inputs = {op.getRowMax()};
  if (op.getOffset())
    inputs.push_back(op.getOffset());
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value limit = arith::AddFOp::create(b, x[0], buildF32(b, getSlack()));
    if (op.getOffset())
      limit = arith::SubFOp::create(b, limit, x[1]);
    return {limit};
  };
  Value limits = buildMap(b, op.getRowMax().getType(), inputs, {}, body)[0];
  return AnyAboveOp::create(b, b.getI1Type(), op.getScores(), limits,
                            /*floor=*/FloatAttr());
}

Value UpdateExpander::buildRaised(Value blockMax) {
  // c * (max - m) > t, as max - m > t / c: the difference of two near numbers
  // is exact, and is NaN (false) where both are -inf.
  float slack = getSlack();
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
  if (!coversLarge)
    return ofProducts;
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

Value UpdateExpander::buildShift(Value newMax) {
  return buildMap(b, newMax.getType(), newMax, {}, [&](ValueRange x) {
    return SmallVector<Value>{
        arith::MulFOp::create(b, buildFiniteMax(b, x[0]), buildF32(b, -scale))};
  })[0];
}

Value UpdateExpander::buildAlpha(Value shift) {
  Value old = op.getRowMax();
  return buildMap(b, old.getType(), {old, shift}, {}, [&](ValueRange x) {
    // Not one fma: M is rounded in p too.
    Value exponent = arith::MulFOp::create(b, x[0], buildF32(b, scale));
    exponent = arith::AddFOp::create(b, exponent, x[1]);
    return SmallVector<Value>{math::Exp2Op::create(b, exponent)};
  })[0];
}

Value UpdateExpander::buildStart(Value shift) {
  if (!op.getOffset())
    return shift;
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    return {math::FmaOp::create(b, x[0], buildF32(b, scale), x[1])};
  };
  return buildMap(b, shift.getType(), {op.getOffset(), shift}, {}, body)[0];
}

/// (s - m', 0) where some row is large, else (s, shift).
scf::IfOp UpdateExpander::buildFarBranch(Value newMax, Value shift,
                                         Value isLarge) {
  Type tile = op.getScores().getType(), rows = newMax.getType();
  Value anyLarge = AnyOp::create(b, b.getI1Type(), isLarge);
  auto branch = scf::IfOp::create(b, TypeRange{tile, rows}, anyLarge,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<Value> inputs = {op.getScores(), newMax};
  if (op.getOffset())
    inputs.push_back(op.getOffset());
  auto differences = buildMap(b, tile, inputs, {}, [&](ValueRange x) {
    Value score = x[0];
    if (op.getOffset())
      score = arith::AddFOp::create(b, score, x[2]);
    return SmallVector<Value>{
        arith::SubFOp::create(b, score, buildFiniteMax(b, x[1]))};
  });
  // A map and not a constant: canonicalization would turn the branch into a
  // select between whole tiles.
  Value none = buildMap(b, rows, shift, {}, [&](ValueRange) {
    return SmallVector<Value>{buildF32(b, 0.0f)};
  })[0];
  scf::YieldOp::create(b, ValueRange{differences[0], none});
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{op.getScores(), buildStart(shift)});
  return branch;
}

Value UpdateExpander::buildExponentials(Value scores, Value start) {
  return buildMap(b, scores.getType(), {scores, start}, {}, [&](ValueRange x) {
    Value exponent = math::FmaOp::create(b, x[0], buildF32(b, scale), x[1]);
    return SmallVector<Value>{math::Exp2Op::create(b, exponent)};
  })[0];
}

Value UpdateExpander::buildProbs(Value newMax) {
  if (!coversLarge)
    return buildExponentials(op.getScores(), buildStart(buildShift(newMax)));
  auto shiftBody = [&](ValueRange x) -> SmallVector<Value> {
    Value shift =
        arith::MulFOp::create(b, buildFiniteMax(b, x[0]), buildF32(b, -scale));
    return {shift, buildIsLarge(b, shift)};
  };
  ResultRange shift =
      buildMap(b, {newMax.getType(), i1Rows(newMax)}, newMax, {}, shiftBody);
  scf::IfOp branch = buildFarBranch(newMax, shift[0], shift[1]);
  // The exponentials stand behind the branch, in one block with the product
  // that reads them, so that a machine level can interleave the two.
  return buildExponentials(branch.getResult(0), branch.getResult(1));
}

Value UpdateExpander::buildNewSum(Value probs, Value scaledSum) {
  return ReduceOp::create(b, ReduceKind::Add, probs, scaledSum,
                          /*deferred=*/true);
}
} // namespace flashc::tile
