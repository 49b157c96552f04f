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

// By each op of a reducer, so that the lane does not live beside its products,
// and once by the groups beside it, which are better off with some values of a
// lane (docs/decisions/022). Not from the thread's number: what ptxas makes of
// a warp's part of that is no longer known to be the same in all lanes, and
// then neither is any descriptor.
void KernelEmitter::readLane() {
  lane = inlineAsm(b.getI32Type(), "mov.u32 $0, %laneid;", "=r", {});
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
  readLane();
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
  readLane();
  showToCopies();
  meetWarp();
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
  callWithCondition(isFirst, [&] {
    Value start =
        headOffsetHere(view, scalar(op.getBatch()), scalar(op.getHead()));
    Value rows =
        arith::AddIOp::create(b, toI32(scalar(op.getRow())),
                              arith::MulIOp::create(b, warpId, i32(kWarpRows)));
    Value elements = arith::MulIOp::create(b, wide(rows), i64(columns));
    elements = arith::AddIOp::create(b, elements,
                                     i64(int64_t(op.getFirst()) * kWarpRows));
    Value target =
        elementAddress(view, arith::AddIOp::create(b, start, elements));
    asmVoid("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [$0], "
            "[$1], $2;",
            "l,r,r,~{memory}",
            {target, stagedPart(room, op.getSlot()),
             i32(int64_t(op.getCount()) / 8 * kColumnBytes)});
    asmVoid("cp.async.bulk.commit_group;", "~{memory}", {});
  });
}

void KernelEmitter::loadPackedSums(warp::LoadSumsOp op) {
  const View &view = views[op.getView()];
  int64_t columns = view.type.getDimSize(3);
  Value start = headOffset(view, scalar(op.getBatch()), scalar(op.getHead()));
  Value rows =
      arith::AddIOp::create(b, toI32(scalar(op.getRow())),
                            arith::MulIOp::create(b, warpId, i32(kWarpRows)));
  Value elements = arith::MulIOp::create(b, wide(rows), i64(columns));
  elements = arith::AddIOp::create(
      b, elements, wide(arith::ShLIOp::create(b, lane, i32(2))));
  Value base = elementAddress(view, arith::AddIOp::create(b, start, elements));
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
