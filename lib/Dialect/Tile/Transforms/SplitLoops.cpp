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

#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILESPLITLOOPS
#include "Tile/TilePasses.h.inc"

namespace {
/// The one mask of `loop` whose keys are block * Bc + c and whose rows and
/// symbols stand outside; null where there is none such.
MaskOp findMask(scf::ForOp loop) {
  if (!isConstantIntValue(loop.getStep(), 1))
    return {};
  SmallVector<MaskOp> masks(loop.getBody()->getOps<MaskOp>());
  if (masks.size() != 1)
    return {};
  MaskOp mask = masks.front();
  auto firstKey = mask.getCol().getDefiningOp<arith::MulIOp>();
  bool isBlock =
      firstKey && firstKey.getLhs() == loop.getInductionVar() &&
      isConstantIntValue(firstKey.getRhs(), mask.getType().getDimSize(1));
  bool outside = loop.isDefinedOutsideOfLoop(mask.getRow()) &&
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
  }
  return copy;
}

void splitLoop(scf::ForOp loop, MaskOp mask, Value queryLength) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  KeyRanges ranges = buildKeyRanges(
      b, mask, queryLength, {loop.getLowerBound(), loop.getUpperBound()});
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
    for (auto [loop, mask] : loops) {
      auto kernel = loop->getParentOfType<KernelOp>();
      ImplicitLocOpBuilder b(loop.getLoc(), loop);
      Value two = arith::ConstantIndexOp::create(b, 2);
      Value length =
          b.createOrFold<memref::DimOp>(kernel.getBody().getArgument(0), two);
      splitLoop(loop, mask, length);
    }
  }
};
} // namespace
} // namespace flashc::tile
