//===- HoistCaptures.cpp - tile-hoist-captures ----------------------------===//
//
// Right after convert-attn-to-tile, which puts a score function as it is into
// the loop over keys. In: maps whose bodies compute what is the same for all
// elements. Out: that in front of them, and in front of the loop.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

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
/// before. Loads read what nobody writes; those that change from block to block
/// stay in the map, which keeps the loop's other ops without effects.
bool isMovable(Operation *op, Operation *place) {
  if (isa<memref::LoadOp>(op))
    return !isa<scf::ForOp>(place->getParentOp());
  return isPure(op) && !isa<YieldOp>(op);
}

/// Whether no dimension of `array` is 0; null where its type says so. Sizes
/// that are not known may be 0 where no key is seen.
Value buildHoldsSome(ImplicitLocOpBuilder &b, Value array) {
  auto type = cast<MemRefType>(array.getType());
  Value some;
  for (int64_t i = 0; i < type.getRank(); ++i) {
    if (!type.isDynamicDim(i))
      continue;
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value size = b.createOrFold<memref::DimOp>(array, i);
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, size, zero);
    some = some ? arith::AndIOp::create(b, some, is).getResult() : is;
  }
  return some;
}

/// `load` in front of `place`: 0 from an array that is empty, which nobody
/// looks at.
void moveLoad(memref::LoadOp load, Operation *place) {
  load->moveBefore(place);
  ImplicitLocOpBuilder b(load.getLoc(), load);
  Value some = buildHoldsSome(b, load.getMemRef());
  if (!some)
    return;
  Type type = load.getType();
  auto branch = scf::IfOp::create(b, type, some, /*withElse=*/true);
  load.replaceAllUsesWith(branch.getResult(0));
  load->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, load.getResult());
  b.setInsertionPointToEnd(branch.elseBlock());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
  scf::YieldOp::create(b, none);
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
    if (!isMovable(&op, place))
      continue;
    if (auto load = dyn_cast<memref::LoadOp>(op))
      moveLoad(load, place);
    else
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
