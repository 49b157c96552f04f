// Constants, dots, maps and reductions of convert-tile-to-warp: each tile op
// becomes its twin on fragments.
#include "KernelConverter.h"

using namespace mlir;

namespace flashc {

LogicalResult KernelConverter::convertConstant(arith::ConstantOp op) {
  if (!isa<RankedTensorType>(op.getType()))
    return cloneScalar(op);
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return op.emitOpError("is a tile of different constants, but a fragment is "
                          "filled with one; compute it with a 'tile.map' over "
                          "its coordinates");
  warp::FragmentType type = fragmentType(op, op.getType(), false);
  if (!type)
    return failure();
  values.map(op.getResult(),
             Value(warp::FillOp::create(
                 builder, op.getLoc(), type,
                 cast<TypedAttr>(splat.getSplatValue<Attribute>()))));
  return success();
}

bool KernelConverter::isDealtByColumns(Value tile) {
  int64_t rows = cast<RankedTensorType>(tile.getType()).getDimSize(0);
  tile::ScheduleAttr schedule = kernel.getSchedule();
  return rows < schedule.getWarpRows() * schedule.getRowWarps();
}

bool KernelConverter::isReadFromShared(Value tile) {
  return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && use.getOperandNumber() == 0 &&
           (dot.getTransposeA() || isDealtByColumns(tile));
  });
}

/// The loops of a kernel share their buffers: the n-th tile of one type that a
/// block stores has the n-th of them.
Value KernelConverter::getStoreBuffer(Operation *op, warp::BufferType type) {
  int64_t number = storeCounts[{op->getBlock(), type}]++;
  Value &buffer = storeBuffers[{type, number}];
  if (buffer)
    return buffer;
  Operation *outermost = builder.getInsertionBlock()->getParentOp();
  OpBuilder::InsertionGuard guard(builder);
  if (!isa<warp::KernelOp>(outermost)) {
    while (!isa<warp::KernelOp>(outermost->getParentOp()))
      outermost = outermost->getParentOp();
    builder.setInsertionPoint(outermost);
  }
  buffer = warp::AllocOp::create(builder, op->getLoc(), type,
                                 /*offset=*/IntegerAttr());
  return buffer;
}

/// The store stands where the tile is computed and the barrier before its first
/// reader: what stands between them hides it. The buffer's readers of the last
/// iteration are behind the gets in between.
LogicalResult KernelConverter::storeForProducts(Operation *op, Value tile) {
  if (!isReadFromShared(tile))
    return success();
  warp::BufferType type = bufferType(op, tile);
  if (!type)
    return failure();
  bool isBehindGet = !op->getBlock()->getOps<tile::NextOp>().empty();
  if (op->getBlock() != &kernel.getBody().front() && !isBehindGet)
    warp::BarrierOp::create(builder, op->getLoc());
  Value buffer = getStoreBuffer(op, type);
  warp::StoreOp::create(builder, op->getLoc(), lookup(tile), buffer);
  buffers[tile] = buffer;
  stored.insert(tile);
  return success();
}

