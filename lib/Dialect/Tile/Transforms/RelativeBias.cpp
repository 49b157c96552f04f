//===- RelativeBias.cpp - tile-relative-bias ------------------------------===//
//
// After tile-overlap, which knows score functions by their one map. In: key
// loops whose scores are s + slope * (j - i) or s + slope * |j - i|. Out: sums
// that count the keys of a block from its first one, and what is the same for a
// row as the offset of its softmax.
//
// Counted from the whole sequence's keys, a score needs its distance as a
// float of its own. From the block's, a column's distance is the same in every
// block and row. And the maxima that are tested for stand near zero.
//
//===----------------------------------------------------------------------===//
#include "DistanceBias.h"
#include "Rescale.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILERELATIVEBIAS
#include "Tile/TilePasses.h.inc"

namespace {
Value buildFloat(ImplicitLocOpBuilder &b, Value index) {
  Value number = arith::IndexCastOp::create(b, b.getI32Type(), index);
  return arith::SIToFPOp::create(b, b.getF32Type(), number);
}

/// Rewrites one update and the map that its scores come from, perhaps through a
/// mask, which takes -inf whatever a row's offset is.
class Rewriter {
public:
  Rewriter(SoftmaxUpdateOp update, MaskOp mask, DistanceBias bias)
      : b(bias.map.getLoc(), bias.map), update(update), mask(mask), bias(bias) {
  }
  void run();

private:
  Type rows() { return update.getRowMax().getType(); }
  int64_t keys() { return update.getScores().getType().getDimSize(1); }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value buildIsCrossed();
  std::pair<Value, Value> buildRowTerms();
  Value buildSums(Value slopes);

  ImplicitLocOpBuilder b;
  SoftmaxUpdateOp update;
  MaskOp mask;
  DistanceBias bias;
};

/// Whether some row's own key is inside the block, so that distances on both
/// sides of it are.
Value Rewriter::buildIsCrossed() {
  Value last = arith::AddIOp::create(b, bias.key(), index(keys() - 1));
  Type type = cast<RankedTensorType>(rows()).clone(b.getI1Type());
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value begins =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, bias.key(), x[1]);
    Value ends =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x[1], last);
    return {arith::AndIOp::create(b, begins, ends)};
  };
  Value crossed = buildMap(b, type, update.getRowMax(), bias.row(), body)[0];
  return AnyOp::create(b, b.getI1Type(), crossed);
}

/// Each row's slope, with the sign of its side, and its offset.
std::pair<Value, Value> Rewriter::buildRowTerms() {
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value slope = bias.slope;
    if (bias.isAbsolute) {
      Value isAfter =
          arith::CmpIOp::create(b, arith::CmpIPredicate::sle, x[1], bias.key());
      Value minus = arith::NegFOp::create(b, slope);
      slope = arith::SelectOp::create(b, isAfter, slope, minus);
    }
    Value distance = buildFloat(b, arith::SubIOp::create(b, bias.key(), x[1]));
    return {slope, arith::MulFOp::create(b, slope, distance)};
  };
  ResultRange terms =
      buildMap(b, {rows(), rows()}, update.getRowMax(), bias.row(), body);
  return {terms[0], terms[1]};
}

/// s + slope * (j - j0); `slopes` are rows, or the scalar.
Value Rewriter::buildSums(Value slopes) {
  SmallVector<Value> inputs = {bias.map.getInputs().front()};
  if (bias.isAbsolute)
    inputs.push_back(slopes);
  Value origin[] = {bias.row(), index(0)};
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value slope = bias.isAbsolute ? x[1] : slopes;
    return {math::FmaOp::create(b, slope, buildFloat(b, x.back()), x[0])};
  };
  return buildMap(b, bias.map.getResultTypes(), inputs, origin, body)[0];
}

void Rewriter::run() {
  Value sums, offset;
  if (bias.isAbsolute) {
    Type tile = bias.map.getResult(0).getType();
    auto branch = scf::IfOp::create(b, TypeRange{tile, rows()},
                                    buildIsCrossed(), /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value whole = b.clone(*bias.map)->getResult(0);
    // A map and not a constant, which would make rows of registers' copies.
    Value none = buildMap(b, rows(), update.getRowMax(), {}, [&](ValueRange) {
      return SmallVector<Value>{buildF32(b, 0.0f)};
    })[0];
    scf::YieldOp::create(b, ValueRange{whole, none});
    b.setInsertionPointToStart(branch.elseBlock());
    auto [slopes, ofRow] = buildRowTerms();
    scf::YieldOp::create(b, ValueRange{buildSums(slopes), ofRow});
    sums = branch.getResult(0);
    offset = branch.getResult(1);
  } else {
    offset = buildRowTerms().second;
    sums = buildSums(bias.slope);
  }
  bias.map.getResult(0).replaceAllUsesWith(sums);
  bias.map.erase();
  update.getOffsetMutable().assign(offset);
}

struct TileRelativeBias : impl::TileRelativeBiasBase<TileRelativeBias> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](SoftmaxUpdateOp update) {
      if (!getRoles(update) || !isa<scf::ForOp>(update->getParentOp()) ||
          update.getOffset())
        return;
      auto mask = update.getScores().getDefiningOp<MaskOp>();
      Value scores = mask ? mask.getScores() : update.getScores();
      std::optional<DistanceBias> bias = matchDistanceBias(scores);
      if (bias && scores.hasOneUse() && (!mask || mask->hasOneUse()))
        Rewriter(update, mask, *bias).run();
    });
  }
};
} // namespace
} // namespace flashc::tile
