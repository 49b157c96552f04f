//===- FuseCap.cpp - tile-fuse-cap ----------------------------------------===//
//
// After tile-overlap, which knows score functions by their one map, and before
// tile-split-tanh, which takes what is left. In: key loops whose softmax reads
// tanh(k s), and whose roles test maxima. Out: one test of s itself, for both
// the maxima and the range of a short polynomial, and a branch on it. Where
// all is well, the polynomial ends in the exponent: no capped score is made.
//
//===----------------------------------------------------------------------===//
#include "Rescale.h"
#include "RowProduct.h"
#include "Tanh.h"
#include "UpdateExpander.h"

#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEFUSECAP
#include "Tile/TilePasses.h.inc"

namespace {
/// The ops of one key block from the cap to what the loop carries on.
struct CappedUpdate {
  MapOp cap;
  math::TanhOp tanh;
  MaskOp mask; // of the capped scores; null: none
  SoftmaxUpdateOp update;
  RescaleOp rescale; // of the accumulator
  MapOp probs;       // in the type of the product that reads them

  SmallVector<Operation *> inOrder() {
    SmallVector<Operation *> ops = {cap};
    if (mask)
      ops.push_back(mask);
    ops.append({update, rescale, probs});
    return ops;
  }
};

/// The tanh that `map` yields for its one input.
math::TanhOp findCap(MapOp map) {
  if (map.getInputs().size() != 1 || map.getNumResults() != 1)
    return {};
  Block &body = map.getBody().front();
  auto tanh = body.getTerminator()->getOperand(0).getDefiningOp<math::TanhOp>();
  if (!tanh || !isExactTanh(tanh))
    return {};
  TanhArgument argument(tanh);
  bool isCap =
      argument.getBase() == body.getArgument(0) && argument.getFactor() > 0;
  return isCap ? tanh : math::TanhOp();
}

template <typename OpTy> OpTy findOnlyUser(Value value, Block *block) {
  if (!value.hasOneUse())
    return {};
  auto user = dyn_cast<OpTy>(*value.user_begin());
  return user && user->getBlock() == block ? user : OpTy();
}

std::optional<CappedUpdate> matchCapped(SoftmaxUpdateOp update) {
  Block *block = update->getBlock();
  auto mask = update.getScores().getDefiningOp<MaskOp>();
  Value capped = mask ? mask.getScores() : update.getScores();
  auto cap = capped.getDefiningOp<MapOp>();
  if (!cap || cap->getBlock() != block || !capped.hasOneUse() ||
      (mask && (mask->getBlock() != block || !mask->hasOneUse())) ||
      !isa<scf::ForOp>(block->getParentOp()) || update.getOffset() ||
      !getRoles(update) || getRescale(update) != Rescale::Test)
    return std::nullopt;
  CappedUpdate found{cap,
                     findCap(cap),
                     mask,
                     update,
                     findOnlyUser<RescaleOp>(update.getRescale(), block),
                     findOnlyUser<MapOp>(update.getProbs(), block)};
  if (!found.tanh || !found.rescale || !isRescaledBy(update, found.rescale) ||
      !found.probs || found.probs.getInputs().size() != 1 ||
      found.probs.getNumResults() != 1)
    return std::nullopt;
  return found;
}

class Fuser {
public:
  explicit Fuser(CappedUpdate old)
      : b(old.update.getLoc(), old.update), old(old) {}
  void run();

private:
  Value buildIsOutside();
  void buildWhole();
  void buildShort();

