// warp-verify-protocol for kernels whose warps have roles: checks that need no
// run, then a run of all roles together (RoleRun.h) for each choice of trip
// counts. The producer's loops are clones of the consumer's, so both take
// their counts from one choice; where groups skip blocks, theirs differ and
// have one sum. Not checked: which rows are sent, and the queue of tiles.
#include "VerifyRoles.h"

#include "BlockIndex.h"
#include "RoleRun.h"

using namespace mlir;

namespace flashc::warp {

/// This many runs of a forward kernel stay well under 10 ms.
static constexpr int64_t kMaxRuns = 256;

/// Copies and barriers of all threads, as kernels without roles have them.
static LogicalResult checkThreads(KernelOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    bool isOfBlock = isBarrier(op) || isa<PutOp, CopyInOp, CopyOutOp>(op);
    // Before and behind the roles all threads may meet.
    bool isBetween = isa<BarrierOp>(op) && isa<KernelOp>(op->getParentOp());
    if (!isOfBlock || isBetween)
      return WalkResult::advance();
    return WalkResult(
        op->emitOpError("takes all threads of the block, but the kernel's "
                        "warps have roles; use 'warp.send', 'warp.receive' "
                        "and 'warp.emit'"));
  });
  return failure(result.wasInterrupted());
}

static LogicalResult failMatch(const RoleLoop &loop, const RoleLoop *other,
                               RoleOp otherRole) {
  InFlightDiagnostic error =
      loop.op->emitOpError("takes slots of rings, but the ");
  error << stringifyRoleKind(otherRole.getKind())
        << " has no such loop at its place; give both roles the same loops";
  error.attachNote(other ? other->op->getLoc() : otherRole.getLoc())
      << (other ? "the loop at its place" : "the other role");
  return error;
}

/// Gives each of the producer's loops the consumer's loop whose trip count it
/// shares: the n-th one that takes slots. The same for two consumers.
static LogicalResult matchLoops(RoleProgram &producer, RoleProgram &consumer) {
  auto getShared = [](RoleProgram &program) {
    SmallVector<RoleLoop *> loops;
    for (RoleLoop &loop : program.loops)
      if (loop.isShared && !loop.skips)
        loops.push_back(&loop);
    return loops;
  };
  SmallVector<RoleLoop *> sends = getShared(producer),
                          receives = getShared(consumer);
  for (size_t i = 0; i < std::max(sends.size(), receives.size()); ++i) {
    RoleLoop *send = i < sends.size() ? sends[i] : nullptr;
    RoleLoop *receive = i < receives.size() ? receives[i] : nullptr;
    if (!receive)
      return failMatch(*send, nullptr, consumer.role);
    if (!send || send->nesting != receive->nesting ||
        send->op->getName() != receive->op->getName())
      return failMatch(*receive, send, producer.role);
    send->choice = receive->op;
  }
  return success();
}

LogicalResult verifyRoles(KernelOp kernel) {
  RoleOp producerRole = getLoadingRole(kernel);
  SmallVector<RoleOp> consumerRoles = getConsumers(kernel);
  if (!producerRole || consumerRoles.empty())
    return kernel.emitOpError("has groups, so one role loads and one computes, "
                              "but there is no ")
           << stringifyRoleKind(producerRole ? RoleKind::Consumer
                                             : RoleKind::Producer)
           << "; add a 'warp.role'";
  int64_t groups = *kernel.getGroups(), ofGroups = consumerRoles.size();
  if (consumerRoles.front().getGroup() && ofGroups != groups)
    return consumerRoles.front().emitOpError("is of one group, so each of ")
           << groups << " groups has a role, but there are " << ofGroups
           << "; add the others";
  if (failed(checkThreads(kernel)) || failed(verifyRoleBytes(kernel)))
    return failure();

  SmallVector<RingOp> rings;
  RingNumbers numbers;
  int64_t depth = 1;
  kernel.walk([&](RingOp ring) {
    numbers[ring] = rings.size();
    rings.push_back(ring);
    depth = std::max(depth, ring.getRing().getType().getDepth());
  });
  FailureOr<RoleProgram> producer = getRoleProgram(producerRole, numbers);
  if (failed(producer))
    return failure();
  std::vector<RoleProgram> consumers;
  for (RoleOp role : consumerRoles) {
    FailureOr<RoleProgram> consumer = getRoleProgram(role, numbers);
    if (failed(consumer))
      return failure();
    consumers.push_back(std::move(*consumer));
  }
  RoleProgram &first = consumers.front();
  if (failed(matchLoops(*producer, first)))
    return failure();
  for (RoleProgram &consumer : llvm::drop_begin(consumers))
    if (failed(matchLoops(consumer, first)))
      return failure();

  Limits limits;
  auto addLimits = [&](const RoleProgram &program) {
    for (const RoleLoop &loop : program.loops)
      if (!loop.fixed && loop.choice == loop.op)
        limits[loop.op] = 2 * std::min<int64_t>(depth, 8) + 1;
  };
  llvm::for_each(consumers, addLimits);
  addLimits(*producer);
  // Another's loop may follow one whose bounds are constants.
  auto fix = [&](RoleProgram &program) {
    for (RoleLoop &loop : program.loops)
      for (const RoleLoop &other : first.loops)
        if (other.op == loop.choice && other.fixed && !loop.fixed)
          loop.fixed = other.fixed;
  };
  fix(*producer);
  llvm::for_each(consumers, fix);
  RoleRun run(kernel, *producer, consumers, rings);
  return forEachChoice(std::move(limits), kMaxRuns,
                       [&](const Trips &trips) { return run.run(trips); });
}

} // namespace flashc::warp
