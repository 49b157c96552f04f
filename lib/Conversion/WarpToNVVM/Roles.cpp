// convert-warp-to-nvvm, kernels with roles: barriers are set up, and the warps
// part into the producer's one thread and the consumers.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

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
    int64_t readers = kernel.getWarps() / type.getParts();
    for (int64_t i = 0; i < slots; ++i) {
      init(*ring.getBarriers() + 8 * i, 1);
      init(*ring.getBarriers() + 8 * (slots + i), readers);
    }
  });
  for (int64_t i = 0; i < kQueueSlots; ++i) {
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
  if (!kernel.getQueue())
    return kernel.emitOpError("has no place for its queue of tiles; run "
                              "'warp-allocate-shared' first");
  for (auto ring : kernel.getOps<warp::RingOp>())
    if (!ring.getOffset() || !ring.getBarriers())
      return ring.emitOpError("has no place for its slots or barriers; run "
                              "'warp-allocate-shared' first");
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
  warp::RoleOp producer, consumer;
  for (auto role : kernel.getOps<warp::RoleOp>())
    (role.getKind() == warp::RoleKind::Producer ? producer : consumer) = role;
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
  return success(succeeded(emitProducer(producer, loading)) &&
                 succeeded(emitConsumer(consumer, computing, warp)));
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
