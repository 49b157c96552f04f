// convert-warp-to-nvvm, kernels with roles: the slots of rings, filled by TMA
// and read by wgmma.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

/// createpolicy's evict-first and evict-last: each row of Q is read once, those
/// of K and V by every query block.
static constexpr uint64_t kReadOnce = 0x12F0000000000000,
                          kReadAgain = 0x14F0000000000000;

// One part: a TMA copy of all segments, or one a segment.
void KernelEmitter::copyBox(const View &view, Value map, Value target,
                            Value barrier, ValueRange coordinates,
                            int64_t segments, int64_t segmentBytes,
                            uint64_t policy) {
  Value row = coordinates[0], head = coordinates[1], batch = coordinates[2];
  bool whole = isWholeBox(view.type);
  for (int64_t segment = 0; segment < (whole ? 1 : segments); ++segment) {
    SmallVector<Value> operands = {
        arith::AddIOp::create(b, target, i32(segment * segmentBytes)), map,
        i32(segment * 64), row};
    std::string box = "$2, $3, ";
    std::string constraints = "r,l,r,r,";
    if (whole) {
      operands.push_back(i32(0));
      box += "$4, $5, $6";
      constraints += "r,";
    } else {
      box += "$4, $5";
    }
    operands.append({head, batch, barrier, i64(static_cast<int64_t>(policy))});
    size_t n = operands.size();
    asmVoid(fmt::format(
                "cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::"
                "complete_tx::bytes.L2::cache_hint [$0], [$1, {{{}}}], [${}], "
                "${};",
                whole ? 5 : 4, box, n - 2, n - 1),
            constraints + "r,r,r,l,~{memory}", operands);
  }
}

LogicalResult KernelEmitter::emitSend(warp::SendOp op) {
  if (!op.getStage())
    return op.emitOpError("has no stage; run 'warp-assign-stages' first");
  if (!isReducer) {
    startCopies(op);
    return success();
  }
  auto isZero = [&](Value value) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, i32(0));
  };
  callWithCondition(isZero(warpId), [&] {
    readLaneAgain();
    callWithCondition(isZero(lane), [&] { startCopies(op); });
    meetWarp(); // before its lanes multiply together
  });
  return success();
}

void KernelEmitter::startCopies(warp::SendOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  auto type = ring.getRing().getType();
  warp::BufferType slot = type.getBufferType();
  const View &view = views[op.getView()];
  Value stage = scalar(op.getStage()), phase = scalar(op.getPhase());
  Value map = tensorMaps[warp::getTensorMapIndex(mapList, op.getView(),
                                                 slot.getPartRows())];
  Value base =
      sharedAt(*ring.getOffset(),
               arith::MulIOp::create(b, stage, i32(type.getSlotBytes())));
  int64_t partBytes = slot.getBytes() / slot.getParts();
  Value row = toI32(scalar(op.getRow()));
  for (int64_t part = 0; part < slot.getParts(); ++part) {
    awaitBarrier(ringBarrier(ring, stage, i32(part), /*full=*/false),
                 arith::XOrIOp::create(b, phase, i32(1)));
    Value full = ringBarrier(ring, stage, i32(part), /*full=*/true);
    asmVoid("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
            "r,r,~{memory}", {full, i32(partBytes + type.getValueBytes())});
    Value first = arith::AddIOp::create(b, row, i32(part * slot.getPartRows()));
    copyBox(view, map, arith::AddIOp::create(b, base, i32(part * partBytes)),
            full,
            {first, toI32(scalar(op.getHead())), toI32(scalar(op.getBatch()))},
            slot.getShape()[1] / 64, slot.getPartRows() * 128,
            slot.getParts() > 1 ? kReadOnce : kReadAgain);
    if (op.getValues())
      copyValues(op, full);
  }
}

Value KernelEmitter::valuesAddress(warp::RingOp ring, Value stage) {
  auto type = ring.getRing().getType();
  return sharedAt(*ring.getOffset() + type.getSlotBytes() * type.getDepth(),
                  arith::MulIOp::create(b, stage, i32(type.getValueBytes())));
}

