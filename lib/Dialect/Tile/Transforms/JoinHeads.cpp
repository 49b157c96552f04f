//===- JoinHeads.cpp - tile-join-heads ------------------------------------===//
//
// Before tile-split-loops. In: kernels of a backward whose warps have roles,
// with a loop over the query heads of a key head around a loop over query
// blocks. Out: one loop over the pairs of both that some key sees; the mask of
// a pair stands in a branch that is taken where it hides something. Additions
// that take turns learn whether the block of keys behind this one adds to
// the same rows.
//
//===----------------------------------------------------------------------===//
#include "KeyRanges.h"

#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEJOINHEADS
#include "Tile/TilePasses.h.inc"

namespace {
/// A loop over heads, whose body is scalars and a loop over query blocks.
struct Nest {
  scf::ForOp heads, blocks;
  MaskOp mask;
};

std::optional<Nest> findNest(KernelOp kernel) {
  for (auto heads : kernel.getBody().getOps<scf::ForOp>()) {
    auto inner = llvm::to_vector(heads.getBody()->getOps<scf::ForOp>());
    if (inner.size() != 1 || !isConstantIntValue(heads.getLowerBound(), 0) ||
        !isConstantIntValue(heads.getStep(), 1) ||
        !isConstantIntValue(inner[0].getStep(), 1) ||
        inner[0].getNumResults() != heads.getNumResults())
      continue;
    auto masks = llvm::to_vector(inner[0].getBody()->getOps<MaskOp>());
    bool isPlain =
        masks.size() == 1 && masks[0].getTransposed() &&
        llvm::equal(inner[0].getInitArgs(), heads.getRegionIterArgs()) &&
        llvm::equal(heads.getYieldedValues(), inner[0].getResults());
    if (isPlain)
      return Nest{heads, inner[0], masks[0]};
  }
  return std::nullopt;
}

class Joiner {
public:
  Joiner(ImplicitLocOpBuilder &b, Nest nest) : b(b), nest(nest) {}
  void run();

private:
  SmallVector<Value> buildPair(Value head, Value block, ValueRange carried);
  void cloneMask(Value block, IRMapping &mapping);
  AccumulateOp findTurns();
  void buildRangeBehind();
  void cloneOrdered(Value block, IRMapping &mapping);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value less(Value x, Value y) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, x, y);
  }

  ImplicitLocOpBuilder &b;
  Nest nest;
  KeyRanges ranges;
  /// The addition whose order is kept by turns, if there is one, and the blocks
  /// that the block of keys behind this one goes over.
  AccumulateOp ordered;
  BlockRange behind;
};

AccumulateOp Joiner::findTurns() {
  for (auto accumulate : nest.blocks.getBody()->getOps<AccumulateOp>())
    if (accumulate.getTurns())
      return accumulate;
  return {};
}

/// Of keys behind the last ones: none, as the mask hides them.
void Joiner::buildRangeBehind() {
  Value rows = index(nest.mask.getType().getDimSize(0));
  Value start = b.createOrFold<arith::AddIOp>(nest.mask.getCol(), rows);
  Value end = b.createOrFold<arith::AddIOp>(start, rows);
  behind =
      buildKeyRanges(b, nest.mask, {start, end},
                     {nest.blocks.getLowerBound(), nest.blocks.getUpperBound()})
          .any;
}

void Joiner::cloneOrdered(Value block, IRMapping &mapping) {
  Value isBehind =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, block, behind.lo);
  Value follows = arith::AndIOp::create(b, isBehind, less(block, behind.hi));
  auto copy = cast<AccumulateOp>(b.clone(*ordered, mapping));
  copy.getFollowsMutable().assign(follows);
}

