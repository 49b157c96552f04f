// Kernels with roles, of convert-tile-to-warp: blocks of K and V that the
// tile's rows see, but not those of one group. All groups share the rings, so
// each takes such blocks as they come and gives them back unread, those behind
// its own only when its output has left. The streams' bounds, made of
// tile.own_rows, are a group's in the consumer; the same arithmetic on all rows
// of the tile gives the producer's.
#include "RoleConverter.h"

#include "flashc/Dialect/Tile/IR/OwnRows.h"

using namespace mlir;

namespace flashc {

LogicalResult RoleConverter::convertOwnRows(tile::OwnRowsOp op) {
  Location loc = op.getLoc();
  Value row = lookup(op.getRow());
  int64_t all = kernel.getSchedule().getQ();
  int64_t rows = all / roles().getGroups();
  mapRows(op, row, all, whole);
  Value count = arith::ConstantIndexOp::create(builder, loc, rows);
  Value before = arith::MulIOp::create(
      builder, loc, warp::GroupOp::create(builder, loc), count);
  mapRows(op, arith::AddIOp::create(builder, loc, row, before), rows, values);
  return success();
}

/// What `value` is in the producer, made here.
Value RoleConverter::ofAllGroups(Value value) {
  if (Value made = whole.lookupOrNull(value))
    return made;
  if (!tile::isOfOwnRows(value))
    return lookup(value);
  Operation *op = value.getDefiningOp();
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, ofAllGroups(operand));
  whole.map(op->getResults(), builder.clone(*op, operands)->getResults());
  return whole.lookup(value);
}

void RoleConverter::skipBlocks(Location loc, Value from, Value to) {
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, from, to, one);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  for (tile::StreamOp stream : shared)
    warp::SkipOp::create(builder, loc, rings.lookup(stream), Value(), Value());
}

/// At the last stream: none is received from before.
LogicalResult RoleConverter::skipBefore(tile::StreamOp op) {
  if (!tile::isOfOwnRows(op.getLo()) && !tile::isOfOwnRows(op.getHi()))
    return success();
  if (!shared.empty() && (shared.front().getLo() != op.getLo() ||
                          shared.front().getHi() != op.getHi()))
    return op.emitOpError("has blocks of its own for each group, but from "
                          "other bounds than the stream before it; give them "
                          "the same");
  shared.push_back(op);
  bool isLast = llvm::none_of(
      op->getBlock()->getOps<tile::StreamOp>(),
      [&](tile::StreamOp other) { return op->isBeforeInBlock(other); });
  if (isLast)
    skipBlocks(op.getLoc(), ofAllGroups(op.getLo()), lookup(op.getLo()));
  return success();
}

void RoleConverter::skipBehind() {
  if (shared.empty())
    return;
  tile::StreamOp stream = shared.front();
  skipBlocks(stream.getLoc(), lookup(stream.getHi()),
             ofAllGroups(stream.getHi()));
}

} // namespace flashc
