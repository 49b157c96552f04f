// convert-warp-to-nvvm, sums of the reducer: from registers through shared
// memory to global memory, by reducing bulk copies, and from there back. In
// either memory a warp's 16 rows are one run of bytes, in the order in which
// its lanes hold them.
#include "KernelEmitter.h"

#include <fmt/format.h>

using namespace mlir;
using namespace flashc;

/// Rows of a warp.
static constexpr int64_t kWarpRows = 16;
/// Bytes of 8 columns of them: four f32 for each lane.
static constexpr int64_t kColumnBytes = 512;

// Once by the groups beside a reducer, which are better off with some values of
// a lane (docs/decisions/022). Not from the thread's number: what ptxas makes
// of a warp's part of that is no longer known to be the same in all lanes, and
// then neither is any descriptor.
void KernelEmitter::readLane() {
  lane = inlineAsm(b.getI32Type(), "mov.u32 $0, %laneid;", "=r", {});
}

// By each op of a reducer, so that the lane does not live beside its products;
// but for one that stages sums, which asks for it all the time, and whose
// registers take it.
void KernelEmitter::readLaneAgain() {
  if (addsFromRegisters())
    readLane();
}

// This warp's part of a slot.
Value KernelEmitter::stagedPart(warp::StagingOp room, int64_t slot) {
  auto type = room.getStaging().getType();
  Value own = arith::MulIOp::create(b, warpId,
                                    i32(type.getShape()[1] / 8 * kColumnBytes));
  return sharedAt(*room.getOffset() + slot * type.getSlotBytes(), own);
}

void KernelEmitter::emitStageSums(warp::StageSumsOp op) {
  auto room = op.getStaging().getDefiningOp<warp::StagingOp>();
  int64_t depth = room.getStaging().getType().getDepth();
  readLaneAgain();
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
  callWithCondition(isFirst, [&] {
    asmVoid(fmt::format("cp.async.bulk.wait_group.read {};", depth - 1),
            "~{memory}", {});
  });
  meetWarp();
  Value address = arith::AddIOp::create(b, stagedPart(room, op.getSlot()),
                                        arith::ShLIOp::create(b, lane, i32(4)));
  Registers registers = fragments[op.getFragment()];
  for (size_t i = 0; i < registers.size(); i += 4)
    asmVoid(fmt::format("st.shared.v4.f32 [$0 + {}], {{$1, $2, $3, $4}};",
                        int64_t(i) / 4 * kColumnBytes),
            "r,f,f,f,f,~{memory}",
            {address, registers[i], registers[i + 1], registers[i + 2],
             registers[i + 3]});
}

// One lane adds its warp's run of bytes.
void KernelEmitter::emitSendSums(warp::SendSumsOp op) {
  auto room = op.getStaging().getDefiningOp<warp::StagingOp>();
  const View &view = views[op.getView()];
  int64_t columns = view.type.getDimSize(3);
  readLaneAgain();
  showToCopies();
  meetWarp();
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
  callWithCondition(isFirst, [&] {
    Value rows =
        arith::AddIOp::create(b, toI32(scalar(op.getRow())),
                              arith::MulIOp::create(b, warpId, i32(kWarpRows)));
    Value row = workspaceRow(view, op.getBatch(), op.getHead(), rows);
    Value elements = arith::MulIOp::create(b, row, i64(columns));
    Value target = elementAddress(
        view, arith::AddIOp::create(b, elements,
                                    i64(int64_t(op.getFirst()) * kWarpRows)));
    asmVoid("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], "
            "[$1], $2;",
            "l,r,r,~{memory}",
            {target, stagedPart(room, op.getSlot()),
             i32(int64_t(op.getCount()) / 8 * kColumnBytes)});
    asmVoid("cp.async.bulk.commit_group;", "~{memory}", {});
  });
}

// From registers: nobody waits for the additions, and no fence shows them to
// copies. The address is one for all parts of a pair, so nothing keeps it from
// being made once. Where the warp meets, ptxas gives the next product the
// registers of these, and not others beside them.
void KernelEmitter::emitAddPacked(warp::AddPackedOp op) {
  const View &view = views[op.getView()];
  Value rows =
      arith::AddIOp::create(b, toI32(scalar(op.getRow())),
                            arith::MulIOp::create(b, warpId, i32(kWarpRows)));
  int64_t columns = view.type.getDimSize(3);
  Value all = arith::AddIOp::create(
      b, arith::MulIOp::create(b, toI32(scalar(op.getBatch())), view.sizes[1]),
      toI32(scalar(op.getHead())));
  Value row = arith::AddIOp::create(
      b, arith::MulIOp::create(b, wide(all), wide(view.sizes[2])), wide(rows));
  // A consumer has its lane in a register, a reducer makes it once a pair.
  Value inWarp =
      isReducer ? arith::AndIOp::create(b, thread, i32(31)).getResult() : lane;
  Value own = arith::ShLIOp::create(b, inWarp, i32(2));
  Value elements = arith::AddIOp::create(
      b, arith::MulIOp::create(b, row, i64(columns)), wide(own));
  Value target = elementAddress(view, elements);
  int64_t first = int64_t(op.getFirst()) / 8 * kColumnBytes;
  Registers registers = fragments[op.getFragment()];
  for (size_t i = 0; i < registers.size(); i += 4)
    asmVoid(fmt::format("red.global.add.v4.f32 [$0 + {}], {{$1, $2, $3, $4}};",
                        first + int64_t(i) / 4 * kColumnBytes),
            "l,f,f,f,f,~{memory}",
            {target, registers[i], registers[i + 1], registers[i + 2],
             registers[i + 3]});
  meetWarp();
}

