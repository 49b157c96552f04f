//===- HoistCaptures.cpp - tile-hoist-captures ----------------------------===//
//
// Right after convert-attn-to-tile, which puts a score function as it is into
// the loop over keys. In: maps whose bodies compute what is the same for all
// elements. Out: that in front of them, and in front of the loop.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEHOISTCAPTURES
#include "Tile/TilePasses.h.inc"

namespace {
/// The outermost of the map and the loops around it that `op` does not depend
/// on.
Operation *findPlace(MapOp map, Operation *op) {
  Operation *place = map;
  while (auto loop = dyn_cast<scf::ForOp>(place->getParentOp())) {
    if (!llvm::all_of(op->getOperands(), [&](Value operand) {
          return loop.isDefinedOutsideOfLoop(operand);
        }))
      break;
    place = loop;
  }
  return place;
}

/// Whether `op` may run in front of `place`, where it may run though it did not
/// before. Loads read what nobody writes, from an array that holds something
/// whatever its sizes are; those that change from block to block stay in the
/// map, which keeps the loop's other ops without effects.
bool isMovable(Operation *op, Operation *place) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return load.getMemRefType().hasStaticShape() &&
           !isa<scf::ForOp>(place->getParentOp());
  return isPure(op) && !isa<YieldOp>(op);
}

void hoist(MapOp map) {
  Block &body = map.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    bool isOutside = llvm::all_of(op.getOperands(), [&](Value operand) {
      return operand.getParentBlock() != &body;
    });
    if (!isOutside)
      continue;
    Operation *place = findPlace(map, &op);
    if (isMovable(&op, place))
      op.moveBefore(place);
  }
}

struct TileHoistCaptures : impl::TileHoistCapturesBase<TileHoistCaptures> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](MapOp map) { hoist(map); });
  }
};
} // namespace
} // namespace flashc::tile
