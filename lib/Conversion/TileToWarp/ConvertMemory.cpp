// Loads, streams and stores of convert-tile-to-warp: tiles get their places in
// shared memory.
//
// A load becomes a buffer and a copy; it is waited for just before its first
// reader, so that the copies of the channels start in between. A stream becomes
// a channel with gets only (warp-place-puts adds the puts).
#include "KernelConverter.h"

using namespace mlir;

namespace flashc {

int64_t getSegment(int64_t columns, int64_t parts) {
  int64_t own = columns / parts;
  for (int64_t segment : {64, 32})
    if (columns % segment == 0 && (own % segment == 0 || segment % own == 0))
      return segment;
  return 16;
}

/// Groups of warps that the columns of a tile of so many rows are dealt to.
static int64_t partsOf(int64_t rows, tile::ScheduleAttr schedule) {
  return std::max<int64_t>(
      schedule.getWarpRows() * schedule.getRowWarps() / rows, 1);
}

/// The segment of a tile's rows, from how it is written and read: a computed
/// tile leaves the registers as it is dealt, and the columns of a product's
/// right operand are dealt as those of its result.
int64_t KernelConverter::segmentOf(Value tile) {
  auto rowsOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getDimSize(0);
  };
  tile::ScheduleAttr schedule = kernel.getSchedule();
  int64_t parts = 1;
  if (tile.getDefiningOp<tile::MapOp>())
    parts = partsOf(rowsOf(tile), schedule);
  for (OpOperand &use : tile.getUses())
    if (auto dot = dyn_cast<tile::DotOp>(use.getOwner());
        dot && use.getOperandNumber() == 1 && !dot.getTransposeB())
      parts = std::max(parts, partsOf(rowsOf(dot.getResult()), schedule));
  int64_t columns = cast<RankedTensorType>(tile.getType()).getDimSize(1);
  return getSegment(columns, parts);
}

bool KernelConverter::isReadAsFragment(Value tile) {
  bool isLoad = tile.getDefiningOp<tile::LoadOp>() != nullptr;
  return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    if (!dot)
      return true;
    bool isLhs = use.getOperandNumber() == 0;
    return isLhs && isLoad && kernel.getSchedule().getQInRegisters();
  });
}

LogicalResult KernelConverter::convertLoad(tile::LoadOp op) {
  if (cast<MemRefType>(op.getView().getType()).getElementType().isF32())
    return convertLoadToFragment(op);
  warp::BufferType type = bufferType(op, op.getTile());
  if (!type)
    return failure();
  // In a loop the buffer's readers of the last iteration come first.
  if (op->getBlock() != &kernel.getBody().front())
    warp::BarrierOp::create(builder, op.getLoc());
  auto buffer = warp::AllocOp::create(builder, op.getLoc(), type,
                                      /*offset=*/IntegerAttr());
  warp::CopyInOp::create(
      builder, op.getLoc(), lookup(op.getView()), lookup(op.getBatch()),
      lookup(op.getHead()), lookup(op.getRow()),
      op.getLimit() ? lookup(op.getLimit()) : Value(), buffer);
  buffers[op.getTile()] = buffer;
  started.push_back(op);
  return success();
}

/// Is there a get in front of `dot` in its block? So there is where it, or a
/// dot before it, reads a block of a stream.
static bool isBehindGet(tile::DotOp dot) {
  return llvm::any_of(
      dot->getBlock()->getOps<tile::DotOp>(), [&](tile::DotOp reader) {
        auto next = reader.getRhs().getDefiningOp<tile::NextOp>();
        return next && next->getBlock() == dot->getBlock() &&
               (reader == dot || reader->isBeforeInBlock(dot));
      });
}

/// Is every read of this load behind a get that waits for the load too?
static bool isAwaitedByGets(tile::LoadOp load) {
  return llvm::all_of(load.getTile().getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    return dot && dot->getBlock() != load->getBlock() && isBehindGet(dot);
  });
}

