// convert-warp-to-nvvm, kernels with roles: barriers are set up, and the warps
// part into the producer's one thread, or the reducer, and the consumers.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

/// Arrivals that fill, and empty, a part of a ring's slot. Who writes and who
/// reads it, its uses say.
static std::pair<int64_t, int64_t> countArrivals(warp::RingOp ring,
                                                 int64_t warps) {
  int64_t ofGroups = warps / ring.getRing().getType().getParts();
  int64_t full = 1, empty = 0;
  bool isReadByGroups = false, isReadByReducer = false;
  for (Operation *user : ring->getUsers()) {
    if (isa<warp::AcquireOp>(user))
      full = ofGroups;
    if (isa<warp::ReceiveOp, warp::SkipOp>(user))
      (user->getParentOfType<warp::RoleOp>().getKind() ==
               warp::RoleKind::Reducer
           ? isReadByReducer
           : isReadByGroups) = true;
  }
  empty += isReadByGroups || !isReadByReducer ? ofGroups : 0;
  empty += isReadByReducer ? 4 : 0;
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
    auto [full, empty] = countArrivals(ring, kernel.getWarps());
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
                                warp::RoleOp consumer) {
  if (!producer || !consumer)
    return kernel.emitOpError(
        "has groups, so it has a producer and a consumer, "
        "but one is missing; add both roles");
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
  warp::RoleOp producer = warp::getLoadingRole(kernel), consumer;
  for (auto role : kernel.getOps<warp::RoleOp>())
    if (role != producer)
      consumer = role;
  if (failed(checkRoles(kernel, producer, consumer)))
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
  Block *computing = b.createBlock(body, body->end());
  exit = b.createBlock(body, body->end());
  LLVM::ReturnOp::create(b, ValueRange());
  b.setInsertionPointToEnd(before);
  Value isLoading =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, warp, i32(4));
  LLVM::CondBrOp::create(b, isLoading, loading, computing);
  bool reduces = producer.getKind() == warp::RoleKind::Reducer;
  return success(succeeded(reduces ? emitReducer(producer, loading, warp)
                                   : emitProducer(producer, loading)) &&
                 succeeded(emitConsumer(consumer, computing, warp)));
}

// A warpgroup like those that compute, whose first thread sends.
LogicalResult KernelEmitter::emitReducer(warp::RoleOp role, Block *block,
                                         Value warp) {
  b.setInsertionPointToEnd(block);
  asmVoid(
      fmt::format("setmaxnreg.dec.sync.aligned.u32 {};", role.getRegisters()),
      "", {});
  warpId = warp;
  isReducer = true;
  beginSegment();
  Value outside = lane;
  if (failed(emitBlock(role.getBody().front())))
    return failure();
  awaitEmitted();
  LLVM::BrOp::create(b, exit);
  isReducer = false;
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
  group = arith::ShRUIOp::create(b, warpId, i32(2));
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
  LLVM::BrOp::create(b, exit);
  return success();
}
