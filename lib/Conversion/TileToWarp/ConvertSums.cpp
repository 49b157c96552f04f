// Loads to registers, sums and scatters of convert-tile-to-warp: what goes
// between global memory and fragments without a stay in shared memory.
#include "KernelConverter.h"

using namespace mlir;

namespace flashc {

/// Has the array that `view` is this mark? Its kernels say so alike.
static bool isMarked(Value view, llvm::StringRef mark) {
  auto argument = dyn_cast<BlockArgument>(view);
  auto kernel =
      argument ? dyn_cast<tile::KernelOp>(argument.getOwner()->getParentOp())
               : tile::KernelOp();
  return kernel && kernel.getArgAttr(argument.getArgNumber(), mark);
}

/// Whether sums lie in the order of warp.send_sums.
bool KernelConverter::isPacked(Value view) {
  return isMarked(view, "tile.packed");
}

/// f32 is never multiplied: it goes to registers, rows in order or columns.
LogicalResult KernelConverter::convertLoadToFragment(tile::LoadOp op) {
  if (op.getLimit())
    if (auto dim = op.getLimit().getDefiningOp<memref::DimOp>();
        !dim || dim.getSource() != op.getView() || dim.getConstantIndex() != 2)
      return op.emitOpError(
          "loads f32 up to a limit, but on the warp level such "
          "loads end with their view; drop the limit");
  warp::FragmentType type =
      fragmentType(op, op.getTile().getType(), /*isPartial=*/false);
  if (!type)
    return failure();
  Value view = lookup(op.getView()), batch = lookup(op.getBatch()),
        head = lookup(op.getHead()), row = lookup(op.getRow());
  Value fragment;
  if (cast<MemRefType>(view.getType()).getRank() == 3)
    fragment = warp::LoadValuesOp::create(builder, op.getLoc(), type, view,
                                          batch, head, row);
  else
    fragment = warp::LoadSumsOp::create(
        builder, op.getLoc(), type, view, batch, head, row,
        isMarked(op.getView(), "tile.fragment_order"), isPacked(op.getView()));
  values.map(op.getTile(), fragment);
  return success();
}

/// Blocks of a grid run in any order, and wait for none of the others.
static LogicalResult checkUnordered(Operation *op, bool ordered) {
  if (!ordered)
    return success();
  return op->emitOpError("adds in the order of the blocks, but the blocks of a "
                         "GPU's grid add in any; leave out 'deterministic', or "
                         "use target cpu");
}

LogicalResult KernelConverter::convertAccumulate(tile::AccumulateOp op) {
  if (failed(checkUnordered(op, op.getOrdered())))
    return failure();
  if (isPacked(op.getView())) {
    addPackedRows(op);
    return success();
  }
  warp::AddSumsOp::create(builder, op.getLoc(), lookup(op.getTile()),
                          lookup(op.getView()), lookup(op.getBatch()),
                          lookup(op.getHead()), lookup(op.getRow()),
                          isMarked(op.getView(), "tile.fragment_order"));
  return success();
}

/// Such memory is in whole tiles: the first row tells for all.
void KernelConverter::addPackedRows(tile::AccumulateOp op) {
  Location loc = op.getLoc();
  Value view = lookup(op.getView()), row = lookup(op.getRow());
  Value rows = memref::DimOp::create(builder, loc, view, 2);
  Value isInside =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, row, rows);
  Value tile = lookup(op.getTile());
  auto branch = scf::IfOp::create(builder, loc, isInside,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  warp::AddPackedOp::create(builder, loc, tile, view, lookup(op.getBatch()),
                            lookup(op.getHead()), row, /*first=*/0);
}

LogicalResult KernelConverter::convertScatter(tile::ScatterOp op) {
  if (failed(checkUnordered(op, op.getOrdered())))
    return failure();
  auto kind = op.getKind() == tile::ScatterKind::Add ? warp::ScatterKind::Add
                                                     : warp::ScatterKind::Set;
  auto scatter = warp::ScatterOp::create(
      builder, op.getLoc(), kind, lookupAll(op.getInputs()),
      lookupAll(op.getOrigin()), op.getExclusive(), lookup(op.getMemory()));
  cloneElements(op.getBody().front(), scatter.getBody());
  return success();
}

} // namespace flashc
