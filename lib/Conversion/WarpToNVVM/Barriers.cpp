// convert-warp-to-nvvm, kernels with roles: addresses in shared memory,
// mbarriers and turns.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

/// Named barriers: 0 is the block's, a group's turn has one from here on, its
/// own four warps one from kGroupBarrier on.
static constexpr int64_t kFirstTurn = 1;

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

void KernelEmitter::arrive(Value barrier) {
  asmVoid("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", barrier);
}

// One arrival a warp, without a branch and without a register for the lane.
void KernelEmitter::arriveOnce(Value barrier) {
  asmVoid("{\n.reg .pred p;\nelect.sync _|p, -1;\n"
          "@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}",
          "r,~{memory}", barrier);
}

void KernelEmitter::meetWarp() {
  asmVoid("bar.warp.sync -1;", "~{memory}", {});
}

void KernelEmitter::showToCopies() {
  asmVoid("fence.proxy.async.shared::cta;", "~{memory}", {});
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
