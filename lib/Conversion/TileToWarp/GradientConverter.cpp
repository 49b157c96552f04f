// The main kernel of a backward whose warps have roles, of
// convert-tile-to-warp: its parts, and the consumers. In: the loop over pairs
// that tile-overlap-pairs leaves. Rings are in GradientRings.cpp, the reducer
// in Reducer.cpp.
#include "GradientConverter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {

LogicalResult GradientConverter::convert() {
  FailureOr<int64_t> rows = findColumnsOf(kernel);
  if (failed(rows) || failed(findParts()))
    return failure();
  columnsOf = *rows;
  auto result = createKernel(roles().getGroups());
  createRings();
  Block *body = builder.getInsertionBlock();
  IRMapping atStart = values;
  LogicalResult isDone = reduce();
  SmallVector<std::optional<int64_t>> groups = {std::nullopt};
  if (isShared())
    groups = {kValueGroup, kKeyGroup};
  for (std::optional<int64_t> group : groups) {
    values = atStart;
    builder.setInsertionPointToEnd(body);
    if (failed(isDone) || failed(consume(group)))
      return failure();
  }
  builder.setInsertionPointToEnd(body);
  warp::ReturnOp::create(builder, result.getLoc());
  return success();
}

LogicalResult GradientConverter::findParts() {
  SmallVector<tile::AccumulateOp> sums;
  kernel.walk([&](tile::AccumulateOp op) {
    if (op.getTile().getDefiningOp<tile::DotOp>())
      sums.push_back(op);
  });
  accumulate = sums.size() == 1 ? sums[0] : tile::AccumulateOp();
  loop = accumulate ? dyn_cast<scf::ForOp>(accumulate->getParentOp())
                    : scf::ForOp();
  ofQueries = accumulate ? accumulate.getTile().getDefiningOp<tile::DotOp>()
                         : tile::DotOp();
  bool isOutermost = loop && loop->getParentOp() == kernel;
  if (isOutermost && ofQueries && ofQueries.getTransposeA() &&
      ofQueries.getRhs().getDefiningOp<tile::LoadOp>()) {
    if (accumulate.getOrdered() != bool(accumulate.getFollows()))
      return accumulate.emitOpError(
          "adds in the order of the blocks, but does not know "
          "which of them add to the same rows; run "
          "'tile-join-heads' first");
    findWeights();
    if (!isShared() || weights)
      return success();
  }
  return kernel.emitOpError("has roles and adds up a sum, but not in one loop "
                            "over pairs of blocks that gives dS^T K; run "
                            "'tile-join-heads' first");
}

/// The 16-bit tile that dS is computed from.
void GradientConverter::findWeights() {
  auto isRounded = [](Value tile) {
    return tile.getDefiningOp<tile::MapOp>() &&
           cast<RankedTensorType>(tile.getType()).getElementTypeBitWidth() ==
               16;
  };
  SmallVector<Value> todo = {ofQueries.getLhs()};
  while (!todo.empty()) {
    auto map = todo.pop_back_val().getDefiningOp<tile::MapOp>();
    if (!map)
      continue;
    for (Value input : map.getInputs())
      if (isRounded(input))
        weights = input;
      else
        todo.push_back(input);
  }
}

void GradientConverter::beginRole(warp::RoleKind kind, int64_t registers,
                                  std::optional<int64_t> group) {
  auto role = warp::RoleOp::create(builder, kernel.getLoc(), kind, registers,
                                   group ? builder.getI64IntegerAttr(*group)
                                         : IntegerAttr());
  builder.createBlock(&role.getBody());
}

//===----------------------------------------------------------------------===//
// The consumer
//===----------------------------------------------------------------------===//

LogicalResult GradientConverter::consume(std::optional<int64_t> group) {
  groupNow = group;
  findNeeded();
  beginRole(warp::RoleKind::Consumer, roles().getConsumer(), group);
  return convertBlock(kernel.getBody().front());
}

