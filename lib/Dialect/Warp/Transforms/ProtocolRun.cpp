// Runs a kernel's protocol for warp-verify-protocol: block numbers become
// numbers, a buffer's contents the block that it holds. Between two barriers
// any warp may be anywhere, so what was read since the last one may still be
// read.
#include "ProtocolRun.h"

#include "BlockIndex.h"

using namespace mlir;

namespace flashc::warp {

std::vector<Step> getSteps(Block &block) {
  std::vector<Step> steps;
  for (Operation &op : block) {
    Step step{&op, {}, {}};
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      step.body = getSteps(*loop.getBody());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      step.body = getSteps(branch.getThenRegion().front());
      if (!branch.getElseRegion().empty())
        step.orElse = getSteps(branch.getElseRegion().front());
    }
    bool matters = isBarrier(&op) || !step.body.empty() ||
                   !step.orElse.empty() ||
                   isa<PutOp, CopyInOp, CopyOutOp, LoadOp, StoreOp, MmaOp,
                       ScanOp, ScrubOp>(op) ||
                   (isa<ChannelOp>(op) && !isa<KernelOp>(op.getParentOp()));
    if (matters)
      steps.push_back(std::move(step));
  }
  return steps;
}

ProtocolRun::ProtocolRun(KernelOp kernel, ArrayRef<Step> steps,
                         const Trips &trips)
    : kernel(kernel), steps(steps), trips(trips) {
  addCells(kernel);
}

LogicalResult ProtocolRun::run() {
  kernel.walk([&](ChannelOp channel) { bind(channel.getLo(), 0); });
  if (!bindBounds(steps))
    return success();
  bindChannels();
  return runSteps(steps);
}

//===----------------------------------------------------------------------===//
// Block numbers
//===----------------------------------------------------------------------===//

std::optional<int64_t> ProtocolRun::evaluate(Value value) const {
  BlockIndex index = getBlockIndex(value);
  if (!index.base)
    return index.offset;
  auto found = numbers.find(index.base);
  if (found == numbers.end())
    return std::nullopt;
  return found->second + index.offset;
}

/// The number that `value` has; if it has none yet, `number` from now on.
int64_t ProtocolRun::bind(Value value, int64_t number) {
  if (std::optional<int64_t> known = evaluate(value))
    return *known;
  BlockIndex index = getBlockIndex(value);
  numbers[index.base] = number - index.offset;
  return number;
}

/// Gives bounds their numbers from the trip counts: one loop begins where the
/// last one ended. False where the bounds exclude the counts.
bool ProtocolRun::bindBounds(ArrayRef<Step> range) {
  for (const Step &step : range) {
    if (auto loop = dyn_cast<scf::ForOp>(step.op)) {
      int64_t count = trips.lookup(loop);
      int64_t lower = bind(loop.getLowerBound(), position);
      int64_t upper = bind(loop.getUpperBound(), lower + count);
      if (std::max<int64_t>(upper - lower, 0) != count)
        return false;
      position = lower + count;
    }
    if (!bindBounds(step.body) || !bindBounds(step.orElse))
      return false;
  }
  return true;
}

void ProtocolRun::bindChannels() {
  kernel.walk([&](ChannelOp channel) { bind(channel.getHi(), position); });
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

InFlightDiagnostic ProtocolRun::fail(Operation *op) {
  InFlightDiagnostic error = op->emitOpError();
  std::string counts;
  kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (auto found = trips.find(loop); found != trips.end())
      counts += (counts.empty() ? "" : ", ") + std::to_string(found->second);
  });
  if (!counts.empty())
    error.attachNote(kernel.getLoc())
        << "when the loops run " << counts << " times";
  return error;
}

LogicalResult ProtocolRun::runSteps(ArrayRef<Step> range) {
  for (const Step &step : range)
    if (failed(runStep(step)))
      return failure();
  return success();
}

LogicalResult ProtocolRun::runStep(const Step &step) {
  if (auto loop = dyn_cast<scf::ForOp>(step.op)) {
    int64_t lower = *evaluate(loop.getLowerBound());
    for (int64_t i = 0, count = trips.lookup(loop); i < count; ++i) {
      numbers[loop.getInductionVar()] = lower + i;
      if (failed(runSteps(step.body)))
        return failure();
    }
    return success();
  }
  if (isa<scf::IfOp>(step.op)) {
    auto arm = trips.find(step.op);
    if (arm != trips.end())
      return runSteps(arm->second ? step.body : step.orElse);
    // Readers only: some warps may take each arm.
    return failure(failed(runSteps(step.body)) ||
                   failed(runSteps(step.orElse)));
  }
  if (auto op = dyn_cast<ChannelOp>(step.op))
    return open(op);
  if (auto op = dyn_cast<PutOp>(step.op))
    return put(op);
  if (auto op = dyn_cast<GetOp>(step.op))
    return get(op);
  if (auto op = dyn_cast<WaitOp>(step.op))
    return wait(op);
  if (auto op = dyn_cast<CopyInOp>(step.op))
    return copyIn(op);
  if (auto op = dyn_cast<StoreOp>(step.op))
    return store(op);
  if (isa<BarrierOp>(step.op))
    meet();
  else
    for (Value operand : step.op->getOperands())
      if (isa<BufferType>(operand.getType()) && failed(read(step.op, operand)))
        return failure();
  return success();
}

