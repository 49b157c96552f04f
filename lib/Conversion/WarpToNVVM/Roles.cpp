// convert-warp-to-nvvm, kernels with roles: barriers are set up, and the warps
// part into the producer's one thread, or the reducer, and the consumers.
#include "KernelEmitter.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace flashc;

/// Warps of a role that touch a part of a ring.
static int64_t warpsAt(warp::RoleOp role, warp::RingOp ring) {
  if (role.getKind() == warp::RoleKind::Reducer || role.getGroup())
    return 4;
  auto kernel = role->getParentOfType<warp::KernelOp>();
  return int64_t(kernel.getWarps()) / ring.getRing().getType().getParts();
}

/// Arrivals that fill, and empty, a part of a ring's slot. Who writes and who
/// reads it, its uses say.
static std::pair<int64_t, int64_t> countArrivals(warp::RingOp ring) {
  int64_t full = 1, empty = 0;
  llvm::SmallPtrSet<Operation *, 4> readers;
  for (Operation *user : ring->getUsers()) {
    auto role = user->getParentOfType<warp::RoleOp>();
    if (isa<warp::AcquireOp>(user))
      full = warpsAt(role, ring);
    if (isa<warp::ReceiveOp, warp::SkipOp>(user) && readers.insert(role).second)
      empty += warpsAt(role, ring);
  }
  auto kernel = ring->getParentOfType<warp::KernelOp>();
  if (readers.empty()) // as if all groups did
    empty = int64_t(kernel.getWarps()) / ring.getRing().getType().getParts();
  empty *= ring.getRing().getType().getValues() ? 32 : 1; // see giveBack
  return {full, empty};
}

// One thread: all barriers, before anyone waits on them.
void KernelEmitter::initBarriers() {
  auto init = [&](int64_t offset, int64_t arrivals) {
    asmVoid(fmt::format("mbarrier.init.shared::cta.b64 [$0], {};", arrivals),
            "r", sharedAt(offset));
  };
  for (Value map : tensorMaps)
    asmVoid("prefetch.tensormap [$0];", "l", map);
  kernel.walk([&](warp::RingOp ring) {
    auto type = ring.getRing().getType();
    int64_t slots = type.getDepth() * type.getParts();
    auto [full, empty] = countArrivals(ring);
    for (int64_t i = 0; i < slots; ++i) {
      init(*ring.getBarriers() + 8 * i, full);
      init(*ring.getBarriers() + 8 * (slots + i), empty);
    }
  });
  for (int64_t i = 0; kernel.isPersistent() && i < kQueueSlots; ++i) {
    init(*kernel.getQueue() + 8 * i, 1);
    init(*kernel.getQueue() + 8 * (kQueueSlots + i), 32 * kernel.getWarps());
  }
  asmVoid("fence.mbarrier_init.release.cluster;", "~{memory}", {});
}

/// What the lowering relies on, and passes before it see to.
static LogicalResult checkRoles(warp::KernelOp kernel, warp::RoleOp producer,
                                ArrayRef<warp::RoleOp> consumers) {
  bool areOfGroups = !consumers.empty() &&
                     warp::RoleOp(consumers.front()).getGroup().has_value();
  if (!producer || consumers.empty() ||
      (areOfGroups && consumers.size() != *kernel.getGroups()))
    return kernel.emitOpError(
        "has groups, so it has a producer and a consumer, or one for each "
        "group, but one is missing; add all roles");
  if (kernel.isPersistent() && !kernel.getQueue())
    return kernel.emitOpError("has no place for its queue of tiles; run "
                              "'warp-allocate-shared' first");
  for (auto ring : kernel.getOps<warp::RingOp>())
    if (!ring.getOffset() || !ring.getBarriers())
      return ring.emitOpError("has no place for its slots or barriers; run "
                              "'warp-allocate-shared' first");
  for (auto room : kernel.getOps<warp::StagingOp>())
    if (!room.getOffset())
      return room.emitOpError("has no place for its slots; run "
                              "'warp-allocate-shared' first");
  if (!kernel.isPersistent())
    return success();
  auto isTensor = [](Type type) {
    auto view = dyn_cast<MemRefType>(type);
    return view && view.getRank() == 4;
  };
  ArrayRef<Type> arguments = kernel.getArgumentTypes();
  if (arguments.size() < 3 || !llvm::all_of(arguments.take_front(3), isTensor))
    return kernel.emitOpError(
        "counts its tiles by Q, K and V, but they are not "
        "its first three arguments; pass these first");
  return success();
}

