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

LogicalResult KernelConverter::convertDot(tile::DotOp op) {
  Value rhs = buffers.lookup(op.getRhs());
  if (!rhs)
    return op.emitOpError("reads its right operand from shared memory, but it "
                          "is neither a 'tile.load' nor a 'tile.next'; put the "
                          "computed tile on the left");
  // Q is read from its fragment where it has one, any other tile where it is.
  Value lhs = values.lookupOrNull(op.getLhs());
  if (!lhs)
    lhs = buffers.lookup(op.getLhs());
  auto multiply = [&](bool guarded) -> Value {
    return warp::MmaOp::create(builder, op.getLoc(), lhs, rhs,
                               lookup(op.getAcc()), op.getTransposeB(),
                               guarded);
  };
  if (!op.getGuarded()) {
    values.map(op.getResult(), multiply(false));
    return success();
  }
  // Values that are not finite are rare: one look at the buffer decides for the
  // whole block.
  Value bad =
      warp::ScanOp::create(builder, op.getLoc(), builder.getI1Type(), rhs);
  auto branch = scf::IfOp::create(builder, op.getLoc(),
                                  lookup(op.getAcc()).getType(), bad,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (bool guarded : {true, false}) {
    builder.setInsertionPointToStart(guarded ? branch.thenBlock()
                                             : branch.elseBlock());
    Value product = multiply(guarded);
    scf::YieldOp::create(builder, op.getLoc(), product);
  }
  values.map(op.getResult(), branch.getResult(0));
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
  Block &from = op.getBody().front();
  OpBuilder::InsertionGuard guard(builder);
  Block *to = builder.createBlock(&map.getBody());
  for (BlockArgument argument : from.getArguments())
    values.map(argument,
               to->addArgument(argument.getType(), argument.getLoc()));
  for (Operation &scalar : from.without_terminator())
    builder.clone(scalar, values);
  warp::YieldOp::create(builder, op.getLoc(),
                        lookupAll(from.getTerminator()->getOperands()));
  return success();
}

LogicalResult KernelConverter::convertReduce(tile::ReduceOp op) {
  auto kind = op.getKind() == tile::ReduceKind::Max ? warp::ReduceKind::Max
                                                    : warp::ReduceKind::Add;
  auto reduce =
      warp::ReduceOp::create(builder, op.getLoc(), kind, lookup(op.getTile()),
                             lookup(op.getInit(), op.getDeferred()));
  values.map(op.getResult(), reduce.getResult());
  return success();
}

LogicalResult KernelConverter::convertCollect(tile::CollectOp op) {
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
