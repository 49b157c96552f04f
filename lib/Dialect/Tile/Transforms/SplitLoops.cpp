//===- SplitLoops.cpp - tile-split-loops ----------------------------------===//
//
// The first pass after convert-attn-to-tile. In: key loops with a tile.mask on
// every block. Out: each as a chain of up to three loops over the blocks that
// some row sees: masked, full (no tile.mask), masked. A loop is left alone
// where its mask does not depend on the block in the expected way.
//
//===----------------------------------------------------------------------===//
#include "KeyRanges.h"
#include "Rescale.h"

#include "flashc/Dialect/Tile/IR/AffineSets.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILESPLITLOOPS
#include "Tile/TilePasses.h.inc"

namespace {
/// The one mask of `loop` whose keys (queries, if transposed) are block * Bc +
/// c and whose rows (keys) and symbols stand outside; null where there is none
/// such.
MaskOp findMask(scf::ForOp loop) {
  if (!isConstantIntValue(loop.getStep(), 1))
    return {};
  SmallVector<MaskOp> masks(loop.getBody()->getOps<MaskOp>());
  if (masks.size() != 1)
    return {};
  MaskOp mask = masks.front();
  bool transposed = mask.getTransposed();
  Value inner = transposed ? mask.getRow() : mask.getCol();
  Value outer = transposed ? mask.getCol() : mask.getRow();
  auto firstKey = inner.getDefiningOp<arith::MulIOp>();
  bool isBlock =
      firstKey && firstKey.getLhs() == loop.getInductionVar() &&
      isConstantIntValue(firstKey.getRhs(), mask.getType().getDimSize(1));
  bool outside = loop.isDefinedOutsideOfLoop(outer) &&
                 llvm::all_of(mask.getSymbols(), [&](Value symbol) {
                   return loop.isDefinedOutsideOfLoop(symbol);
                 });
  return isBlock && outside ? mask : MaskOp();
}

/// A copy of `loop` over `range`, carrying on from `carried`.
scf::ForOp cloneLoop(ImplicitLocOpBuilder &b, scf::ForOp loop, BlockRange range,
                     ValueRange carried, bool masked) {
  // Not by a mapping: the body may read a value that is a bound, too.
  auto copy = cast<scf::ForOp>(b.clone(*loop));
  copy.setLowerBound(range.lo);
  copy.setUpperBound(range.hi);
  copy.getInitArgsMutable().assign(carried);
  if (!masked) {
    for (MaskOp mask :
         llvm::make_early_inc_range(copy.getBody()->getOps<MaskOp>())) {
      mask.getResult().replaceAllUsesWith(mask.getScores());
      mask.erase();
    }
    for (DotOp dot : copy.getBody()->getOps<DotOp>())
      dot.setGuarded(false);
    for (ProbsGradientOp gradient : copy.getBody()->getOps<ProbsGradientOp>())
      gradient.setGuarded(false);
  }
  return copy;
}

/// Whether the groups' rows see different blocks, and each skips the others'.
bool hasOwnBlocks(KernelOp kernel, MaskOp mask) {
  RolesAttr roles = kernel.getSchedule().getRoles();
  if (!roles || !roles.getSkip() || roles.getGroups() == 1 ||
      mask.getTransposed())
    return false;
  return llvm::any_of(mask.getSets(), [](Attribute set) {
    auto bounds = getLinearInequalities(cast<IntegerSetAttr>(set).getValue());
    return llvm::any_of(
        bounds, [](const LinearInequality &bound) { return bound.row != 0; });
  });
}

/// The blocks of some of a tile's rows, inside `tile`'s. Without any they are
/// none of the tile's last block: tile-overlap computes one in any case.
KeyRanges clampInto(ImplicitLocOpBuilder &b, KeyRanges own, BlockRange tile) {
  auto clamp = [&](Value x, Value lo, Value hi) {
    return b.createOrFold<arith::MinSIOp>(b.createOrFold<arith::MaxSIOp>(x, lo),
                                          hi);
  };
  // Bounds that are one value stay one: loops between them are never there.
  llvm::SmallDenseMap<Value, Value, 4> clamped{{tile.lo, tile.lo}};
  Value &lo = clamped[own.any.lo];
  if (!lo) {
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value last = b.createOrFold<arith::SubIOp>(tile.hi, one);
    last = b.createOrFold<arith::MaxSIOp>(last, tile.lo);
    lo = clamp(own.any.lo, tile.lo, last);
  }
  Value begin = lo;
  for (Value *bound : {&own.any.lo, &own.full.lo, &own.full.hi, &own.any.hi}) {
    Value &inside = clamped[*bound];
    if (!inside)
      inside = clamp(*bound, begin, tile.hi);
    *bound = inside;
  }
  return own;
}

KeyRanges buildRanges(ImplicitLocOpBuilder &b, scf::ForOp loop, MaskOp mask) {
  auto kernel = loop->getParentOfType<KernelOp>();
  Value two = arith::ConstantIndexOp::create(b, 2);
  Value queries =
      b.createOrFold<memref::DimOp>(kernel.getBody().getArgument(0), two);
  auto build = [&](Value first, Value end) {
    if (!mask.getTransposed())
      end = b.createOrFold<arith::MinSIOp>(end, queries);
    return buildKeyRanges(b, mask, {first, end},
                          {loop.getLowerBound(), loop.getUpperBound()});
  };
  Value first = mask.getTransposed() ? mask.getCol() : mask.getRow();
  Value size = arith::ConstantIndexOp::create(b, mask.getType().getDimSize(0));
  KeyRanges ranges = build(first, b.createOrFold<arith::AddIOp>(first, size));
  if (!hasOwnBlocks(kernel, mask))
    return ranges;
  auto own = OwnRowsOp::create(b, first);
  return clampInto(b, build(own.getFirst(), own.getEnd()), ranges.any);
}

void splitLoop(scf::ForOp loop, MaskOp mask) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  KeyRanges ranges = buildRanges(b, loop, mask);
  struct Part {
    BlockRange range;
    bool masked;
  };
  Part parts[] = {{{ranges.any.lo, ranges.full.lo}, true},
                  {ranges.full, false},
                  {{ranges.full.hi, ranges.any.hi}, true}};
  SmallVector<Value> carried(loop.getInitArgs());
  for (const Part &part : parts) {
    if (isEqualConstantIntOrValue(part.range.lo, part.range.hi))
      continue; // statically empty
    scf::ForOp copy = cloneLoop(b, loop, part.range, carried, part.masked);
    carried.assign(copy.getResults().begin(), copy.getResults().end());
  }
  loop.replaceAllUsesWith(carried);
  loop.erase();
}

struct TileSplitLoops : impl::TileSplitLoopsBase<TileSplitLoops> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<std::pair<scf::ForOp, MaskOp>> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (MaskOp mask = findMask(loop);
          mask && loop->getParentOfType<KernelOp>() && !isInRedo(loop))
        loops.push_back({loop, mask});
    });
    for (auto [loop, mask] : loops)
      splitLoop(loop, mask);
  }
};
} // namespace
} // namespace flashc::tile