LogicalResult KernelEmitter::emitRoles() {
  warp::RoleOp producer = warp::getLoadingRole(kernel);
  SmallVector<warp::RoleOp> consumers = warp::getConsumers(kernel);
  if (failed(checkRoles(kernel, producer, consumers)))
    return failure();
  for (Operation &op : kernel.getBody().front())
    if (!isa<warp::RoleOp>(op) && failed(emitOp(&op)))
      return failure();
  thread = inlineAsm(b.getI32Type(), "mov.u32 $0, %tid.x;", "=r", {});
  lane = arith::AndIOp::create(b, thread, i32(31));
  // The same in all lanes, and known to be: descriptors are made of it.
  Value warp = shuffleFirst(arith::ShRUIOp::create(b, thread, i32(5)));
  callWithCondition(
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0)),
      [&] { initBarriers(); });
  NVVM::Barrier0Op::create(b);

  Block *before = b.getInsertionBlock();
  Region *body = before->getParent();
  Block *loading = b.createBlock(body, body->end());
  SmallVector<Block *> computing;
  for (size_t i = 0; i < consumers.size(); ++i)
    computing.push_back(b.createBlock(body, body->end()));
  exit = b.createBlock(body, body->end());
  LLVM::ReturnOp::create(b, ValueRange());
  // Where roles begin, behind the loading warpgroup: that of all groups, or one
  // each.
  auto part = [&](Block *from, int64_t warps, Block *first, Block *others) {
    b.setInsertionPointToEnd(from);
    Value isFirst =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, warp, i32(warps));
    LLVM::CondBrOp::create(b, isFirst, first, others);
  };
  Block *rest = before, *first = loading;
  for (auto [i, consumer] : llvm::enumerate(consumers)) {
    bool isLast = i + 1 == consumers.size();
    Block *others = isLast ? computing[i] : b.createBlock(exit);
    int64_t begin = 4 * (consumer.getGroup().value_or(0) + 1);
    part(rest, begin, first, others);
    rest = others;
    first = computing[i];
  }
  bool reduces = producer.getKind() == warp::RoleKind::Reducer;
  if (failed(reduces ? emitReducer(producer, loading, warp)
                     : emitProducer(producer, loading)))
    return failure();
  for (auto [consumer, block] : llvm::zip_equal(consumers, computing)) {
    // A role may make these again, for itself alone.
    llvm::SaveAndRestore<Value> ownThread(thread), ownLane(lane);
    if (failed(emitConsumer(consumer, block, warp)))
      return failure();
  }
  return success();
}

// A warpgroup like those that compute, whose first thread sends.
LogicalResult KernelEmitter::emitReducer(warp::RoleOp role, Block *block,
                                         Value warp) {
  b.setInsertionPointToEnd(block);
  asmVoid(
      fmt::format("setmaxnreg.dec.sync.aligned.u32 {};", role.getRegisters()),
      "", {});
  warpId = warp;
  isReducer = isAlone = true;
  beginSegment();
  Value outside = lane;
  if (!addsFromRegisters())
    readLane();
  if (failed(emitBlock(role.getBody().front())))
    return failure();
  awaitEmitted();
  LLVM::BrOp::create(b, exit);
  isReducer = isAlone = false;
  lane = outside;
  return success();
}

// One thread of the loading warpgroup works; the others are there to give
// their registers away.
LogicalResult KernelEmitter::emitProducer(warp::RoleOp role, Block *block) {
  b.setInsertionPointToEnd(block);
  asmVoid(
      fmt::format("setmaxnreg.dec.sync.aligned.u32 {};", role.getRegisters()),
      "", {});
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, i32(0));
  Block *one = b.createBlock(exit);
  b.setInsertionPointToEnd(block);
  LLVM::CondBrOp::create(b, isFirst, one, exit);
  b.setInsertionPointToEnd(one);
  warpId = i32(0);
  beginSegment();
  if (failed(emitBlock(role.getBody().front())))
    return failure();
  LLVM::BrOp::create(b, exit);
  return success();
}

LogicalResult KernelEmitter::emitConsumer(warp::RoleOp role, Block *block,
                                          Value warp) {
  b.setInsertionPointToEnd(block);
  asmVoid(
      fmt::format("setmaxnreg.inc.sync.aligned.u32 {};", role.getRegisters()),
      "", {});
  warpId = arith::SubIOp::create(b, warp, i32(4));
  roleGroup = role.getGroup();
  if (roleGroup) {
    warpId = arith::AndIOp::create(b, warp, i32(3));
    group = i32(0);
    isAlone = true;
  } else {
    group = arith::ShRUIOp::create(b, warpId, i32(2));
  }
  isProducer = false;
  if (isBesideReducer())
    readLane();
  if (kernel.getTurns() && *kernel.getGroups() > 1)
    callWithCondition( // the first turn is group 0's
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, i32(0)),
        [&] { asmVoid("bar.arrive 1, 256;", "~{memory}", {}); });
  beginSegment();
  if (failed(emitBlock(role.getBody().front())))
    return failure();
  if (!role.getOps<warp::ReclaimOp>().empty())
    awaitEmitted(); // shared memory ends with the block
  LLVM::BrOp::create(b, exit);
  return success();
}