// One run of bytes, which counts for the slot's barrier.
void KernelEmitter::copyValues(warp::SendOp op, Value barrier) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  const View &view = views[op.getValues()];
  Value from =
      elementAddress(view, workspaceRow(view, op.getBatch(), op.getHead(),
                                        toI32(scalar(op.getRow()))));
  asmVoid("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
          "[$0], [$1], $2, [$3];",
          "r,l,r,r,~{memory}",
          {valuesAddress(ring, scalar(op.getStage())), from,
           i32(ring.getRing().getType().getValueBytes()), barrier});
}

// The lane's pairs of columns: the same for all quads and warps.
void KernelEmitter::emitReadValues(warp::ReadValuesOp op) {
  auto ring =
      warp::getReceive(op.getBuffer()).getRing().getDefiningOp<warp::RingOp>();
  Value pair = atEntry("pair", [&]() -> Value {
    return arith::ShLIOp::create(b, arith::AndIOp::create(b, lane, i32(3)),
                                 i32(3));
  });
  Value address = arith::AddIOp::create(
      b, valuesAddress(ring, stageOf(op.getBuffer(), ring)), pair);
  Registers out;
  for (int64_t i = 0; i < ring.getRing().getType().getValues() / 8; ++i)
    out.append(
        asmMany({b.getF32Type(), b.getF32Type()},
                fmt::format("ld.shared.v2.f32 {{$0, $1}}, [$2 + {}];", i * 32),
                "=f,=f,r,~{memory}", address));
  fragments[op.getFragment()] = out;
}

// The reducer reads the parts of all groups.
LogicalResult KernelEmitter::emitReceive(warp::ReceiveOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (!op.getStage())
    return op.emitOpError("has no stage; run 'warp-assign-stages' first");
  Value stage = scalar(op.getStage());
  auto type = ring.getRing().getType();
  for (int64_t part = 0; part < (isReducer ? type.getParts() : 1); ++part)
    awaitBarrier(ringBarrier(ring, stage, isReducer ? i32(part) : group,
                             /*full=*/true),
                 scalar(op.getPhase()));
  buffers[op.getBuffer()] =
      sharedAt(*ring.getOffset(),
               arith::MulIOp::create(b, stage, i32(type.getSlotBytes())));
  return success();
}

// Each reader gives the slot, or the group's part of it, back once. The group's
// number is read anew: of addresses behind a loop none live through it.
void KernelEmitter::emitReclaim(warp::ReclaimOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (!roleGroup)
    group = arith::SubIOp::create(
        b, arith::ShRUIOp::create(b, readAgain("tid.x"), i32(7)), i32(1));
  awaitBarrier(ringBarrier(ring, i32(0), group, /*full=*/false), i32(0));
  buffers[op.getBuffer()] = sharedAt(*ring.getOffset());
}

LogicalResult KernelEmitter::emitAcquire(warp::AcquireOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (!op.getStage())
    return op.emitOpError("has no stage; run 'warp-assign-stages' first");
  Value stage = scalar(op.getStage());
  awaitBarrier(ringBarrier(ring, stage, group, /*full=*/false),
               arith::XOrIOp::create(b, scalar(op.getPhase()), i32(1)));
  buffers[op.getBuffer()] =
      sharedAt(*ring.getOffset(),
               arith::MulIOp::create(
                   b, stage, i32(ring.getRing().getType().getSlotBytes())));
  return success();
}

/// Whether the tensor cores read a ring's slots, and not only registers do.
static bool isReadByProducts(warp::RingOp ring) {
  return llvm::any_of(ring->getUsers(), [](Operation *user) {
    return isa<warp::ReceiveOp>(user) &&
           !llvm::all_of(user->getUsers(), [](Operation *reader) {
             return isa<warp::LoadOp, warp::ReleaseOp>(reader);
           });
  });
}

// What each lane wrote is shown to the tensor cores before its warp arrives.
void KernelEmitter::emitCommit(warp::CommitOp op) {
  auto acquire = op.getBuffer().getDefiningOp<warp::AcquireOp>();
  auto ring = acquire.getRing().getDefiningOp<warp::RingOp>();
  if (isReadByProducts(ring))
    showToCopies();
  meetWarp();
  arriveOnce(
      ringBarrier(ring, scalar(acquire.getStage()), group, /*full=*/true));
}

