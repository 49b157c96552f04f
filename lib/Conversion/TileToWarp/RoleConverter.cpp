// Kernels with roles, of convert-tile-to-warp: rings, and the consumer. The
// producer is in Producer.cpp.
#include "RoleConverter.h"

#include "flashc/Dialect/Tile/IR/Redo.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {

/// TMA and wgmma with the 128-byte swizzle: 64 elements of 16 bits.
static constexpr int64_t kSegment = 64;

LogicalResult RoleConverter::convert() {
  auto result = createKernel(roles().getGroups(), roles().getTurns());
  if (failed(createRings()))
    return failure();
  Block *body = builder.getInsertionBlock();
  IRMapping atStart = values;
  if (failed(produce()))
    return failure();
  values = atStart;
  builder.setInsertionPointToEnd(body);
  if (failed(consume()))
    return failure();
  builder.setInsertionPointToEnd(body);
  warp::ReturnOp::create(builder, result.getLoc());
  return success();
}

LogicalResult RoleConverter::createRing(Operation *op, ArrayRef<int64_t> shape,
                                        Type element, int64_t depth,
                                        int64_t parts) {
  int64_t padded[] = {shape[0], int64_t(llvm::alignTo(shape[1], kSegment))};
  auto type = warp::RingType::getChecked([&] { return op->emitOpError(); },
                                         op->getContext(), ArrayRef(padded),
                                         element, kSegment, depth, parts,
                                         /*values=*/int64_t(0));
  if (!type)
    return failure();
  rings[op] = warp::RingOp::create(builder, op->getLoc(), type,
                                   /*offset=*/IntegerAttr(),
                                   /*barriers=*/IntegerAttr());
  return success();
}

LogicalResult RoleConverter::createRings() {
  int64_t groups = roles().getGroups();
  WalkResult result = kernel.walk([&](Operation *op) -> WalkResult {
    if (tile::isInRedo(op))
      return success();
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      auto type = cast<RankedTensorType>(load.getTile().getType());
      // Rows that are dealt to the groups are released by each alone.
      bool isDealt = type.getDimSize(0) == kernel.getSchedule().getQ();
      return createRing(op, type.getShape(), type.getElementType(),
                        isDealt && roles().getAhead() ? 2 : 1,
                        isDealt ? groups : 1);
    }
    if (auto stream = dyn_cast<tile::StreamOp>(op)) {
      tile::StreamType type = stream.getStream().getType();
      return createRing(op, type.getShape(), type.getElementType(),
                        kernel.getSchedule().getStages(), 1);
    }
    return success();
  });
  if (result.wasInterrupted() || !roles().getApart())
    return failure(result.wasInterrupted());
  kernel.walk([&](tile::StoreOp store) {
    auto type = cast<RankedTensorType>(store.getTile().getType());
    if (type.getRank() != 2)
      return;
    int64_t shape[] = {type.getDimSize(0),
                       int64_t(llvm::alignTo(type.getDimSize(1), kSegment))};
    staging = warp::AllocOp::create(
        builder, store.getLoc(),
        warp::BufferType::get(builder.getContext(), shape,
                              type.getElementType(), kSegment, groups),
        /*offset=*/IntegerAttr());
  });
  return success();
}

warp::TilesOp RoleConverter::beginRole(warp::RoleKind kind, int64_t registers) {
  Location loc = kernel.getLoc();
  auto role = warp::RoleOp::create(builder, loc, kind, registers,
                                   /*group=*/IntegerAttr());
  builder.createBlock(&role.getBody());
  bool longestFirst = false;
  kernel.walk([&](tile::ProgramOp op) { longestFirst = op.getLongestFirst(); });
  tiles = warp::TilesOp::create(builder, loc, TypeRange(), ValueRange(),
                                longestFirst);
  Type index = builder.getIndexType();
  builder.createBlock(&tiles.getBody(), {}, {index, index, index},
                      {loc, loc, loc});
  return tiles;
}

LogicalResult RoleConverter::consume() {
  beginRole(warp::RoleKind::Consumer, roles().getConsumer());
  return convertBlock(kernel.getBody().front());
}

