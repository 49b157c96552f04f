// The frame of convert-tile-to-warp: the kernel, its blocks, loops and
// branches, and the types of values. What ops on memory become is in
// ConvertMemory.cpp, ops on tiles in ConvertCompute.cpp.
#include "KernelConverter.h"

#include "flashc/Dialect/Tile/IR/Redo.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace flashc {

static bool isTile(Type type) {
  return isa<RankedTensorType, tile::StreamType>(type);
}

/// The kernel's own grid as an attribute of `warp.kernel`; null for that of Q.
static DenseI64ArrayAttr getGrid(tile::KernelOp kernel) {
  tile::GridAttr grid = kernel.getGrid().value_or(tile::GridAttr());
  if (!grid)
    return {};
  SmallVector<int64_t> places;
  for (ArrayRef<int64_t> place :
       {grid.getBatch(), grid.getHeads(), grid.getBlocks()})
    if (place.empty())
      places.append({-1, 0});
    else
      places.append(place.begin(), place.end());
  return DenseI64ArrayAttr::get(kernel.getContext(), places);
}

FailureOr<int64_t> findColumnsOf(tile::KernelOp kernel) {
  int64_t rows = 0;
  WalkResult result = kernel.walk([&](tile::MapOp map) {
    bool hasColumns = false;
    int64_t most = 1;
    for (Type type : map.getInputs().getTypes()) {
      auto tile = cast<RankedTensorType>(type);
      hasColumns |= tile.getRank() == 2 && tile.getDimSize(0) == 1;
      most = std::max(most, tile.getDimSize(0));
    }
    if (!hasColumns || most == 1)
      return WalkResult::advance();
    if (rows && rows != most)
      return WalkResult(map.emitOpError("meets column values with a tile of ")
                        << most << " rows, but another map does with " << rows
                        << "; use one block size for both");
    rows = most;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  return rows;
}

warp::KernelOp KernelConverter::createKernel(std::optional<int64_t> groups,
                                             bool turns) {
  builder.setInsertionPoint(kernel);
  tile::ScheduleAttr schedule = kernel.getSchedule();
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  int64_t rows = kernel.getGridOrDefault().getRows();
  auto result = warp::KernelOp::create(
      builder, kernel.getLoc(), kernel.getSymNameAttr(),
      kernel.getFunctionTypeAttr(), number(schedule.getWarps()), number(rows),
      schedule.getWarpRows() == 16 ? IntegerAttr()
                                   : number(schedule.getWarpRows()),
      /*shared_bytes=*/IntegerAttr(), groups ? number(*groups) : IntegerAttr(),
      turns ? builder.getUnitAttr() : UnitAttr(), /*queue=*/IntegerAttr(),
      getGrid(kernel), kernel.getArgAttrsAttr(), kernel.getResAttrsAttr());
  result->setDiscardableAttrs(kernel->getDiscardableAttrDictionary());
  Block *body = builder.createBlock(&result.getBody());
  for (BlockArgument argument : kernel.getBody().getArguments())
    values.map(argument,
               body->addArgument(argument.getType(), argument.getLoc()));
  return result;
}

LogicalResult KernelConverter::convert() {
  FailureOr<int64_t> rows = findColumnsOf(kernel);
  if (failed(rows))
    return failure();
  columnsOf = *rows;
  createKernel();
  return convertBlock(kernel.getBody().front());
}

LogicalResult KernelConverter::convertProgram(tile::ProgramOp op) {
  auto program =
      warp::ProgramOp::create(builder, op.getLoc(), op.getLongestFirst(),
                              op.getAbreastAttr(), op.getDescending());
  values.map(op.getResults(), program.getResults());
  return success();
}

/// All warps of a block work on its rows together.
LogicalResult KernelConverter::convertOwnRows(tile::OwnRowsOp op) {
  mapRows(op, lookup(op.getRow()), kernel.getSchedule().getQ(), values);
  return success();
}

void KernelConverter::mapRows(tile::OwnRowsOp op, Value first, int64_t rows,
                              IRMapping &mapping) {
  Value count = arith::ConstantIndexOp::create(builder, op.getLoc(), rows);
  Value end = arith::AddIOp::create(builder, op.getLoc(), first, count);
  mapping.map(op.getResults(), ValueRange{first, end});
}

LogicalResult KernelConverter::convertReturn(tile::ReturnOp op) {
  warp::ReturnOp::create(builder, op.getLoc());
  return success();
}

LogicalResult KernelConverter::convertBlock(Block &block) {
  for (Operation &op : block) {
    awaitLoads(&op);
    if (failed(convertOp(&op)))
      return failure();
  }
  return success();
}

/// Whether a load is of rows that each warp fetches for itself.
static bool isFetched(tile::LoadOp op) {
  return tile::isInRedo(op) &&
         cast<MemRefType>(op.getView().getType()).getRank() == 4;
}

LogicalResult KernelConverter::convertOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp op) { return convertFor(op); })
      .Case([&](scf::IfOp op) { return convertIf(op); })
      .Case([&](scf::YieldOp op) { return convertYield(op); })
      .Case([&](tile::LoadOp op) {
        return isFetched(op) ? convertFetch(op) : convertLoad(op);
      })
      .Case([&](tile::StreamOp op) { return convertStream(op); })
      .Case([&](tile::NextOp op) { return convertNext(op); })
      .Case([&](tile::StoreOp op) { return convertStore(op); })
      .Case([&](arith::ConstantOp op) { return convertConstant(op); })
      .Case([&](tile::DotOp op) {
        return tile::isInRedo(op) ? convertRedoDot(op) : convertDot(op);
      })
      .Case([&](tile::MapOp op) { return convertMap(op); })
      .Case([&](tile::ReduceOp op) { return convertReduce(op); })
      .Case([&](tile::CollectOp op) { return convertCollect(op); })
      .Case([&](tile::AnyOp op) { return convertAny(op); })
      .Case([&](tile::AnyNotFiniteOp op) { return convertAnyNotFinite(op); })
      .Case([&](tile::AnyAboveOp op) { return convertAnyAbove(op); })
      .Case([&](tile::AccumulateOp op) { return convertAccumulate(op); })
      .Case([&](tile::ScatterOp op) { return convertScatter(op); })
      .Case([&](tile::ProgramOp op) { return convertProgram(op); })
      .Case([&](tile::OwnRowsOp op) { return convertOwnRows(op); })
      .Case([&](tile::ReturnOp op) { return convertReturn(op); })
      .Default([&](Operation *op) { return cloneScalar(op); });
}

