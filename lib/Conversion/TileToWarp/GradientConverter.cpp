// The main kernel of a backward whose warps have roles, of
// convert-tile-to-warp: rings, and the consumer. In: the loop over pairs that
// tile-overlap-pairs leaves. The reducer is in Reducer.cpp.
#include "GradientConverter.h"

#include "flashc/Dialect/Tile/IR/Redo.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {

/// TMA and wgmma with the 128-byte swizzle: 64 elements of 16 bits.
static constexpr int64_t kSegment = 64;
/// Slots of dS, of P between groups, and of sums on their way out.
static constexpr int64_t kScoreSlots = 2, kProbSlots = 2, kSumSlots = 2;

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
  kernel.walk([&](tile::AccumulateOp op) { sums.push_back(op); });
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

Value GradientConverter::createRing(Location loc, RankedTensorType tile,
                                    int64_t depth, int64_t parts,
                                    int64_t values) {
  int64_t shape[] = {tile.getDimSize(0),
                     int64_t(llvm::alignTo(tile.getDimSize(1), kSegment))};
  auto type =
      warp::RingType::get(builder.getContext(), shape, tile.getElementType(),
                          kSegment, depth, parts, values);
  return warp::RingOp::create(builder, loc, type, /*offset=*/IntegerAttr(),
                              /*barriers=*/IntegerAttr());
}

/// Columns of a product of the reducer: 64 take 32 registers of a thread,
/// beside some 40 that it has in any case.
int64_t GradientConverter::getPartColumns() {
  constexpr int64_t kWide = 72;
  return roles().getProducer() < kWide ? 32 : 64;
}

/// Whether a load fills a slot of shared memory; others go to registers.
bool GradientConverter::isStreamed(tile::LoadOp load) {
  return cast<MemRefType>(load.getView().getType()).getRank() == 4;
}

/// Whether whole blocks of a workspace's rows are there.
bool GradientConverter::isPadded(Value view) {
  auto argument = cast<BlockArgument>(view);
  auto sizes = kernel.getArgAttrOfType<ArrayAttr>(argument.getArgNumber(),
                                                  "tile.workspace");
  return sizes && sizes.size() == 3 &&
         cast<StringAttr>(sizes[2]).getValue().starts_with("queries up to ");
}

/// The load of a value for each row of `load`, which comes with it.
tile::LoadOp GradientConverter::findValues(tile::LoadOp load) {
  auto rows = cast<RankedTensorType>(load.getTile().getType()).getDimSize(0);
  for (auto other : load->getBlock()->getOps<tile::LoadOp>()) {
    auto type = cast<RankedTensorType>(other.getTile().getType());
    if (!isStreamed(other) && type.getRank() == 2 && type.getDimSize(0) == 1 &&
        type.getDimSize(1) == rows && other.getBatch() == load.getBatch() &&
        other.getHead() == load.getHead() && other.getRow() == load.getRow() &&
        load->isBeforeInBlock(other) && isPadded(other.getView()))
      return other;
  }
  return {};
}

/// Blocks of queries pass through rings of `stages` slots, also the one that is
/// loaded before the loop and carried into it; those of keys stay, dealt to
/// the groups.
void GradientConverter::createRings() {
  auto typeOf = [](tile::LoadOp load) {
    return cast<RankedTensorType>(load.getTile().getType());
  };
  int64_t stages = kernel.getSchedule().getStages();
  llvm::DenseMap<Operation *, tile::LoadOp> carriedOn;
  for (auto [init, value] :
       llvm::zip_equal(loop.getInitArgs(), loop.getYieldedValues()))
    if (auto load = init.getDefiningOp<tile::LoadOp>())
      if (auto next = value.getDefiningOp<tile::LoadOp>())
        carriedOn[load] = next;
  kernel.walk([&](tile::LoadOp load) {
    if (tile::isInRedo(load))
      return;
    if (tile::LoadOp values =
            isStreamed(load) ? findValues(load) : tile::LoadOp()) {
      valuesOf[load] = values;
      rowsOf[values] = load;
    }
  });
  for (auto load : kernel.getBody().getOps<tile::LoadOp>()) {
    if (!isStreamed(load) || carriedOn.contains(load))
      continue;
    Value ring =
        createRing(load.getLoc(), typeOf(load), /*depth=*/1, getParts());
    rings[load] = ring;
    (load.getTile() == ofQueries.getRhs() ? keyRing : valueRing) = ring;
  }
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    if (!isStreamed(load))
      continue;
    // A block that the loop carries has a slot for two pairs; another gives one
    // up where blocks are long and sums take room.
    bool isCarried =
        llvm::is_contained(llvm::make_second_range(carriedOn), load);
    int64_t rows = typeOf(load).getDimSize(0);
    bool isLong = rows > kSegment && stages > 2 && accumulate.getOrdered();
    rings[load] =
        createRing(load.getLoc(), typeOf(load), stages - (isLong && !isCarried),
                   /*parts=*/1, valuesOf.contains(load) ? rows : 0);
  }
  for (auto [load, next] : carriedOn)
    if (isStreamed(next))
      rings[load] = rings.lookup(next);
  scoreRing = createRing(ofQueries.getLoc(),
                         cast<RankedTensorType>(ofQueries.getLhs().getType()),
                         kScoreSlots, getParts());
  if (isShared()) {
    weightRing =
        createRing(weights.getLoc(), cast<RankedTensorType>(weights.getType()),
                   kProbSlots, /*parts=*/1);
    return;
  }
  // A turn's end waits for a group of copies at no cost, but for additions from
  // registers with a fence.
  if (!accumulate.getOrdered())
    return;
  auto room =
      warp::StagingType::get(builder.getContext(), {64, getPartColumns()},
                             builder.getF32Type(), kSumSlots);
  staging = warp::StagingOp::create(builder, accumulate.getLoc(), room,
                                    /*offset=*/IntegerAttr());
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
  Value buffer = receive(op.getLoc(), rings.lookup(op));
  buffers[op.getTile()] = buffer;
  // The last of the key block's tiles that is received, V.
  if (cast<warp::BufferType>(buffer.getType()).getParts() > 1)
    valueBuffer = buffer;
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

/// Through the bytes of V, of which only its own group reads its part; where
/// groups share the results, through those of V or K, once nobody reads them.
LogicalResult GradientConverter::convertStore(tile::StoreOp op) {
  Value fragment = lookup(op.getTile());
  auto type = cast<warp::FragmentType>(fragment.getType());
  if (type.getRank() == 1)
    return KernelConverter::convertStore(op);
  Value buffer;
  if (isShared()) {
    Value ring = *groupNow == kValueGroup ? valueRing : keyRing;
    buffer = warp::ReclaimOp::create(
        builder, op.getLoc(),
        cast<warp::RingType>(ring.getType()).getBufferType(), ring);
  } else {
    int64_t shape[] = {type.getShape()[0],
                       int64_t(llvm::alignTo(type.getShape()[1], kSegment))};
    auto alias =
        warp::BufferType::get(builder.getContext(), shape,
                              type.getElementType(), kSegment, getParts());
    buffer = warp::AliasOp::create(builder, op.getLoc(), alias, valueBuffer);
  }
  warp::EmitOp::create(builder, op.getLoc(), fragment, buffer,
                       lookup(op.getView()), lookup(op.getBatch()),
                       lookup(op.getHead()), lookup(op.getRow()));
  return success();
}

} // namespace flashc
