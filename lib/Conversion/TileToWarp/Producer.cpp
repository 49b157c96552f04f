// Kernels with roles, of convert-tile-to-warp: the producer. The kernel's
// control flow and scalar code, with a send where a tile is loaded. What turns
// out to be unused is left to canonicalization.
#include "RoleConverter.h"

using namespace mlir;

namespace flashc {

LogicalResult RoleConverter::produce() {
  beginRole(warp::RoleKind::Producer, roles().getProducer());
  return produceBlock(kernel.getBody().front());
}

LogicalResult RoleConverter::produceBlock(Block &block) {
  for (Operation &op : block)
    if (failed(produceOp(&op)))
      return failure();
  return success();
}

static bool loads(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<tile::LoadOp, tile::NextOp>(inner) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult RoleConverter::produceOp(Operation *op) {
  Location loc = op->getLoc();
  if (auto program = dyn_cast<tile::ProgramOp>(op))
    return convertProgram(program);
  if (auto rows = dyn_cast<tile::OwnRowsOp>(op))
    return KernelConverter::convertOwnRows(rows);
  if (auto end = dyn_cast<tile::ReturnOp>(op))
    return warp::EndTileOp::create(builder, loc, ValueRange()), success();
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    warp::SendOp::create(builder, loc, lookup(load.getView()),
                         lookup(load.getBatch()), lookup(load.getHead()),
                         lookup(load.getRow()), /*values=*/Value(),
                         rings.lookup(op), Value(), Value());
    return success();
  }
  if (auto next = dyn_cast<tile::NextOp>(op)) {
    auto stream = next.getStream().getDefiningOp<tile::StreamOp>();
    if (!stream)
      return next.emitOpError(
          "reads a stream that is passed around, but a ring "
          "is named by its 'tile.stream'; use that");
    Value rows = arith::ConstantIndexOp::create(
        builder, loc, stream.getStream().getType().getShape()[0]);
    Value row =
        arith::MulIOp::create(builder, loc, lookup(next.getBlock()), rows);
    warp::SendOp::create(builder, loc, lookup(stream.getView()),
                         lookup(stream.getBatch()), lookup(stream.getHead()),
                         row, /*values=*/Value(), rings.lookup(stream), Value(),
                         Value());
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    if (!loads(op))
      return success();
    auto copy = scf::ForOp::create(builder, loc, lookup(loop.getLowerBound()),
                                   lookup(loop.getUpperBound()),
                                   lookup(loop.getStep()));
    values.map(loop.getInductionVar(), copy.getInductionVar());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(copy.getBody());
    return produceBlock(*loop.getBody());
  }
  if (isa<scf::IfOp>(op)) // what is computed again is read by its consumer
    return success();
  // Scalars of the control flow and of coordinates.
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  auto isKnown = [&](Value value) { return values.contains(value); };
  bool hasForm = op->getNumResults() && op->getNumRegions() == 0 &&
                 llvm::all_of(op->getResultTypes(), isScalar) &&
                 llvm::all_of(op->getOperands(), isKnown);
  if (hasForm)
    builder.clone(*op, values);
  return success();
}

} // namespace flashc