LogicalResult KernelConverter::convertDot(tile::DotOp op) {
  if (getElementTypeOrSelf(op.getRhs().getType()).isF32())
    return op.emitOpError("multiplies tiles of f32, but shared memory and the "
                          "tensor cores take f16 and bf16; convert the "
                          "elements first");
  Value rhs = buffers.lookup(op.getRhs());
  if (!rhs)
    return op.emitOpError("reads its right operand from shared memory, but it "
                          "is neither a 'tile.load' nor a 'tile.next'; put the "
                          "computed tile on the left");
  // Q is read from its fragment where it has one, any other tile where it is.
  Value lhs = values.lookupOrNull(op.getLhs());
  bool needsBuffer = op.getTransposeA() || isDealtByColumns(op.getLhs());
  if (!lhs || needsBuffer)
    lhs = buffers.lookup(op.getLhs());
  if (!lhs)
    return op.emitOpError("reads its left operand from shared memory, but it "
                          "is neither loaded nor computed by a 'tile.map'");
  if (needsBuffer && stored.contains(op.getLhs())) {
    // One barrier for all tiles that are stored by now.
    warp::BarrierOp::create(builder, op.getLoc());
    stored.clear();
  }
  Value acc = lookup(op.getAcc());
  auto multiply = [&](bool guarded) -> Value {
    return warp::MmaOp::create(builder, op.getLoc(), lhs, rhs, acc,
                               op.getTransposeA(), op.getTransposeB(), guarded);
  };
  if (!op.getGuarded()) {
    values.map(op.getResult(), multiply(false));
    return success();
  }
  // Values that are not finite are rare: one look at the buffer decides for the
  // whole block.
  Value bad =
      warp::ScanOp::create(builder, op.getLoc(), builder.getI1Type(), rhs);
  auto choose = [&](function_ref<Value()> ifBad, function_ref<Value()> ifNot) {
    auto branch = scf::IfOp::create(builder, op.getLoc(), acc.getType(), bad,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    for (bool isBad : {true, false}) {
      builder.setInsertionPointToStart(isBad ? branch.thenBlock()
                                             : branch.elseBlock());
      scf::YieldOp::create(builder, op.getLoc(), isBad ? ifBad() : ifNot());
    }
    return branch.getResult(0);
  };
  // Where nobody else reads these elements, one product serves both.
  bool isOwn = op.getRhs().hasOneUse() &&
               op.getRhs().getDefiningOp()->getBlock() == op->getBlock();
  if (isOwn && isa<warp::FragmentType>(lhs.getType())) {
    acc = choose(
        [&] {
          return warp::ScrubOp::create(builder, op.getLoc(), lhs, rhs, acc);
        },
        [&] { return acc; });
    values.map(op.getResult(), multiply(false));
    return success();
  }
  values.map(op.getResult(), choose([&] { return multiply(true); },
                                    [&] { return multiply(false); }));
  return success();
}

/// A body computes on scalars; whole tiles come in as inputs only.
static LogicalResult checkBody(tile::MapOp op) {
  WalkResult result = op.getBody().walk([](Operation *scalar) {
    if (llvm::any_of(scalar->getOperandTypes(),
                     llvm::IsaPred<RankedTensorType>))
      return WalkResult(scalar->emitOpError(
          "reads a whole tile in the body of a 'tile.map', which gets scalars; "
          "make the tile an input of the map"));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void KernelConverter::cloneElements(Block &from, Region &region) {
  OpBuilder::InsertionGuard guard(builder);
  Block *to = builder.createBlock(&region);
  for (BlockArgument argument : from.getArguments())
    values.map(argument,
               to->addArgument(argument.getType(), argument.getLoc()));
  for (Operation &scalar : from.without_terminator())
    builder.clone(scalar, values);
  Operation *end = from.getTerminator();
  warp::YieldOp::create(builder, end->getLoc(), lookupAll(end->getOperands()));
}

LogicalResult KernelConverter::convertMap(tile::MapOp op) {
  if (failed(checkBody(op)))
    return failure();
  SmallVector<Type> types;
  if (failed(convertTypes(op.getResults(), types)))
    return failure();
  auto map =
      warp::MapOp::create(builder, op.getLoc(), types,
                          lookupAll(op.getInputs()), lookupAll(op.getOrigin()));
  values.map(op.getResults(), map.getResults());
  cloneElements(op.getBody().front(), map.getBody());
  for (Value result : op.getResults())
    if (failed(storeForProducts(op, result)))
      return failure();
  return success();
}

LogicalResult KernelConverter::convertReduce(tile::ReduceOp op) {
  if (isDealtByColumns(op.getTile()) && !op.getDeferred())
    return op.emitOpError("sums rows, but ")
           << kernel.getSchedule().getWarps()
           << " warps have fewer rows each than they take of "
           << op.getTile().getType() << "; use larger blocks or fewer warps";
  auto kind = op.getKind() == tile::ReduceKind::Max ? warp::ReduceKind::Max
                                                    : warp::ReduceKind::Add;
  auto reduce =
      warp::ReduceOp::create(builder, op.getLoc(), kind, lookup(op.getTile()),
                             lookup(op.getInit(), op.getDeferred()));
  values.map(op.getResult(), reduce.getResult());
  return success();
}

/// Does `scatter` add the elements of its one input as they are? Then parts of
/// them may be added one by one.
static bool isLinear(tile::ScatterOp scatter) {
  Block &body = scatter.getBody().front();
  return scatter.getKind() == tile::ScatterKind::Add &&
         scatter.getInputs().size() == 1 && !scatter.getExclusive() &&
         body.getTerminator()->getOperand(1) == body.getArgument(0) &&
         llvm::hasSingleElement(body.getArgument(0).getUses());
}

LogicalResult KernelConverter::convertCollect(tile::CollectOp op) {
  // Lanes of several warps have parts of a row where its columns are dealt.
  if (isDealtByColumns(op.getParts())) {
    for (Operation *user : op->getUsers())
      if (auto scatter = dyn_cast<tile::ScatterOp>(user);
          !scatter || !isLinear(scatter))
        return op.emitOpError("sums parts of rows that several warps have, but "
                              "its result is used for more than an addition to "
                              "memory; use larger blocks or fewer warps");
    values.map(op.getResult(), lookup(op.getParts(), true));
    return success();
  }
  warp::FragmentType type = fragmentType(op, op.getResult().getType(), false);
  if (!type)
    return failure();
  auto collect = warp::CollectOp::create(builder, op.getLoc(), type,
                                         lookup(op.getParts(), true));
  values.map(op.getResult(), collect.getResult());
  return success();
}

LogicalResult KernelConverter::convertAny(tile::AnyOp op) {
  auto any =
      warp::AnyOp::create(builder, op.getLoc(), lookup(op.getConditions()));
  values.map(op.getResult(), any.getResult());
  return success();
}

LogicalResult KernelConverter::convertAnyNotFinite(tile::AnyNotFiniteOp op) {
  auto any =
      warp::AnyNotFiniteOp::create(builder, op.getLoc(), lookup(op.getTile()));
  values.map(op.getResult(), any.getResult());
  return success();
}

LogicalResult KernelConverter::convertAnyAbove(tile::AnyAboveOp op) {
  auto any =
      warp::AnyAboveOp::create(builder, op.getLoc(), lookup(op.getScores()),
                               lookup(op.getLimits()), op.getFloorAttr());
  values.map(op.getResult(), any.getResult());
  return success();
}

} // namespace flashc
