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
/// Slots of dS, and of sums on their way out.
static constexpr int64_t kScoreSlots = 2, kSumSlots = 2;

LogicalResult GradientConverter::convert() {
  FailureOr<int64_t> rows = findColumnsOf(kernel);
  if (failed(rows) || failed(findParts()))
    return failure();
  columnsOf = *rows;
  auto result = createKernel(roles().getGroups());
  createRings();
  Block *body = builder.getInsertionBlock();
  IRMapping atStart = values;
  if (failed(reduce()))
    return failure();
  values = atStart;
  builder.setInsertionPointToEnd(body);
  beginRole(warp::RoleKind::Consumer, roles().getConsumer());
  if (failed(convertBlock(kernel.getBody().front())))
    return failure();
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
      ofQueries.getRhs().getDefiningOp<tile::LoadOp>())
    return success();
  return kernel.emitOpError("has roles and adds up a sum, but not in one loop "
                            "over pairs of blocks that gives dS^T K; run "
                            "'tile-join-heads' first");
}

void GradientConverter::beginRole(warp::RoleKind kind, int64_t registers) {
  auto role = warp::RoleOp::create(builder, kernel.getLoc(), kind, registers);
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
  for (auto load : kernel.getBody().getOps<tile::LoadOp>())
    if (isStreamed(load) && !carriedOn.contains(load))
      rings[load] = createRing(load.getLoc(), typeOf(load), /*depth=*/1,
                               roles().getGroups());
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    if (!isStreamed(load))
      continue;
    // A block that the loop carries has a slot for two pairs; another gives one
    // up where blocks are long.
    bool isCarried =
        llvm::is_contained(llvm::make_second_range(carriedOn), load);
    int64_t rows = typeOf(load).getDimSize(0);
    bool isLong = rows > kSegment && stages > 2;
    rings[load] =
        createRing(load.getLoc(), typeOf(load), stages - (isLong && !isCarried),
                   /*parts=*/1, valuesOf.contains(load) ? rows : 0);
  }
  for (auto [load, next] : carriedOn)
    if (isStreamed(next))
      rings[load] = rings.lookup(next);
  scoreRing = createRing(ofQueries.getLoc(),
                         cast<RankedTensorType>(ofQueries.getLhs().getType()),
                         kScoreSlots, roles().getGroups());
  auto room =
      warp::StagingType::get(builder.getContext(), {64, getPartColumns()},
                             builder.getF32Type(), kSumSlots);
  staging = warp::StagingOp::create(builder, accumulate.getLoc(), room,
                                    /*offset=*/IntegerAttr());
}

//===----------------------------------------------------------------------===//
// The consumer
//===----------------------------------------------------------------------===//

LogicalResult GradientConverter::convertReturn(tile::ReturnOp) {
  return success();
}

/// Indices that a loop carries for others alone: the consumer does not load, so
/// it needs no heads. Each becomes what it starts as, and canonicalization
/// takes it away.
static void dropUnusedIndices(scf::ForOp loop) {
  auto isIndexOp = [](Operation *op) {
    return op->getNumRegions() == 0 && isPure(op) &&
           llvm::all_of(op->getResultTypes(),
                        llvm::IsaPred<IndexType, IntegerType>);
  };
  llvm::SmallPtrSet<Value, 16> used;
  SmallVector<Value> todo;
  auto use = [&](Value value) {
    if (used.insert(value).second)
      todo.push_back(value);
  };
  loop.getBody()->walk([&](Operation *op) {
    if (!isIndexOp(op) && op != loop.getBody()->getTerminator())
      for (Value operand : op->getOperands())
        use(operand);
  });
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (Operation *op = value.getDefiningOp())
      for (Value operand : op->getOperands())
        use(operand);
    else if (auto argument = dyn_cast<BlockArgument>(value);
             argument && loop.getTiedLoopInit(argument))
      use(loop.getTiedLoopYieldedValue(argument)->get());
  }
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (argument.getType().isIndex() && !used.contains(argument) &&
        loop.getResult(i).use_empty())
      yield->setOperand(i, argument);
}

LogicalResult GradientConverter::convertFor(scf::ForOp op) {
  SmallVector<Value> inits;
  for (Value init : op.getInitArgs())
    inits.push_back(isCarriedBuffer(init) ? buffers.lookup(init)
                                          : lookup(init));
  auto result = scf::ForOp::create(
      builder, op.getLoc(), lookup(op.getLowerBound()),
      lookup(op.getUpperBound()), lookup(op.getStep()), inits,
      // With a body builder the loop gets no terminator of its own.
      [](OpBuilder &, Location, Value, ValueRange) {});
  values.map(op.getInductionVar(), result.getInductionVar());
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    if (isCarriedBuffer(init)) {
      buffers[op.getRegionIterArg(i)] = result.getRegionIterArg(i);
    } else {
      values.map(op.getRegionIterArg(i), result.getRegionIterArg(i));
      values.map(op.getResult(i), result.getResult(i));
    }
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(result.getBody());
  if (failed(convertBlock(*op.getBody())))
    return failure();
  dropUnusedIndices(result);
  return success();
}

LogicalResult GradientConverter::convertYield(scf::YieldOp op) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
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
  Value ring = rings.lookup(op);
  auto type = cast<warp::RingType>(ring.getType());
  Value buffer = warp::ReceiveOp::create(
      builder, op.getLoc(), type.getBufferType(), ring, Value(), Value());
  buffers[op.getTile()] = buffer;
  // The last of the key block's tiles that is received, V.
  if (type.getParts() > 1)
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
  if (op == ofQueries)
    return success();
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

LogicalResult GradientConverter::convertAccumulate(tile::AccumulateOp op) {
  if (op.getOrdered() == bool(op.getFollows()))
    return success();
  return op.emitOpError("adds in the order of the blocks, but does not know "
                        "which of them add to the same rows; run "
                        "'tile-join-heads' first");
}

/// The read of D that stands right in front of what makes dS, or null.
static Operation *findRead(Value scoreGradient) {
  auto map = scoreGradient.getDefiningOp<warp::MapOp>();
  while (map && map.getInputs().size() == 1)
    map = map.getInputs().front().getDefiningOp<warp::MapOp>();
  return map ? dyn_cast_or_null<warp::ReadValuesOp>(map->getPrevNode())
             : nullptr;
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
    if (Operation *read = findRead(lookup(tile)))
      builder.setInsertionPoint(read);
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

/// Through the bytes of V, which only its own group reads.
LogicalResult GradientConverter::convertStore(tile::StoreOp op) {
  Value fragment = lookup(op.getTile());
  auto type = cast<warp::FragmentType>(fragment.getType());
  if (type.getRank() == 1)
    return KernelConverter::convertStore(op);
  int64_t shape[] = {type.getShape()[0],
                     int64_t(llvm::alignTo(type.getShape()[1], kSegment))};
  auto alias =
      warp::BufferType::get(builder.getContext(), shape, type.getElementType(),
                            kSegment, roles().getGroups());
  Value buffer =
      warp::AliasOp::create(builder, op.getLoc(), alias, valueBuffer);
  warp::EmitOp::create(builder, op.getLoc(), fragment, buffer,
                       lookup(op.getView()), lookup(op.getBatch()),
                       lookup(op.getHead()), lookup(op.getRow()));
  return success();
}

} // namespace flashc