/// Before `user`: waits for the loads that it or an op inside it reads first.
void KernelConverter::awaitLoads(Operation *user) {
  llvm::erase_if(started, [&](tile::LoadOp load) {
    bool isReader = llvm::any_of(load->getUsers(), [&](Operation *reader) {
      return user->isAncestor(reader);
    });
    if (!isReader)
      return false;
    Value buffer = buffers[load.getTile()];
    bool asFragment = isReadAsFragment(load.getTile());
    if (asFragment || !isAwaitedByGets(load))
      warp::WaitOp::create(builder, load.getLoc(), /*pending=*/IntegerAttr());
    if (asFragment)
      values.map(
          load.getTile(),
          Value(warp::LoadOp::create(
              builder, load.getLoc(),
              cast<warp::FragmentType>(convertType(load.getTile())), buffer)));
    return true;
  });
}

LogicalResult KernelConverter::convertStream(tile::StreamOp op) {
  tile::StreamType stream = op.getStream().getType();
  int64_t segment = 64;
  for (Operation *user : op.getStream().getUsers())
    segment = std::min(segment, segmentOf(cast<tile::NextOp>(user).getTile()));
  auto type = warp::ChannelType::getChecked(
      [&] { return op->emitOpError(); }, op.getContext(), stream.getShape(),
      stream.getElementType(), segment, kernel.getSchedule().getStages());
  if (!type)
    return failure();
  auto channel = warp::ChannelOp::create(
      builder, op.getLoc(), type, lookup(op.getView()), lookup(op.getBatch()),
      lookup(op.getHead()), lookup(op.getLo()), lookup(op.getHi()),
      op.getLimit() ? lookup(op.getLimit()) : Value(),
      /*offset=*/IntegerAttr());
  values.map(op.getStream(), channel.getChannel());
  return success();
}

LogicalResult KernelConverter::convertNext(tile::NextOp op) {
  auto channel = cast<TypedValue<warp::ChannelType>>(lookup(op.getStream()));
  auto get = warp::GetOp::create(builder, op.getLoc(),
                                 channel.getType().getBufferType(), channel,
                                 lookup(op.getBlock()), IntegerAttr());
  buffers[op.getTile()] = get.getBuffer();
  if (!isReadAsFragment(op.getTile()))
    return success();
  warp::FragmentType type = fragmentType(op, op.getTile().getType(), false);
  if (!type)
    return failure();
  values.map(op.getTile(), Value(warp::LoadOp::create(builder, op.getLoc(),
                                                      type, get.getBuffer())));
  return success();
}

LogicalResult KernelConverter::convertStore(tile::StoreOp op) {
  Location loc = op.getLoc();
  Value fragment = lookup(op.getTile());
  if (cast<warp::FragmentType>(fragment.getType()).getRank() == 1) {
    warp::StoreRowsOp::create(builder, loc, fragment, lookup(op.getView()),
                              lookup(op.getBatch()), lookup(op.getHead()),
                              lookup(op.getRow()));
    return success();
  }
  if (isPacked(op.getView())) {
    warp::StoreSumsOp::create(builder, loc, fragment, lookup(op.getView()),
                              lookup(op.getBatch()), lookup(op.getHead()),
                              lookup(op.getRow()));
    return success();
  }
  warp::BufferType type = bufferType(op, op.getTile());
  if (!type)
    return failure();
  // The warps that copied the last iteration's tile out may be behind.
  if (op->getBlock() != &kernel.getBody().front())
    warp::BarrierOp::create(builder, loc);
  // The buffer may share bytes with tiles that other warps still read, or that
  // the last (empty) copies of a channel go to: all of them end at this wait.
  warp::WaitOp::create(builder, loc, builder.getI64IntegerAttr(0));
  auto buffer =
      warp::AllocOp::create(builder, loc, type, /*offset=*/IntegerAttr());
  warp::StoreOp::create(builder, loc, fragment, buffer);
  warp::BarrierOp::create(builder, loc);
  warp::CopyOutOp::create(builder, loc, buffer, lookup(op.getView()),
                          lookup(op.getBatch()), lookup(op.getHead()),
                          lookup(op.getRow()));
  return success();
}

} // namespace flashc