// Each lane that may have read the slot's values arrives itself: then
// compute-sanitizer, too, sees that its reads come before the next copy.
void KernelEmitter::giveBack(warp::RingOp ring, Value stage, Value part) {
  Value empty = ringBarrier(ring, stage, part, /*full=*/false);
  if (ring.getRing().getType().getValues())
    return arrive(empty);
  arriveOnce(empty);
}

LogicalResult KernelEmitter::emitSkip(warp::SkipOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (!op.getStage())
    return op.emitOpError("has no stage; run 'warp-assign-stages' first");
  Value stage = scalar(op.getStage());
  awaitBarrier(ringBarrier(ring, stage, group, /*full=*/true),
               scalar(op.getPhase()));
  giveBack(ring, stage, group);
  return success();
}

// This group's part of a buffer. The parts of an alias begin where those of the
// buffer itself do: a group may touch its own bytes alone.
Value KernelEmitter::partAddress(Value buffer) {
  while (auto alias = buffer.getDefiningOp<warp::AliasOp>())
    buffer = alias.getBuffer();
  auto type = cast<warp::BufferType>(buffer.getType());
  if (type.getParts() == 1)
    return buffers[buffer];
  int64_t bytes = type.getBytes() / type.getParts();
  return arith::AddIOp::create(b, buffers[buffer],
                               arith::MulIOp::create(b, group, i32(bytes)));
}

// Thread t of the group zeroes 16-byte piece t % 8 of each segment in every
// 16th row. Pieces are permuted inside a row, which zeros do not show.
void KernelEmitter::emitClearRows(warp::ClearRowsOp op) {
  auto type = op.getBuffer().getType();
  int64_t rows = type.getShape()[0], segments = type.getShape()[1] / 64;
  Value first = arith::MaxSIOp::create(b, toI32(scalar(op.getFirst())), i32(0));
  Value some =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, first, i32(rows));
  callWithCondition(some, [&] {
    Value inGroup = arith::AndIOp::create(b, thread, i32(127));
    Value mine = arith::ShRUIOp::create(b, inGroup, i32(3));
    Value piece = arith::ShLIOp::create(
        b, arith::AndIOp::create(b, inGroup, i32(7)), i32(4));
    Value from = arith::AddIOp::create(b, first, mine);
    auto loop = scf::ForOp::create(b, from, i32(rows), i32(16));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getBody()->getTerminator());
    Value address = arith::AddIOp::create(
        b, arith::AddIOp::create(b, buffers[op.getBuffer()], piece),
        arith::ShLIOp::create(b, loop.getInductionVar(), i32(7)));
    for (int64_t segment = 0; segment < segments; ++segment)
      asmVoid(fmt::format("st.shared.v4.b32 [$0 + {}], {{$1, $1, $1, $1}};",
                          segment * rows * 128),
              "r,r,~{memory}", {address, i32(0)});
    b.setInsertionPointAfter(loop);
    asmVoid("fence.proxy.async.shared::cta;", "~{memory}", {});
    asmVoid("bar.sync $0, 128;", "r,~{memory}", groupBarrier());
  });
}

// The stage of a received slot; of one that a loop carries, from its address.
Value KernelEmitter::stageOf(Value buffer, warp::RingOp ring) {
  if (auto receive = buffer.getDefiningOp<warp::ReceiveOp>())
    return scalar(receive.getStage());
  Value offset =
      arith::SubIOp::create(b, buffers[buffer], sharedAt(*ring.getOffset()));
  return arith::DivUIOp::create(b, offset,
                                i32(ring.getRing().getType().getSlotBytes()));
}

void KernelEmitter::emitRelease(warp::ReleaseOp op) {
  auto ring =
      warp::getReceive(op.getBuffer()).getRing().getDefiningOp<warp::RingOp>();
  Value stage = stageOf(op.getBuffer(), ring);
  int64_t parts = isReducer ? ring.getRing().getType().getParts() : 1;
  for (int64_t part = 0; part < parts; ++part)
    giveBack(ring, stage, isReducer ? i32(part) : group);
}
