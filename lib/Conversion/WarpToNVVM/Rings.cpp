// convert-warp-to-nvvm, kernels with roles: rings between global memory, the
// producer and the consumers (TMA and mbarriers), and the way out.
#include "KernelEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc;

/// Named barriers: 0 is the block's, a turn has one for each group from 1, a
/// group's own four warps meet at one from 8.
static constexpr int64_t kFirstTurn = 1, kFirstGroup = 8;
/// createpolicy's evict-first and evict-last: each row of Q is read once, those
/// of K and V by every query block.
static constexpr uint64_t kReadOnce = 0x12F0000000000000,
                          kReadAgain = 0x14F0000000000000;

// Shared addresses are 32 bits wide here: half of what a pointer's arithmetic
// takes.
Value KernelEmitter::sharedAt(int64_t offset) {
  Value base = LLVM::PtrToIntOp::create(b, b.getI32Type(), shared);
  return offset ? arith::AddIOp::create(b, base, i32(offset)) : base;
}
Value KernelEmitter::sharedAt(int64_t offset, Value more) {
  return arith::AddIOp::create(b, sharedAt(offset), more);
}

Value KernelEmitter::shuffleFirst(Value value) {
  return NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), value, i32(0),
                              i32(31), NVVM::ShflKind::idx, UnitAttr());
}

void KernelEmitter::awaitBarrier(Value barrier, Value parity) {
  asmVoid("{\n.reg .pred p;\nAGAIN:\n"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1, 10000000;\n"
          "@p bra.uni DONE;\nbra.uni AGAIN;\nDONE:\n}",
          "r,r,~{memory}", {barrier, parity});
}

// One arrival a warp, without a branch and without a register for the lane.
void KernelEmitter::arriveOnce(Value barrier) {
  asmVoid("{\n.reg .pred p;\nelect.sync _|p, -1;\n"
          "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}",
          "r,~{memory}", barrier);
}

// Barrier of a slot's part: the full ones stand first, then the empty ones.
Value KernelEmitter::ringBarrier(warp::RingOp ring, Value stage, Value part,
                                 bool full) {
  auto type = ring.getRing().getType();
  int64_t slots = type.getDepth() * type.getParts();
  Value index =
      type.getParts() == 1
          ? stage
          : arith::AddIOp::create(
                b, arith::MulIOp::create(b, stage, i32(type.getParts())), part)
                .getResult();
  return sharedAt(*ring.getBarriers() + (full ? 0 : 8 * slots),
                  arith::ShLIOp::create(b, index, i32(3)));
}

void KernelEmitter::emitAdvance(warp::AdvanceOp op) {
  Value stage = scalar(op.getStage()), phase = scalar(op.getPhase());
  Value one = i32(1);
  int64_t depth = op.getDepth();
  Value nextStage, nextPhase;
  if (depth == 1) {
    nextStage = i32(0);
    nextPhase = arith::XOrIOp::create(b, phase, one);
  } else if (depth == 2) {
    nextStage = arith::XOrIOp::create(b, stage, one);
    nextPhase = arith::XOrIOp::create(b, phase, stage);
  } else {
    Value sum = arith::AddIOp::create(b, stage, one);
    Value wraps =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, sum, i32(depth));
    nextStage = arith::SelectOp::create(b, wraps, i32(0), sum);
    nextPhase = arith::XOrIOp::create(
        b, phase, arith::ExtUIOp::create(b, b.getI32Type(), wraps));
  }
  scalars.map(op.getNextStage(), nextStage);
  scalars.map(op.getNextPhase(), nextPhase);
}

/// Columns of a box and whether one copy has them all.
static bool isWhole(MemRefType view) { return view.getDimSize(3) % 64 == 0; }

// One part: a TMA copy of all segments, or one a segment.
void KernelEmitter::copyBox(const View &view, Value map, Value target,
                            Value barrier, ValueRange coordinates,
                            int64_t segments, int64_t segmentBytes,
                            uint64_t policy) {
  Value row = coordinates[0], head = coordinates[1], batch = coordinates[2];
  bool whole = isWhole(view.type);
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
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (!op.getStage())
    return op.emitOpError("has no stage; run 'warp-assign-stages' first");
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
            "r,r,~{memory}", {full, i32(partBytes)});
    Value first = arith::AddIOp::create(b, row, i32(part * slot.getPartRows()));
    copyBox(view, map, arith::AddIOp::create(b, base, i32(part * partBytes)),
            full,
            {first, toI32(scalar(op.getHead())), toI32(scalar(op.getBatch()))},
            slot.getShape()[1] / 64, slot.getPartRows() * 128,
            slot.getParts() > 1 ? kReadOnce : kReadAgain);
  }
  return success();
}

LogicalResult KernelEmitter::emitReceive(warp::ReceiveOp op) {
  auto ring = op.getRing().getDefiningOp<warp::RingOp>();
  if (!op.getStage())
    return op.emitOpError("has no stage; run 'warp-assign-stages' first");
  Value stage = scalar(op.getStage());
  awaitBarrier(ringBarrier(ring, stage, group, /*full=*/true),
               scalar(op.getPhase()));
  auto type = ring.getRing().getType();
  buffers[op.getBuffer()] =
      sharedAt(*ring.getOffset(),
               arith::MulIOp::create(b, stage, i32(type.getSlotBytes())));
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
    asmVoid("bar.sync $0, 128;", "r,~{memory}",
            arith::AddIOp::create(b, group, i32(kFirstGroup)).getResult());
  });
}