  ImplicitLocOpBuilder b;
  CappedUpdate old;
};

/// Whether some |k s| is too large for the polynomial, or some tanh(k s) may be
/// too far above its row's m: from zero on, tanh(k s) > m + t needs k s > m +
/// t, while below it everything may.
Value Fuser::buildIsOutside() {
  TanhArgument argument(old.tanh);
  float end = argument.getShortEnd();
  double inverse = 1 / argument.getFactor();
  UpdateExpander expander(b, old.update);
  Value rowMax = old.update.getRowMax();
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value limit =
        arith::AddFOp::create(b, x[0], buildF32(b, expander.getSlack()));
    Value isBelow = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, limit,
                                          buildF32(b, 0.0f));
    limit = arith::MulFOp::create(b, limit, buildF32(b, float(inverse)));
    limit = arith::MinNumFOp::create(b, limit, buildF32(b, end));
    Value none = buildF32(b, -std::numeric_limits<float>::infinity());
    return {arith::SelectOp::create(b, isBelow, none, limit)};
  };
  Value limits = buildMap(b, rowMax.getType(), rowMax, {}, body)[0];
  return AnyAboveOp::create(b, b.getI1Type(), old.cap.getInputs().front(),
                            limits, b.getF32FloatAttr(-end));
}

/// As it was, with exponentials: most of what comes here is beyond the other
/// polynomial too.
void Fuser::buildWhole() {
  IRMapping mapping;
  for (Operation *op : old.inOrder())
    b.clone(*op, mapping);
  auto cap = mapping.lookup(old.cap.getResult(0)).getDefiningOp<MapOp>();
  OpBuilder::InsertionGuard guard(b);
  math::TanhOp tanh = findCap(cap);
  b.setInsertionPoint(tanh);
  tanh.replaceAllUsesWith(TanhArgument(tanh).buildExponential(b));
  tanh.erase();
  b.setInsertionPointAfter(
      mapping.lookup(old.probs.getResult(0)).getDefiningOp());
  SmallVector<Value> results = {old.rescale.getResult(), old.update.getNewMax(),
                                old.update.getNewSum(), old.probs.getResult(0)};
  for (Value &result : results)
    result = mapping.lookup(result);
  scf::YieldOp::create(b, results);
}

/// No maximum rises, and p = 2^(s P(s^2) - M); a mask takes the exponents.
void Fuser::buildShort() {
  UpdateExpander expander(b, old.update);
  TanhArgument argument(old.tanh);
  Value scores = old.cap.getInputs().front();
  Value shift = expander.buildShift(old.update.getRowMax());
  double scale = old.update.getScale().convertToDouble();
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value exponent = argument.buildShort(b, x[0], scale, x[1]);
    if (!old.mask)
      exponent = math::Exp2Op::create(b, exponent);
    return {exponent};
  };
  Value probs = buildMap(b, scores.getType(), {scores, shift}, {}, body)[0];
  IRMapping mapping;
  if (old.mask) {
    mapping.map(old.mask.getScores(), probs);
    Value masked = b.clone(*old.mask, mapping)->getResult(0);
    probs = buildMap(b, scores.getType(), masked, {}, [&](ValueRange x) {
      return SmallVector<Value>{math::Exp2Op::create(b, x[0])};
    })[0];
  }
  Value sum = expander.buildNewSum(probs, old.update.getRowSum());
  mapping.map(old.update.getProbs(), probs);
  Value rounded = b.clone(*old.probs, mapping)->getResult(0);
  scf::YieldOp::create(b, ValueRange{old.rescale.getTile(),
                                     old.update.getRowMax(), sum, rounded});
}

void Fuser::run() {
  Value results[] = {old.rescale.getResult(), old.update.getNewMax(),
                     old.update.getNewSum(), old.probs.getResult(0)};
  auto branch = scf::IfOp::create(b, ValueRange(results).getTypes(),
                                  buildIsOutside(), /*withElse=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  buildWhole();
  b.setInsertionPointToStart(branch.elseBlock());
  buildShort();
  for (auto [result, value] : llvm::zip_equal(results, branch.getResults()))
    result.replaceAllUsesWith(value);
  SmallVector<Operation *> replaced = old.inOrder();
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
}

struct TileFuseCap : impl::TileFuseCapBase<TileFuseCap> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<CappedUpdate> work;
    getOperation()->walk([&](SoftmaxUpdateOp update) {
      if (std::optional<CappedUpdate> found = matchCapped(update))
        work.push_back(*found);
    });
    for (const CappedUpdate &found : work)
      Fuser(found).run();
  }
};
} // namespace
} // namespace flashc::tile