LogicalResult GradientConverter::convertOp(Operation *op) {
  bool makesWeights = groupNow && llvm::is_contained(op->getResults(), weights);
  if (makesWeights && *groupNow == kKeyGroup) {
    receiveWeights();
    return success();
  }
  if (!needed.contains(op) && !op->hasTrait<OpTrait::IsTerminator>())
    return success();
  if (failed(KernelConverter::convertOp(op)))
    return failure();
  if (makesWeights)
    sendWeights();
  return success();
}

void GradientConverter::sendWeights() {
  Location loc = weights.getLoc();
  auto type = cast<warp::RingType>(weightRing.getType());
  Value buffer = warp::AcquireOp::create(builder, loc, type.getBufferType(),
                                         weightRing, Value(), Value());
  warp::StoreOp::create(builder, loc, lookup(weights), buffer);
  warp::CommitOp::create(builder, loc, buffer);
}

Value GradientConverter::receive(Location loc, Value ring) {
  auto type = cast<warp::RingType>(ring.getType());
  return warp::ReceiveOp::create(builder, loc, type.getBufferType(), ring,
                                 Value(), Value());
}

void GradientConverter::receiveWeights() {
  Location loc = weights.getLoc();
  Value buffer = receive(loc, weightRing);
  warp::FragmentType fragment =
      fragmentType(weights.getDefiningOp(), weights.getType(), false);
  values.map(weights,
             Value(warp::LoadOp::create(builder, loc, fragment, buffer)));
}

LogicalResult GradientConverter::convertReturn(tile::ReturnOp) {
  return success();
}

LogicalResult GradientConverter::convertFor(scf::ForOp op) {
  SmallVector<Value> inits;
  for (auto [init, argument] :
       llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs()))
    if (isCarried(argument))
      inits.push_back(isCarriedBuffer(init) ? buffers.lookup(init)
                                            : lookup(init));
  auto result = scf::ForOp::create(
      builder, op.getLoc(), lookup(op.getLowerBound()),
      lookup(op.getUpperBound()), lookup(op.getStep()), inits,
      // With a body builder the loop gets no terminator of its own.
      [](OpBuilder &, Location, Value, ValueRange) {});
  values.map(op.getInductionVar(), result.getInductionVar());
  size_t next = 0;
  SmallVector<Value> lateRings;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    BlockArgument argument = op.getRegionIterArg(i);
    if (carried.contains(argument) && isLate(argument)) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(result.getBody());
      lateRings.push_back(rings.lookup(init.getDefiningOp()));
      buffers[argument] = receive(op.getLoc(), lateRings.back());
    }
    if (!isCarried(argument))
      continue;
    if (isCarriedBuffer(init)) {
      buffers[argument] = result.getRegionIterArg(next);
    } else {
      values.map(argument, result.getRegionIterArg(next));
      values.map(op.getResult(i), result.getResult(next));
    }
    ++next;
  }
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(result.getBody());
    if (failed(convertBlock(*op.getBody())))
      return failure();
  }
  for (Value ring : lateRings) // the block behind the last pair's
    receive(op.getLoc(), ring);
  return success();
}

LogicalResult GradientConverter::convertYield(scf::YieldOp op) {
  SmallVector<Value> operands;
  auto around = dyn_cast<scf::ForOp>(op->getParentOp());
  for (auto [i, operand] : llvm::enumerate(op.getOperands()))
    if (!around || isCarried(around.getRegionIterArg(i)))
      operands.push_back(isCarriedBuffer(operand) ? buffers.lookup(operand)
                                                  : lookup(operand));
  scf::YieldOp::create(builder, op.getLoc(), operands);
  return success();
}

LogicalResult GradientConverter::convertLoad(tile::LoadOp op) {
  if (tile::LoadOp rows = rowsOf.lookup(op)) {
    warp::FragmentType type = fragmentType(op, op.getTile().getType(), false);
    if (!type)
      return failure();
    values.map(op.getTile(), Value(warp::ReadValuesOp::create(
                                 builder, op.getLoc(), type,
                                 buffers.lookup(rows.getTile()))));
    return success();
  }
  if (!isStreamed(op))
    return convertLoadToFragment(op);
  if (isLate(op))
    return success();
  buffers[op.getTile()] = receive(op.getLoc(), rings.lookup(op));
  return success();
}