void KernelEmitter::emitRelease(warp::ReleaseOp op) {
  auto receive = op.getBuffer().getDefiningOp<warp::ReceiveOp>();
  auto ring = receive.getRing().getDefiningOp<warp::RingOp>();
  arriveOnce(
      ringBarrier(ring, scalar(receive.getStage()), group, /*full=*/false));
}

void KernelEmitter::emitAwaitTurn(warp::AwaitTurnOp op) {
  asmVoid("bar.sync $0, 256;", "r,~{memory}",
          arith::AddIOp::create(b, group, i32(kFirstTurn)).getResult());
}

void KernelEmitter::emitPassTurn(warp::PassTurnOp op) {
  Value next = arith::AddIOp::create(b, group, i32(1));
  Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next,
                                      i32(*kernel.getGroups()));
  next = arith::SelectOp::create(b, wraps, i32(0), next);
  asmVoid("bar.arrive $0, 256;", "r,~{memory}",
          arith::AddIOp::create(b, next, i32(kFirstTurn)).getResult());
}

// Four 8 x 8 matrices a stmatrix: the 16 rows of the warp, 16 columns.
void KernelEmitter::stageFragment(warp::EmitOp op, Value part) {
  auto fragment = cast<warp::FragmentType>(op.getFragment().getType());
  auto buffer = op.getBuffer().getType();
  Registers registers = fragments[op.getFragment()];
  Value inGroup = arith::AndIOp::create(b, warpId, i32(3));
  Value row8 = arith::AndIOp::create(b, lane, i32(7));
  Value matrix = arith::ShRUIOp::create(b, lane, i32(3));
  Value row = arith::AddIOp::create(
      b, arith::ShLIOp::create(b, inGroup, i32(4)),
      arith::AddIOp::create(
          b, row8,
          arith::ShLIOp::create(b, arith::AndIOp::create(b, matrix, i32(1)),
                                i32(3))));
  Value piece =
      arith::XOrIOp::create(b, row8, arith::ShRUIOp::create(b, matrix, i32(1)));
  Value first = arith::AddIOp::create(
      b, part,
      arith::AddIOp::create(b, arith::ShLIOp::create(b, row, i32(7)),
                            arith::ShLIOp::create(b, piece, i32(4))));
  for (int64_t column = 0; column < fragment.getShape()[1]; column += 16) {
    int64_t segment = column / 64, step = column % 64 / 8;
    Value address = first;
    if (step)
      address = arith::XOrIOp::create(b, address, i32(step * 16));
    if (segment)
      address = arith::AddIOp::create(
          b, address, i32(segment * buffer.getPartRows() * 128));
    SmallVector<Value> operands = {address};
    operands.append(registers.begin() + column / 4,
                    registers.begin() + column / 4 + 4);
    asmVoid("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};",
            "r,r,r,r,r,~{memory}", operands);
  }
}

void KernelEmitter::emitEmit(warp::EmitOp op) {
  auto buffer = op.getBuffer().getType();
  const View &view = views[op.getView()];
  Value part = partAddress(op.getBuffer());
  Value barrier = arith::AddIOp::create(b, group, i32(kFirstGroup));
  auto meet = [&] { asmVoid("bar.sync $0, 128;", "r,~{memory}", barrier); };
  meet(); // nobody reads the part any more
  stageFragment(op, part);
  asmVoid("fence.proxy.async.shared::cta;", "~{memory}", {});
  meet();
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            arith::AndIOp::create(b, thread, i32(127)), i32(0));
  callWithCondition(isFirst, [&] {
    Value map = tensorMaps[warp::getTensorMapIndex(mapList, op.getView(),
                                                   buffer.getPartRows())];
    Value row = arith::AddIOp::create(
        b, toI32(scalar(op.getRow())),
        arith::MulIOp::create(b, group, i32(buffer.getPartRows())));
    Value head = toI32(scalar(op.getHead()));
    Value batch = toI32(scalar(op.getBatch()));
    bool whole = isWhole(view.type);
    int64_t segments = llvm::divideCeil(view.type.getDimSize(3), 64);
    for (int64_t segment = 0; segment < (whole ? 1 : segments); ++segment) {
      Value from = arith::AddIOp::create(
          b, part, i32(segment * buffer.getPartRows() * 128));
      if (whole)
        asmVoid("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [$0, "
                "{$1, $2, $3, $4, $5}], [$6];",
                "l,r,r,r,r,r,r,~{memory}",
                {map, i32(0), row, i32(0), head, batch, from});
      else
        asmVoid("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$0, "
                "{$1, $2, $3, $4}], [$5];",
                "l,r,r,r,r,r,~{memory}",
                {map, i32(segment * 64), row, head, batch, from});
    }
    asmVoid("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;",
            "~{memory}", {});
  });
}
