// warp-verify-protocol: does each get find its block, and is no slot written
// while it is read? Runs last on the warp level and changes nothing. What it
// cannot follow (buffers carried by loops) it does not judge. Kernels with
// roles have a verifier of their own (VerifyRoles.h).
#include "BlockIndex.h"
#include "ProtocolRun.h"
#include "VerifyRoles.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPVERIFYPROTOCOL
#include "Warp/WarpPasses.h.inc"

namespace {

/// More runs than this are a matter of seconds; kernels have two or three
/// loops.
constexpr int64_t kMaxRuns = 4096;

/// Is the value the same for all threads of a warp, but not of the block?
bool dependsOnWarp(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  // Each warp has all of the columns' values.
  if (auto any = dyn_cast<AnyNotFiniteOp>(op))
    return !any.getFragment().getType().getOf();
  if (isa<AnyOp, AnyAboveOp>(op))
    return true;
  return isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::any_of(op->getOperands(), dependsOnWarp);
}

/// Ops that all threads of the block take part in stand under no condition
/// of a single warp.
LogicalResult checkConditions(KernelOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    if (!isBarrier(op) && !isa<PutOp, CopyInOp, CopyOutOp>(op))
      return WalkResult::advance();
    for (auto branch = op->getParentOfType<scf::IfOp>(); branch;
         branch = branch->getParentOfType<scf::IfOp>())
      if (dependsOnWarp(branch.getCondition()))
        return WalkResult(
            op->emitOpError("takes all threads of the block, but stands under "
                            "a condition that differs from warp to warp "
                            "('warp.any'); move it out of the 'scf.if'"));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Channels are values of their own op, so that their bounds are known.
LogicalResult checkChannels(KernelOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    for (Value operand : op->getOperands())
      if (isa<ChannelType>(operand.getType()) &&
          !operand.getDefiningOp<ChannelOp>())
        return WalkResult(op->emitOpError(
            "uses a channel whose blocks are not known here; use the result of "
            "'warp.channel'"));
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void collectLimits(ArrayRef<Step> steps, int64_t mostTrips, Limits &limits) {
  for (const Step &step : steps) {
    if (isa<scf::ForOp>(step.op)) {
      limits[step.op] = mostTrips;
    } else if (isa<scf::IfOp>(step.op)) {
      WalkResult writes = step.op->walk([](Operation *op) {
        bool isWrite = isBarrier(op) || isa<PutOp, CopyInOp, StoreOp>(op);
        return isWrite ? WalkResult::interrupt() : WalkResult::advance();
      });
      if (writes.wasInterrupted())
        limits[step.op] = 1;
    }
    collectLimits(step.body, mostTrips, limits);
    collectLimits(step.orElse, mostTrips, limits);
  }
}

LogicalResult verify(KernelOp kernel) {
  if (failed(checkConditions(kernel)) || failed(checkChannels(kernel)))
    return failure();
  int64_t depth = 1;
  kernel.walk([&](ChannelOp channel) {
    depth = std::max(depth, channel.getChannel().getType().getDepth());
  });
  std::vector<Step> steps = getSteps(kernel.getBody().front());
  Limits limits;
  collectLimits(steps, 2 * std::min<int64_t>(depth, 8) + 1, limits);
  return forEachChoice(std::move(limits), kMaxRuns, [&](const Trips &trips) {
    return ProtocolRun(kernel, steps, trips).run();
  });
}

struct WarpVerifyProtocol : impl::WarpVerifyProtocolBase<WarpVerifyProtocol> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](KernelOp kernel) {
      LogicalResult result =
          kernel.getGroups() ? verifyRoles(kernel) : verify(kernel);
      return failed(result) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
} // namespace flashc::warp