/// Is it the constant zero, from which a product may start by itself?
static bool isZero(Value acc) {
  auto constant = acc.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                        : SplatElementsAttr();
  return splat && splat.getSplatValue<APFloat>().isPosZero();
}

LogicalResult GradientConverter::convertDot(tile::DotOp op) {
  Value rhs = buffers.lookup(op.getRhs());
  Value lhs = buffers.lookup(op.getLhs());
  if (Value fragment = values.lookupOrNull(op.getLhs()))
    lhs = fragment;
  if (!rhs || !lhs || op.getTransposeA())
    return op.emitOpError("reads its right operand from a ring and its left "
                          "one from there or from registers, but one is "
                          "elsewhere; run 'tile-overlap-pairs' first");
  warp::FragmentType type = fragmentType(op, op.getResult().getType(), false);
  if (!type)
    return failure();
  Value acc = isZero(op.getAcc()) ? Value() : lookup(op.getAcc());
  int64_t depth = cast<RankedTensorType>(op.getLhs().getType()).getDimSize(1);
  values.map(op.getResult(),
             Value(warp::WgmmaOp::create(builder, op.getLoc(), type, lhs, rhs,
                                         acc, op.getTransposeB(), depth)));
  if (scoreBuffer && op.getLhs() == ofQueries.getLhs())
    commitScores(op.getLoc());
  return success();
}

/// What makes dS, from the read of D right in front of it on, or null.
static Operation *findStart(Value scoreGradient) {
  auto map = scoreGradient.getDefiningOp<warp::MapOp>();
  while (map && map.getInputs().size() == 1)
    map = map.getInputs().front().getDefiningOp<warp::MapOp>();
  Operation *before = map ? map->getPrevNode() : nullptr;
  return isa_and_nonnull<warp::ReadValuesOp>(before) ? before : map;
}

/// dS, and nothing else: the other role reads it. Its slot is waited for where
/// products are under way, in front of the read of D, so that nothing parts dS
/// from its store.
LogicalResult GradientConverter::storeForProducts(Operation *op, Value tile) {
  if (tile != ofQueries.getLhs())
    return success();
  Location loc = op->getLoc();
  auto type = cast<warp::RingType>(scoreRing.getType());
  {
    OpBuilder::InsertionGuard guard(builder);
    if (Operation *start = findStart(lookup(tile)))
      builder.setInsertionPoint(start);
    scoreBuffer = warp::AcquireOp::create(builder, loc, type.getBufferType(),
                                          scoreRing, Value(), Value());
  }
  warp::StoreOp::create(builder, loc, lookup(tile), scoreBuffer);
  bool isMultipliedHere = llvm::any_of(tile.getUsers(), [&](Operation *user) {
    return user != ofQueries && isa<tile::DotOp>(user);
  });
  if (!isMultipliedHere)
    commitScores(loc);
  return success();
}

/// Behind the start of the product for dK: the fence takes its time.
void GradientConverter::commitScores(Location loc) {
  warp::CommitOp::create(builder, loc, scoreBuffer);
  scoreBuffer = Value();
}

/// dV through the bytes of V and dK through those of K, once nobody reads them,
/// so that neither waits for the other to be copied out.
LogicalResult GradientConverter::convertStore(tile::StoreOp op) {
  Value fragment = lookup(op.getTile());
  auto type = cast<warp::FragmentType>(fragment.getType());
  if (type.getRank() == 1)
    return KernelConverter::convertStore(op);
  Value ring = isValueGradient(op) ? valueRing : keyRing;
  Value buffer = warp::ReclaimOp::create(
      builder, op.getLoc(),
      cast<warp::RingType>(ring.getType()).getBufferType(), ring);
  warp::EmitOp::create(builder, op.getLoc(), fragment, buffer,
                       lookup(op.getView()), lookup(op.getBatch()),
                       lookup(op.getHead()), lookup(op.getRow()));
  return success();
}

} // namespace flashc
