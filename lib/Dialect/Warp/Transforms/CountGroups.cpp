// warp-count-groups: how many copy groups may stay under way at each get and wait. Runs after warp-place-puts; its
// counts are PTX's `cp.async.wait_group N`. Limit: blocks are named as a channel's `lo` or a loop's number plus a
// constant.
//
// An abstract run of the kernel. A state is the queue of groups that are committed and not yet read, with blocks
// counted from the next one that the channel's reader will get: so the queue of a loop is the same in every
// iteration once it is full, and a loop is run until it brings no new state. A count is the smallest over all states.
#include "BlockIndex.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPCOUNTGROUPS
#include "Warp/WarpPasses.h.inc"

namespace {

/// One committed group: block `ahead` of a channel's reader, or, without a
/// channel, a copy_in.
struct Group {
  Value channel;
  int64_t ahead = 0;
  bool operator==(const Group &) const = default;
};

struct State {
  /// Oldest first; the first `complete` of them have been waited for.
  SmallVector<Group> queue;
  size_t complete = 0;
  /// Gets of each channel in the running iteration of the innermost loop.
  SmallVector<std::pair<Value, int64_t>> taken;

  bool operator==(const State &) const = default;

  int64_t &getTaken(Value channel) {
    for (auto &[key, count] : taken)
      if (key == channel)
        return count;
    return taken.emplace_back(channel, 0).second;
  }

  /// All but the newest `pending` groups are complete. Copies to plain buffers
  /// are of no more interest then; blocks stay until they are read.
  void wait(int64_t pending) {
    size_t older = queue.size() - std::min<size_t>(pending, queue.size());
    complete = std::max(complete, older);
    for (size_t i = complete; i-- > 0;)
      if (!queue[i].channel) {
        queue.erase(queue.begin() + i);
        --complete;
      }
  }

  /// Groups behind the newest copy_in that is under way, or all.
  int64_t countAfterCopies() const {
    for (size_t i = queue.size(); i > complete; --i)
      if (!queue[i - 1].channel)
        return queue.size() - i;
    return queue.size() - complete;
  }
};

using States = SmallVector<State>;

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
  LogicalResult put(PutOp op, State &state);
  LogicalResult get(GetOp op, State &state);
  void wait(WaitOp op, State &state);
  /// The block's distance from the next one to be read.
  FailureOr<int64_t> getAhead(Operation *op, Value channel, Value block,
                              State &state);
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

void addState(States &states, const State &state) {
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
  for (State &state : states) {
    LogicalResult result = success();
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
  States seen;
  States fresh = states;
  while (!fresh.empty()) {
    for (State &state : fresh) {
      addState(seen, state);
      state.taken.clear();
    }
    if (failed(run(*loop.getBody(), fresh)))
      return failure();
    for (State &state : fresh)
      state.taken.clear();
    llvm::erase_if(fresh, [&](State &state) {
      return llvm::is_contained(seen, state);
    });
    if (seen.size() + fresh.size() > kMaxStates)
      return loop.emitOpError("has more copy groups under way with each "
                              "iteration; put as many blocks as are got");
  }
  states = seen;
  return success();
}

LogicalResult GroupCounter::runIf(scf::IfOp branch, States &states) {
  States before = states;
  if (failed(run(branch.getThenRegion().front(), states)))
    return failure();
  if (!branch.getElseRegion().empty() &&
      failed(run(branch.getElseRegion().front(), before)))
    return failure();
  for (const State &state : before)
    addState(states, state);
  return success();
}

FailureOr<int64_t> GroupCounter::getAhead(Operation *op, Value channel,
                                          Value block, State &state) {
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

LogicalResult GroupCounter::put(PutOp op, State &state) {
  FailureOr<int64_t> ahead =
      getAhead(op, op.getChannel(), op.getBlock(), state);
  if (failed(ahead))
    return failure();
  state.queue.push_back({op.getChannel(), *ahead});
  return success();
}

LogicalResult GroupCounter::get(GetOp op, State &state) {
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

void GroupCounter::wait(WaitOp op, State &state) {
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
