// warp-count-groups: how many copy groups may stay under way at each get and
// wait. Runs after warp-place-puts; its counts are PTX's `cp.async.wait_group
// N`. Limit: blocks are named as a channel's `lo` or a loop's number plus a
// constant.
//
// An abstract run of the kernel. A state is the queue of groups that are
// committed and not yet read, with blocks counted from the next one that the
// channel's reader will get: so the queue of a loop is the same in every
// iteration once it is full, and a loop is run until it brings no new state. A
// count is the smallest over all states.
#include "BlockIndex.h"
#include "GroupState.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPCOUNTGROUPS
#include "Warp/WarpPasses.h.inc"

namespace {

using States = SmallVector<GroupState>;

/// More different queues than this mean that a loop puts more than it gets.
constexpr size_t kMaxStates = 64;

class GroupCounter {
public:
  LogicalResult run(Block &block, States &states);
  const llvm::MapVector<Operation *, int64_t> &getCounts() { return counts; }

private:
  LogicalResult run(Operation &op, States &states);
  LogicalResult runFor(scf::ForOp loop, States &states);
  LogicalResult runIf(scf::IfOp branch, States &states);
  LogicalResult put(PutOp op, GroupState &state);
  LogicalResult get(GetOp op, GroupState &state);
  void wait(WaitOp op, GroupState &state);
  /// The block's distance from the next one to be read.
  FailureOr<int64_t> getAhead(Operation *op, Value channel, Value block,
                              GroupState &state);
  int64_t setCount(Operation *op, int64_t count);

  llvm::MapVector<Operation *, int64_t> counts;
};

/// Ops with regions that the run does not know must hold no groups.
LogicalResult checkFree(Operation &op) {
  WalkResult result = op.walk([](Operation *inner) {
    return isa<PutOp, GetOp, WaitOp, CopyInOp>(inner) ? WalkResult::interrupt()
                                                      : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return op.emitOpError("holds copy groups, but they are counted in "
                          "'scf.for' and 'scf.if' only; use those");
  return success();
}

void addState(States &states, const GroupState &state) {
  if (!llvm::is_contained(states, state))
    states.push_back(state);
}

LogicalResult GroupCounter::run(Block &block, States &states) {
  for (Operation &op : block)
    if (failed(run(op, states)))
      return failure();
  return success();
}

LogicalResult GroupCounter::run(Operation &op, States &states) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runFor(loop, states);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch, states);
  if (op.getNumRegions() > 0)
    return checkFree(op);
  for (GroupState &state : states) {
    LogicalResult result = success();
    // A channel in a loop is opened anew in each iteration.
    if (isa<ChannelOp>(op))
      state.forget(op.getResult(0));
    if (auto putOp = dyn_cast<PutOp>(op))
      result = put(putOp, state);
    else if (auto getOp = dyn_cast<GetOp>(op))
      result = get(getOp, state);
    else if (auto waitOp = dyn_cast<WaitOp>(op))
      wait(waitOp, state);
    else if (isa<CopyInOp>(op))
      state.queue.push_back(Group());
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult GroupCounter::runFor(scf::ForOp loop, States &states) {
  States after;
  for (GroupState &entry : states) {
    // What an outer loop's iteration has taken so far waits until this ends.
    auto outerTaken = std::exchange(entry.taken, {});
    States seen, fresh = {entry};
    while (!fresh.empty()) {
      llvm::append_range(seen, fresh);
      if (failed(run(*loop.getBody(), fresh)))
        return failure();
      for (GroupState &state : fresh)
        state.taken.clear();
      llvm::erase_if(fresh, [&](const GroupState &state) {
        return llvm::is_contained(seen, state);
      });
      if (seen.size() + fresh.size() > kMaxStates)
        return loop.emitOpError("has more copy groups under way with each "
                                "iteration; put as many blocks as are got");
    }
    for (GroupState &state : seen) {
      state.taken = outerTaken;
      addState(after, state);
    }
  }
  states = after;
  return success();
}

LogicalResult GroupCounter::runIf(scf::IfOp branch, States &states) {
  States before = states;
  if (failed(run(branch.getThenRegion().front(), states)))
    return failure();
  if (!branch.getElseRegion().empty() &&
      failed(run(branch.getElseRegion().front(), before)))
    return failure();
  for (const GroupState &state : before)
    addState(states, state);
  return success();
}

FailureOr<int64_t> GroupCounter::getAhead(Operation *op, Value channel,
                                          Value block, GroupState &state) {
  BlockIndex index = getBlockIndex(block);
  auto loop = op->getParentOfType<scf::ForOp>();
  if (loop && index.base == loop.getInductionVar())
    return index.offset - state.getTaken(channel);
  if (auto ring = channel.getDefiningOp<ChannelOp>()) {
    BlockIndex lo = getBlockIndex(ring.getLo());
    if (index.base == lo.base && state.getTaken(channel) == 0)
      return index.offset - lo.offset;
  }
  return op->emitOpError("names a block that cannot be counted; use the "
                         "channel's 'lo' before its loops and the loop's "
                         "induction variable in them, plus a constant");
}

LogicalResult GroupCounter::put(PutOp op, GroupState &state) {
  FailureOr<int64_t> ahead =
      getAhead(op, op.getChannel(), op.getBlock(), state);
  if (failed(ahead))
    return failure();
  state.queue.push_back({op.getChannel(), *ahead});
  return success();
}

LogicalResult GroupCounter::get(GetOp op, GroupState &state) {
  FailureOr<int64_t> ahead =
      getAhead(op, op.getChannel(), op.getBlock(), state);
  if (failed(ahead))
    return failure();
  Group wanted{op.getChannel(), *ahead};
  auto *found = llvm::find(state.queue, wanted);
  if (found == state.queue.end())
    return op.emitOpError("waits for a block that no 'warp.put' has started; "
                          "run 'warp-place-puts' first");
  int64_t after = state.queue.end() - found - 1;
  int64_t count = setCount(op, std::min(after, state.countAfterCopies()));
  // What is read leaves the queue, and the reader moves on by one block.
  state.queue.erase(found);
  if (static_cast<size_t>(found - state.queue.begin()) < state.complete)
    --state.complete;
  state.wait(count);
  for (Group &group : state.queue)
    if (group.channel == op.getChannel())
      --group.ahead;
  ++state.getTaken(op.getChannel());
  return success();
}

void GroupCounter::wait(WaitOp op, GroupState &state) {
  // A count that is there already is a wait for more than the copies: for all
  // groups, before shared memory gets another use.
  int64_t count = op.getPending() ? *op.getPending()
                                  : setCount(op, state.countAfterCopies());
  state.wait(count);
}

int64_t GroupCounter::setCount(Operation *op, int64_t count) {
  auto [entry, isNew] = counts.try_emplace(op, count);
  entry->second = std::min(entry->second, count);
  return entry->second;
}

struct WarpCountGroups : impl::WarpCountGroupsBase<WarpCountGroups> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](KernelOp kernel) {
      GroupCounter counter;
      States states(1);
      if (failed(counter.run(kernel.getBody().front(), states)))
        return WalkResult::interrupt();
      Builder builder(kernel.getContext());
      for (auto [op, count] : counter.getCounts()) {
        IntegerAttr pending = builder.getI64IntegerAttr(count);
        if (auto get = dyn_cast<GetOp>(op))
          get.setPendingAttr(pending);
        else
          cast<WaitOp>(op).setPendingAttr(pending);
      }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
} // namespace flashc::warp