// Its number among all rows: a workspace is dense. Made where it is used and
// not in front of a loop, as headOffsetHere.
Value KernelEmitter::workspaceRow(const View &view, Value batch, Value head,
                                  Value row) {
  Value all = arith::AddIOp::create(
      b, arith::MulIOp::create(b, toI32(scalar(batch)), view.sizes[1]),
      inlineAsm(b.getI32Type(), "mov.b32 $0, $1;", "=r,r",
                toI32(scalar(head))));
  Value first = arith::MulIOp::create(b, wide(all), wide(view.sizes[2]));
  return arith::AddIOp::create(b, first, wide(row));
}

// Where this warp's number is: that of its first row.
template <typename OpTy> Value KernelEmitter::turnAddress(OpTy op) {
  const View &view = views[op.getTurns()];
  Value row =
      arith::AddIOp::create(b, toI32(scalar(op.getRow())),
                            arith::MulIOp::create(b, warpId, i32(kWarpRows)));
  return elementAddress(view,
                        workspaceRow(view, op.getBatch(), op.getHead(), row));
}

// Additions are done in L2, in the order that this thread's loads and stores
// say: there is nothing of its own for a fence to show. All lanes look at the
// number, which is one access: where one lane did and the others waited for
// it, the warp was apart at the fence and the meeting that come next.
void KernelEmitter::emitBeginSums(warp::BeginSumsOp op) {
  callWithCondition(scalar(op.getFollows()), [&] {
    Value address = turnAddress(op);
    Value ofBehind =
        arith::AddIOp::create(b, toI32(scalar(op.getNumber())), i32(2));
    asmVoid("{\n.reg .pred p;\n.reg .b32 turn;\nAGAIN:\n"
            "ld.relaxed.gpu.global.b32 turn, [$0];\n"
            "setp.ne.b32 p, turn, $1;\n@p bra AGAIN;\n}",
            "l,r,~{memory}", {address, ofBehind});
  });
  meetWarp();
}

bool KernelEmitter::addsFromRegisters() {
  return kernel.getOps<warp::StagingOp>().empty();
}

// The wait is for additions that are done, not for sources that were read.
void KernelEmitter::emitEndSums(warp::EndSumsOp op) {
  if (addsFromRegisters()) { // by all lanes
    asmVoid("fence.acq_rel.gpu;", "~{memory}", {});
    meetWarp();
  }
  readLaneAgain();
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
  callWithCondition(isFirst, [&] {
    Value address = turnAddress(op);
    Value own = arith::AddIOp::create(b, toI32(scalar(op.getNumber())), i32(1));
    asmVoid("cp.async.bulk.wait_group 0;\n"
            "st.relaxed.gpu.global.b32 [$0], $1;",
            "l,r,~{memory}", {address, own});
  });
}

// This lane's first four elements of a warp's rows.
Value KernelEmitter::packedAddress(Value sums, Value batch, Value head,
                                   Value row) {
  const View &view = views[sums];
  Value start = headOffset(view, scalar(batch), scalar(head));
  Value rows = arith::AddIOp::create(
      b, toI32(scalar(row)), arith::MulIOp::create(b, warpId, i32(kWarpRows)));
  Value elements =
      arith::MulIOp::create(b, wide(rows), i64(view.type.getDimSize(3)));
  elements = arith::AddIOp::create(
      b, elements, wide(arith::ShLIOp::create(b, lane, i32(2))));
  return elementAddress(view, arith::AddIOp::create(b, start, elements));
}

void KernelEmitter::emitStoreSums(warp::StoreSumsOp op) {
  Value base =
      packedAddress(op.getView(), op.getBatch(), op.getHead(), op.getRow());
  auto four = VectorType::get(4, b.getF32Type());
  Registers registers = fragments[op.getFragment()];
  for (size_t first = 0; first < registers.size(); first += 4) {
    Value all = LLVM::PoisonOp::create(b, four);
    for (size_t i = 0; i < 4; ++i)
      all = LLVM::InsertElementOp::create(b, all, registers[first + i],
                                          i32(int64_t(i)));
    LLVM::StoreOp::create(b, all, gep(base, int64_t(first) / 4 * kColumnBytes),
                          /*alignment=*/16);
  }
}

void KernelEmitter::loadPackedSums(warp::LoadSumsOp op) {
  int64_t columns = views[op.getView()].type.getDimSize(3);
  Value base =
      packedAddress(op.getView(), op.getBatch(), op.getHead(), op.getRow());
  auto four = VectorType::get(4, b.getF32Type());
  Registers out;
  for (int64_t column = 0; column < columns; column += 8) {
    Value all = LLVM::LoadOp::create(
        b, four, gep(base, column / 8 * kColumnBytes), /*alignment=*/16);
    for (int64_t i = 0; i < 4; ++i)
      out.push_back(LLVM::ExtractElementOp::create(b, all, i32(i)));
  }
  fragments[op.getFragment()] = out;
}
