// warp-place-puts: fetch ahead. In: channels with gets only, as
// convert-tile-to-warp leaves them. Out: puts before the loops and in them, so
// that each block is under way as early as its slot is free. Runs before
// warp-count-groups. Limits: the gets of a channel stand in loops beside it,
// one a loop, of the loop's own block number, in steps of one.
#include "BlockIndex.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPPLACEPUTS
#include "Warp/WarpPasses.h.inc"

namespace {

/// A put of block `iv + offset` behind `after`, where the slot is free.
struct PutPlace {
  GetOp get;
  Operation *after;
  int64_t offset;
};

/// The gets of one loop, in program order.
using LoopGets = llvm::MapVector<scf::ForOp, SmallVector<GetOp>>;

LogicalResult checkGet(GetOp get) {
  auto loop = dyn_cast<scf::ForOp>(get->getParentOp());
  Operation *channel = get.getChannel().getDefiningOp();
  if (!channel || !loop || loop->getBlock() != channel->getBlock())
    return get.emitOpError("must stand in a loop beside its channel, but it is "
                           "in '")
           << get->getParentOp()->getName()
           << "'; read the channel in an 'scf.for' of its block";
  BlockIndex step = getBlockIndex(loop.getStep());
  if (get.getBlock() != loop.getInductionVar() || step.base || step.offset != 1)
    return get.emitOpError(
        "reads block after block, but its number is not that "
        "of a loop with step 1; use the induction variable");
  if (getLastReader(get.getBuffer(), get->getBlock()) ==
      get->getBlock()->getTerminator())
    return get.emitOpError("names a slot for its own iteration, but the loop "
                           "yields it; get it again in the next one");
  return success();
}

/// Each get as late as its first reader.
void sinkGets(ArrayRef<GetOp> gets) {
  for (GetOp get : gets)
    if (Operation *reader = getFirstReader(get.getBuffer(), get->getBlock()))
      get->moveBefore(reader);
}

void sortByPlace(SmallVectorImpl<GetOp> &gets) {
  llvm::sort(gets, [](GetOp a, GetOp b) { return a->isBeforeInBlock(b); });
}

Operation *getEnd(GetOp get) {
  Operation *last = getLastReader(get.getBuffer(), get->getBlock());
  return last ? last : get.getOperation();
}

/// Gets of rings of several slots are joined to one where no slot is freed in
/// between: the blocks have been under way for long, and a barrier less lets
/// what stands between the gets be scheduled as a whole.
void joinGets(ArrayRef<GetOp> gets) {
  GetOp last = gets.back();
  bool isJoinable = llvm::all_of(gets, [&](GetOp get) {
    Operation *reader = getLastReader(get.getBuffer(), get->getBlock());
    return get.getChannel().getType().getDepth() > 1 && reader &&
           last->isBeforeInBlock(reader);
  });
  if (!isJoinable)
    return;
  for (auto [previous, get] : llvm::zip(gets, gets.drop_front()))
    get->moveAfter(previous);
}

/// A ring of one slot can be refilled only behind a barrier: where another
/// channel's get brings one, it moves up to the last reader of that slot. So
/// K's next block is under way during the softmax, and not only during P V.
void hoistReleases(ArrayRef<GetOp> gets) {
  for (GetOp get : gets) {
    if (get.getChannel().getType().getDepth() > 1)
      continue;
    Operation *end = getEnd(get);
    auto release = dyn_cast_or_null<GetOp>(getNextBarrier(end));
    if (release && end->getNextNode() != release)
      release->moveAfter(end);
  }
}

/// Behind the first barrier that follows the last reader: in this iteration, or
/// at the head of the next one, where the put is of one block less.
PutPlace findPlace(GetOp get) {
  auto endOfGets = [](Operation *barrier) {
    while (isa_and_nonnull<GetOp>(barrier->getNextNode()))
      barrier = barrier->getNextNode();
    return barrier;
  };
  int64_t depth = get.getChannel().getType().getDepth();
  Operation *end = getEnd(get);
  if (Operation *barrier = getNextBarrier(end))
    return {get, endOfGets(barrier), depth};
  Operation *first = &get->getBlock()->front();
  if (!isBarrier(first))
    first = getNextBarrier(first);
  if (depth > 1 || first != get)
    return {get, endOfGets(first), depth - 1};
  // The only barrier is the get that would wait for this very put.
  OpBuilder builder(get.getContext());
  builder.setInsertionPointAfter(end);
  return {get, BarrierOp::create(builder, get.getLoc()), depth};
}

Value addOffset(OpBuilder &builder, Location loc, Value block, int64_t offset) {
  if (offset == 0)
    return block;
  Value constant = arith::ConstantIndexOp::create(builder, loc, offset);
  return arith::AddIOp::create(builder, loc, block, constant);
}

void insertPuts(SmallVectorImpl<PutPlace> &places) {
  // Puts behind one barrier go in the order in which their blocks are read.
  llvm::sort(places, [](PutPlace a, PutPlace b) {
    return a.offset != b.offset ? a.offset < b.offset
                                : a.get->isBeforeInBlock(b.get);
  });
  llvm::DenseMap<Operation *, Operation *> lastAfter;
  for (PutPlace &place : places) {
    Operation *&last =
        lastAfter.try_emplace(place.after, place.after).first->second;
    OpBuilder builder(place.get.getContext());
    builder.setInsertionPointAfter(last);
    Value block = addOffset(builder, place.get.getLoc(), place.get.getBlock(),
                            place.offset);
    last = PutOp::create(builder, place.get.getLoc(), place.get.getChannel(),
                         block);
  }
}

/// How many blocks each channel has under way before its first get; channels
/// in the order in which they are read.
using Ahead = llvm::MapVector<ChannelOp, int64_t>;

/// The first blocks, in the order in which they will be read.
void insertFirstPuts(const Ahead &ahead) {
  ChannelOp last = ahead.front().first;
  int64_t most = 0;
  for (auto [channel, count] : ahead) {
    most = std::max(most, count);
    if (last->isBeforeInBlock(channel))
      last = channel;
  }
  OpBuilder builder(last.getContext());
  builder.setInsertionPointAfter(last);
  for (int64_t n = 0; n < most; ++n)
    for (auto [channel, count] : ahead)
      if (n < count)
        PutOp::create(builder, channel.getLoc(), channel.getChannel(),
                      addOffset(builder, channel.getLoc(), channel.getLo(), n));
}

LogicalResult placeInLoop(SmallVectorImpl<GetOp> &gets, Ahead &ahead) {
  sinkGets(gets);
  sortByPlace(gets);
  joinGets(gets);
  hoistReleases(gets);
  sortByPlace(gets);
  SmallVector<PutPlace> places;
  for (GetOp get : gets) {
    places.push_back(findPlace(get));
    auto channel = get.getChannel().getDefiningOp<ChannelOp>();
    // A put of block iv + offset behind the get of block iv leaves `offset`
    // blocks ahead of each iteration, one ahead of its own get one less.
    auto [entry, isNew] = ahead.try_emplace(channel, places.back().offset);
    if (!isNew && entry->second != places.back().offset)
      return get.emitOpError(
                 "frees its slot behind another barrier than in the "
                 "loop before: puts run ")
             << places.back().offset << " blocks ahead here and "
             << entry->second
             << " there; read the channels in one order in "
                "all loops";
  }
  insertPuts(places);
  return success();
}

LogicalResult placeInBlock(ArrayRef<ChannelOp> channels) {
  LoopGets loops;
  for (ChannelOp channel : channels)
    for (Operation *user : channel.getChannel().getUsers()) {
      auto get = dyn_cast<GetOp>(user);
      if (!get)
        return user->emitOpError("is there before 'warp-place-puts', which "
                                 "places all puts; run the pass once, on gets "
                                 "only");
      if (failed(checkGet(get)))
        return failure();
      auto &gets = loops[cast<scf::ForOp>(get->getParentOp())];
      if (llvm::any_of(gets, [&](GetOp other) {
            return other.getChannel() == get.getChannel();
          }))
        return get.emitOpError("reads a channel twice in one loop, but a block "
                               "is read once; use the first buffer");
      gets.push_back(get);
    }
  auto inOrder = loops.takeVector();
  llvm::sort(inOrder, [](auto &a, auto &b) {
    return a.first->isBeforeInBlock(b.first);
  });
  Ahead ahead;
  for (auto &[loop, gets] : inOrder)
    if (failed(placeInLoop(gets, ahead)))
      return failure();
  if (!ahead.empty())
    insertFirstPuts(ahead);
  return success();
}

struct WarpPlacePuts : impl::WarpPlacePutsBase<WarpPlacePuts> {
  using Base::Base;

  void runOnOperation() override {
    llvm::MapVector<Block *, SmallVector<ChannelOp>> blocks;
    getOperation()->walk([&](ChannelOp channel) {
      blocks[channel->getBlock()].push_back(channel);
    });
    for (auto &[block, channels] : blocks)
      if (failed(placeInBlock(channels)))
        return signalPassFailure();
  }
};
} // namespace
} // namespace flashc::warp
