//===- StreamLoads.cpp - tile-stream-loads --------------------------------===//
//
// After tile-split-loops. In: chains of loops (each starts at the block where
// the one before ends) that load block after block of one head. Out: one
// tile.stream in front of the chain for each such series of loads, and a
// tile.next in each loop.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Tile/IR/Redo.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILESTREAMLOADS
#include "Tile/TilePasses.h.inc"

namespace {
using Chain = SmallVector<scf::ForOp>;

/// Loops of `block` in order, those together where one carries on the other.
SmallVector<Chain> findChains(Block &block) {
  SmallVector<Chain> chains;
  for (auto loop : block.getOps<scf::ForOp>()) {
    if (!isConstantIntValue(loop.getStep(), 1))
      continue;
    bool carriesOn =
        !chains.empty() &&
        isEqualConstantIntOrValue(chains.back().back().getUpperBound(),
                                  loop.getLowerBound());
    if (!carriesOn)
      chains.emplace_back();
    chains.back().push_back(loop);
  }
  return chains;
}

/// Whether `load` reads block number `loop`'s induction variable.
bool readsBlock(LoadOp load, scf::ForOp loop) {
  if (cast<MemRefType>(load.getView().getType()).getRank() != 4)
    return false; // a stream is of blocks of rows
  auto row = load.getRow().getDefiningOp<arith::MulIOp>();
  return row && row.getLhs() == loop.getInductionVar() &&
         isConstantIntValue(row.getRhs(),
                            load.getTile().getType().getDimSize(0));
}

bool readsSameHead(LoadOp a, LoadOp b) {
  return a.getView() == b.getView() && a.getBatch() == b.getBatch() &&
         a.getHead() == b.getHead() && a.getLimit() == b.getLimit() &&
         a.getType() == b.getType();
}

/// The loads, one a loop, that read what `first` reads; empty where some loop
/// has none or two of them, as a stream gives each block once.
SmallVector<LoadOp> findSeries(const Chain &chain, LoadOp first) {
  SmallVector<LoadOp> series;
  for (scf::ForOp loop : chain) {
    auto loads = llvm::filter_to_vector(
        loop.getBody()->getOps<LoadOp>(), [&](LoadOp load) {
          return readsBlock(load, loop) && readsSameHead(load, first);
        });
    if (loads.size() != 1)
      return {};
    series.push_back(loads.front());
  }
  return series;
}

bool isDefinedBefore(LoadOp load, scf::ForOp loop, DominanceInfo &dominance) {
  SmallVector<Value> needed = {load.getView(), load.getBatch(), load.getHead()};
  if (load.getLimit())
    needed.push_back(load.getLimit());
  return llvm::all_of(needed, [&](Value value) {
    return dominance.properlyDominates(value, loop);
  });
}

void streamChain(Chain &chain, DominanceInfo &dominance) {
  scf::ForOp firstLoop = chain.front();
  SmallVector<LoadOp> candidates(firstLoop.getBody()->getOps<LoadOp>());
  for (LoadOp first : candidates) {
    if (!readsBlock(first, firstLoop) ||
        !isDefinedBefore(first, firstLoop, dominance) ||
        !dominance.properlyDominates(chain.back().getUpperBound(), firstLoop))
      continue;
    SmallVector<LoadOp> series = findSeries(chain, first);
    if (series.empty())
      continue;
    ImplicitLocOpBuilder b(first.getLoc(), firstLoop);
    auto tileType = cast<RankedTensorType>(first.getTile().getType());
    auto streamType = StreamType::get(b.getContext(), tileType.getShape(),
                                      tileType.getElementType());
    Value stream =
        StreamOp::create(b, streamType, first.getView(), first.getBatch(),
                         first.getHead(), firstLoop.getLowerBound(),
                         chain.back().getUpperBound(), first.getLimit());
    for (auto [loop, load] : llvm::zip(chain, series)) {
      b.setInsertionPoint(load);
      Value next = NextOp::create(b, tileType, stream, loop.getInductionVar());
      load.replaceAllUsesWith(next);
      load.erase();
    }
  }
}

struct TileStreamLoads : impl::TileStreamLoadsBase<TileStreamLoads> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<Chain> chains;
    // What stands in a branch is rare, and no ring is filled for it.
    getOperation()->walk([&](Block *block) {
      Operation *parent = block->getParentOp();
      if (isa<KernelOp, scf::ForOp>(parent) && !isInRedo(parent))
        llvm::append_range(chains, findChains(*block));
    });
    DominanceInfo dominance(getOperation());
    for (Chain &chain : chains)
      streamChain(chain, dominance);
  }
};
} // namespace
} // namespace flashc::tile