/// A channel in a loop begins anew: its slots hold nothing of it any more.
LogicalResult ProtocolRun::open(ChannelOp op) {
  size_t first = firstCell.lookup(op);
  int64_t depth = op.getChannel().getType().getDepth();
  for (Cell &cell : llvm::MutableArrayRef(cells).slice(first, depth)) {
    if (cell.state == State::UnderWay)
      return fail(op) << "opens a channel to whose slots copies may still be "
                         "under way; wait for all groups first";
    cell.block = std::nullopt;
    cell.state = State::Empty;
  }
  return success();
}

LogicalResult ProtocolRun::put(PutOp op) {
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  std::optional<int64_t> block = evaluate(op.getBlock());
  if (!block)
    return fail(op) << "names a block that cannot be counted; use the "
                       "channel's 'lo' or a loop's induction variable, plus a "
                       "constant";
  int64_t lo = *evaluate(channel.getLo());
  if (*block < lo)
    return fail(op) << "puts block " << *block
                    << ", but the channel begins with block " << lo
                    << "; put the blocks that are read";
  if (*block >= *evaluate(channel.getHi())) {
    groups.push_back(std::nullopt);
    return success();
  }
  size_t slot = getSlot(channel, *block);
  if (cells[slot].block && !cells[slot].wasGot)
    return fail(op) << "puts block " << *block << " over block "
                    << *cells[slot].block
                    << ", which was not read yet; put it behind that block's "
                       "get or deepen the ring";
  if (failed(startWrite(op, slot)))
    return failure();
  Cell &cell = cells[slot];
  cell.block = block;
  cell.state = State::UnderWay;
  cell.wasGot = false;
  cell.group = groups.size();
  groups.push_back(slot);
  return success();
}

LogicalResult ProtocolRun::get(GetOp op) {
  if (!op.getPending())
    return fail(op) << "has no count of groups that may be under way; run "
                       "'warp-count-groups' first";
  auto channel = op.getChannel().getDefiningOp<ChannelOp>();
  std::optional<int64_t> block = evaluate(op.getBlock());
  if (!block || *block < *evaluate(channel.getLo()))
    return fail(op) << "names a block that its channel does not hold; use the "
                       "loop's induction variable";
  completeGroups(*op.getPending());
  meet();
  size_t slot = getSlot(channel, *block);
  Cell &cell = cells[slot];
  if (cell.block != *block) {
    InFlightDiagnostic error = fail(op);
    error << "gets block " << *block << ", but its slot holds ";
    if (cell.block)
      error << "block " << *cell.block;
    else
      error << "none";
    return error << "; put the block first";
  }
  if (cell.state != State::Visible)
    return fail(op) << "leaves " << *op.getPending()
                    << " copy groups under way, but block " << *block
                    << " is one of the last " << groups.size() - cell.group
                    << "; use pending(" << groups.size() - cell.group - 1
                    << ')';
  cell.wasGot = true;
  named[op.getBuffer()] = {slot, *block};
  return success();
}

LogicalResult ProtocolRun::wait(WaitOp op) {
  if (!op.getPending())
    return fail(op) << "has no count of groups that may be under way; run "
                       "'warp-count-groups' first";
  completeGroups(*op.getPending());
  meet();
  return success();
}

LogicalResult ProtocolRun::copyIn(CopyInOp op) {
  auto target = named.find(op.getBuffer());
  if (target == named.end())
    return success();
  size_t index = target->second.cell;
  if (failed(startWrite(op, index)))
    return failure();
  Cell &cell = cells[index];
  cell.block = 0;
  cell.state = State::UnderWay;
  cell.group = groups.size();
  groups.push_back(index);
  return success();
}

LogicalResult ProtocolRun::store(StoreOp op) {
  auto target = named.find(op.getBuffer());
  if (target == named.end())
    return success();
  if (failed(startWrite(op, target->second.cell)))
    return failure();
  Cell &cell = cells[target->second.cell];
  cell.block = target->second.block;
  cell.state = State::Arrived;
  return success();
}

LogicalResult ProtocolRun::read(Operation *op, Value buffer) {
  auto source = named.find(buffer);
  if (source == named.end())
    return success();
  Cell &cell = cells[source->second.cell];
  if (!cell.block)
    return fail(op) << "reads a buffer whose bytes hold nothing of it, or "
                       "another buffer's tile by now; write it first";
  if (*cell.block != source->second.block)
    return fail(op) << "reads block " << source->second.block
                    << ", but its slot holds block " << *cell.block
                    << " by now; read it before that put";
  if (cell.state != State::Visible)
    return fail(op) << "reads a buffer whose last write is not behind a "
                       "barrier; put a 'warp.wait' or 'warp.barrier' between";
  cell.reader = op;
  return success();
}

} // namespace flashc::warp
