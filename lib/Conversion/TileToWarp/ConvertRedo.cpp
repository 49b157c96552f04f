// Tiles that are computed again (Redo.h), of convert-tile-to-warp: each warp by
// itself, from global memory to registers.
#include "KernelConverter.h"

using namespace mlir;

namespace flashc {

/// Left operands to fragments; right ones are read where they are multiplied.
LogicalResult KernelConverter::convertFetch(tile::LoadOp op) {
  bool isRight = llvm::all_of(op.getTile().getUses(), [](OpOperand &use) {
    return isa<tile::DotOp>(use.getOwner()) && use.getOperandNumber() == 1;
  });
  if (isRight)
    return success();
  warp::FragmentType type = fragmentType(op, op.getTile().getType(), false);
  if (!type)
    return failure();
  values.map(
      op.getTile(),
      Value(warp::FetchOp::create(
          builder, op.getLoc(), type, lookup(op.getView()),
          lookup(op.getBatch()), lookup(op.getHead()), lookup(op.getRow()),
          op.getLimit() ? lookup(op.getLimit()) : Value())));
  return success();
}

/// A product of a tile that is computed again: each warp by itself.
LogicalResult KernelConverter::convertRedoDot(tile::DotOp op) {
  auto load = op.getRhs().getDefiningOp<tile::LoadOp>();
  Value lhs = values.lookupOrNull(op.getLhs());
  if (!load || !lhs)
    return op.emitOpError(
        "reads its right operand from memory and its left one "
        "from registers, but one is elsewhere; load the right "
        "one in the same branch");
  values.map(op.getResult(),
             Value(warp::MmaFetchOp::create(
                 builder, op.getLoc(), lhs, lookup(load.getView()),
                 lookup(load.getBatch()), lookup(load.getHead()),
                 lookup(load.getRow()), lookup(op.getAcc()),
                 load.getLimit() ? lookup(load.getLimit()) : Value(),
                 op.getTransposeB(), op.getGuarded())));
  return success();
}

} // namespace flashc