LogicalResult KernelConverter::cloneScalar(Operation *op) {
  bool isScalar = op->getNumRegions() == 0 &&
                  !isa<tile::TileDialect>(op->getDialect()) &&
                  llvm::none_of(op->getOperandTypes(), isTile) &&
                  llvm::none_of(op->getResultTypes(), isTile);
  if (!isScalar)
    return op->emitOpError("has no form on the warp level, which knows maps, "
                           "reduces, dots, loops and branches; run "
                           "'tile-expand-softmax' first");
  builder.clone(*op, values);
  return success();
}

LogicalResult KernelConverter::convertFor(scf::ForOp op) {
  SmallVector<Type> types;
  if (failed(convertTypes(op.getRegionIterArgs(), types)))
    return failure();
  SmallVector<Value> inits;
  for (auto [init, argument] :
       llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs()))
    inits.push_back(lookup(init, partial.contains(argument)));
  auto loop = scf::ForOp::create(
      builder, op.getLoc(), lookup(op.getLowerBound()),
      lookup(op.getUpperBound()), lookup(op.getStep()), inits,
      // With a body builder the loop gets no terminator of its own.
      [](OpBuilder &, Location, Value, ValueRange) {});
  loop.setUnsignedCmp(op.getUnsignedCmp());
  loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  values.map(op.getBody()->getArguments(), loop.getBody()->getArguments());
  values.map(op.getResults(), loop.getResults());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  return convertBlock(*op.getBody());
}

LogicalResult KernelConverter::convertIf(scf::IfOp op) {
  SmallVector<Type> types;
  if (failed(convertTypes(op.getResults(), types)))
    return failure();
  auto branch =
      scf::IfOp::create(builder, op.getLoc(), types, lookup(op.getCondition()));
  values.map(op.getResults(), branch.getResults());
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), branch->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&to);
    if (failed(convertBlock(from.front())))
      return failure();
  }
  return success();
}

LogicalResult KernelConverter::convertYield(scf::YieldOp op) {
  // The next iteration of a loop that opens channels opens them anew: nothing
  // may be under way to their slots, or be read from them, any more.
  if (!op->getBlock()->getOps<tile::StreamOp>().empty())
    warp::WaitOp::create(builder, op.getLoc(), builder.getI64IntegerAttr(0));
  SmallVector<Value> operands;
  for (auto [operand, result] :
       llvm::zip_equal(op.getOperands(), op->getParentOp()->getResults()))
    operands.push_back(lookup(operand, partial.contains(result)));
  scf::YieldOp::create(builder, op.getLoc(), operands);
  return success();
}

warp::FragmentType KernelConverter::fragmentType(Operation *op, Type tile,
                                                 bool isPartial) {
  auto tensor = cast<RankedTensorType>(tile);
  bool isColumns = tensor.getRank() == 2 && tensor.getDimSize(0) == 1;
  return warp::FragmentType::getChecked(
      [&] { return op->emitOpError(); }, op->getContext(), tensor.getShape(),
      tensor.getElementType(), isPartial, isColumns ? columnsOf : 0);
}

warp::BufferType KernelConverter::bufferType(Operation *op, Value tile) {
  auto tensor = cast<RankedTensorType>(tile.getType());
  return warp::BufferType::getChecked(
      [&] { return op->emitOpError(); }, op->getContext(), tensor.getShape(),
      tensor.getElementType(), tensor.getRank() == 2 ? segmentOf(tile) : 16,
      int64_t(1));
}

Type KernelConverter::convertType(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return value.getType();
  Operation *op = value.getDefiningOp();
  if (!op)
    op = value.getParentBlock()->getParentOp();
  return fragmentType(op, value.getType(), partial.contains(value));
}

LogicalResult KernelConverter::convertTypes(ValueRange range,
                                            SmallVectorImpl<Type> &types) {
  for (Value value : range) {
    Type type = convertType(value);
    if (!type)
      return failure();
    types.push_back(type);
  }
  return success();
}

Value KernelConverter::lookup(Value value, bool isPartial) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  Value plain = values.lookup(value);
  if (!constant || !isPartial)
    return plain;
  // The plain fill stands at the constant's place; its partial twin beside it
  // is dropped again by canonicalization where it is not the last one used.
  auto fill = plain.getDefiningOp<warp::FillOp>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(fill);
  auto type = fill.getFragment().getType();
  return warp::FillOp::create(
      builder, fill.getLoc(),
      warp::FragmentType::get(builder.getContext(), type.getShape(),
                              type.getElementType(), /*partial=*/true),
      fill.getValue());
}

SmallVector<Value> KernelConverter::lookupAll(ValueRange range) {
  return llvm::map_to_vector(range, [&](Value value) { return lookup(value); });
}

} // namespace flashc