/// The mask, where block is none of those whose pairs are all visible.
void Joiner::cloneMask(Value block, IRMapping &mapping) {
  Value hides;
  if (!isEqualConstantIntOrValue(ranges.any.lo, ranges.full.lo))
    hides = less(block, ranges.full.lo);
  if (!isEqualConstantIntOrValue(ranges.full.hi, ranges.any.hi)) {
    Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, block,
                                           ranges.full.hi);
    hides = hides ? b.createOrFold<arith::OrIOp>(hides, isBehind) : isBehind;
  }
  Value scores = mapping.lookup(nest.mask.getScores());
  if (!hides) {
    mapping.map(nest.mask.getResult(), scores);
    return;
  }
  auto branch = scf::IfOp::create(b, nest.mask->getResultTypes(), hides,
                                  /*withElse=*/true);
  mapping.map(nest.mask.getResult(), branch.getResult(0));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, scores);
  b.setInsertionPointToStart(branch.thenBlock());
  IRMapping inside = mapping;
  scf::YieldOp::create(b, b.clone(*nest.mask, inside)->getResults());
}

SmallVector<Value> Joiner::buildPair(Value head, Value block,
                                     ValueRange carried) {
  IRMapping mapping;
  mapping.map(nest.heads.getInductionVar(), head);
  for (Operation &op : nest.heads.getBody()->without_terminator())
    if (&op != nest.blocks)
      b.clone(op, mapping);
  mapping.map(nest.blocks.getInductionVar(), block);
  mapping.map(nest.blocks.getRegionIterArgs(), carried);
  for (Operation &op : nest.blocks.getBody()->without_terminator())
    if (&op == nest.mask)
      cloneMask(block, mapping);
    else if (&op == ordered)
      cloneOrdered(block, mapping);
    else
      b.clone(op, mapping);
  return llvm::map_to_vector(nest.blocks.getYieldedValues(), [&](Value value) {
    return mapping.lookupOrDefault(value);
  });
}

void Joiner::run() {
  moveLoopInvariantCode(nest.heads);
  b.setInsertionPoint(nest.heads);
  Value first = nest.mask.getCol();
  Value rows = index(nest.mask.getType().getDimSize(0));
  ranges = buildKeyRanges(
      b, nest.mask, {first, b.createOrFold<arith::AddIOp>(first, rows)},
      {nest.blocks.getLowerBound(), nest.blocks.getUpperBound()});
  Value lo = ranges.any.lo, hi = ranges.any.hi;
  Value heads = nest.heads.getUpperBound();
  Value count = b.createOrFold<arith::SubIOp>(hi, lo);
  Value pairs = b.createOrFold<arith::MulIOp>(count, heads);
  Value lastHead = b.createOrFold<arith::SubIOp>(heads, index(1));
  ordered = findTurns();
  if (ordered)
    buildRangeBehind();
  SmallVector<Value> inits = {index(0), lo};
  llvm::append_range(inits, nest.heads.getInitArgs());
  auto body = [&](OpBuilder &, Location, Value, ValueRange carried) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(carried.front().getParentBlock());
    Value head = carried[0], block = carried[1];
    SmallVector<Value> sums = buildPair(head, block, carried.drop_front(2));
    // Behind the last pair comes one that is there, too: it may be loaded.
    Value next = arith::AddIOp::create(b, block, index(1));
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, next, hi);
    Value nextHead = arith::MinSIOp::create(
        b, arith::AddIOp::create(b, head, index(1)), lastHead);
    SmallVector<Value> results = {
        arith::SelectOp::create(b, wraps, nextHead, head),
        arith::SelectOp::create(b, wraps, lo, next)};
    llvm::append_range(results, sums);
    scf::YieldOp::create(b, results);
  };
  auto loop = scf::ForOp::create(b, index(0), pairs, index(1), inits, body);
  nest.heads.replaceAllUsesWith(loop.getResults().drop_front(2));
  nest.heads.erase();
}

struct TileJoinHeads : impl::TileJoinHeadsBase<TileJoinHeads> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([&](KernelOp kernel) {
      if (!kernel.getSchedule().getRoles())
        return;
      if (std::optional<Nest> nest = findNest(kernel)) {
        ImplicitLocOpBuilder b(nest->heads.getLoc(), &getContext());
        Joiner(b, *nest).run();
      }
    });
  }
};
} // namespace
} // namespace flashc::tile