LogicalResult RoleConverter::convertProgram(tile::ProgramOp op) {
  values.map(op.getResults(), tiles.getBody().getArguments());
  return success();
}

LogicalResult RoleConverter::convertReturn(tile::ReturnOp op) {
  skipBehind();
  warp::EndTileOp::create(builder, op.getLoc(), ValueRange());
  return success();
}

Value RoleConverter::receive(Operation *op, Value ring) {
  auto type = cast<warp::RingType>(ring.getType());
  return warp::ReceiveOp::create(builder, op->getLoc(), type.getBufferType(),
                                 ring, Value(), Value());
}

LogicalResult RoleConverter::convertLoad(tile::LoadOp op) {
  buffers[op.getTile()] = receive(op, rings.lookup(op));
  query = buffers[op.getTile()];
  return success();
}

LogicalResult RoleConverter::convertStream(tile::StreamOp op) {
  return skipBefore(op);
}

LogicalResult RoleConverter::convertNext(tile::NextOp op) {
  Value ring = rings.lookup(op.getStream().getDefiningOp());
  if (!ring)
    return op.emitOpError("reads a stream that is passed around, but a ring is "
                          "named by its 'tile.stream'; use that");
  Value buffer = receive(op, ring);
  buffers[op.getTile()] = buffer;
  auto stream = op.getStream().getDefiningOp<tile::StreamOp>();
  // Rows of K past the limit give scores that the mask drops.
  bool isSummed = llvm::any_of(op.getTile().getUses(), [](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && !dot.getTransposeB();
  });
  if (!stream.getLimit() || !isSummed)
    return success();
  Location loc = op.getLoc();
  Value rows = arith::ConstantIndexOp::create(
      builder, loc, stream.getStream().getType().getShape()[0]);
  Value row = arith::MulIOp::create(builder, loc, lookup(op.getBlock()), rows);
  Value first =
      arith::SubIOp::create(builder, loc, lookup(stream.getLimit()), row);
  warp::ClearRowsOp::create(builder, loc, buffer, first);
  return success();
}

/// Is it the constant zero, from which a product may start by itself?
static bool isZero(Value acc) {
  auto constant = acc.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  return splat && splat.getSplatValue<APFloat>().isPosZero();
}

LogicalResult RoleConverter::convertDot(tile::DotOp op) {
  Value rhs = buffers.lookup(op.getRhs());
  Value lhs = buffers.lookup(op.getLhs());
  if (!lhs)
    lhs = values.lookupOrNull(op.getLhs());
  if (!rhs || !lhs)
    return op.emitOpError("reads its right operand from shared memory, but it "
                          "is neither a 'tile.load' nor a 'tile.next'; put the "
                          "computed tile on the left");
  warp::FragmentType type = fragmentType(op, op.getResult().getType(), false);
  if (!type)
    return failure();
  Value acc = isZero(op.getAcc()) ? Value() : lookup(op.getAcc());
  int64_t depth = cast<RankedTensorType>(op.getLhs().getType()).getDimSize(1);
  values.map(op.getResult(),
             Value(warp::WgmmaOp::create(builder, op.getLoc(), type, lhs, rhs,
                                         acc, op.getTransposeB(), depth)));
  return success();
}

LogicalResult RoleConverter::convertStore(tile::StoreOp op) {
  Value fragment = lookup(op.getTile());
  auto type = cast<warp::FragmentType>(fragment.getType());
  if (type.getRank() == 1)
    return KernelConverter::convertStore(op);
  Value buffer = staging;
  if (!buffer) {
    int64_t shape[] = {type.getShape()[0],
                       int64_t(llvm::alignTo(type.getShape()[1], kSegment))};
    auto alias = warp::BufferType::get(builder.getContext(), shape,
                                       type.getElementType(), kSegment,
                                       roles().getGroups());
    buffer = warp::AliasOp::create(builder, op.getLoc(), alias, query);
  }
  warp::EmitOp::create(builder, op.getLoc(), fragment, buffer,
                       lookup(op.getView()), lookup(op.getBatch()),
                       lookup(op.getHead()), lookup(op.getRow()));
  return success();
}

} // namespace flashc
