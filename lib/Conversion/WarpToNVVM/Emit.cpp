// convert-warp-to-nvvm, kernels with roles: the way out of a tile, from
// fragments through shared memory by TMA.
#include "KernelEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace flashc;

Value KernelEmitter::groupBarrier() {
  if (roleGroup)
    return i32(kGroupBarrier + *roleGroup);
  return arith::AddIOp::create(b, group, i32(kGroupBarrier));
}

// Where this lane's row of a stmatrix's matrices is in a group's part.
Value KernelEmitter::stagedLane() {
  return atEntry("staged", [&]() -> Value {
    Value inGroup = arith::AndIOp::create(b, warpId, i32(3));
    Value row8 = arith::AndIOp::create(b, lane, i32(7));
    Value matrix = arith::ShRUIOp::create(b, lane, i32(3));
    Value row = arith::AddIOp::create(
        b, arith::ShLIOp::create(b, inGroup, i32(4)),
        arith::AddIOp::create(
            b, row8,
            arith::ShLIOp::create(b, arith::AndIOp::create(b, matrix, i32(1)),
                                  i32(3))));
    Value piece = arith::XOrIOp::create(
        b, row8, arith::ShRUIOp::create(b, matrix, i32(1)));
    return arith::AddIOp::create(b, arith::ShLIOp::create(b, row, i32(7)),
                                 arith::ShLIOp::create(b, piece, i32(4)));
  });
}

// Where a step of 16 columns of the lane's row is.
Value KernelEmitter::stagedStep(Value first, int64_t column,
                                warp::BufferType buffer) {
  int64_t segment = column / 64, step = column % 64 / 8;
  Value address = first;
  if (step)
    address = arith::XOrIOp::create(b, address, i32(step * 16));
  if (segment)
    address = arith::AddIOp::create(b, address,
                                    i32(segment * buffer.getPartRows() * 128));
  return address;
}

// The way back of stageFragment.
void KernelEmitter::loadStaged(warp::LoadOp op) {
  auto buffer = cast<warp::BufferType>(op.getBuffer().getType());
  auto fragment = cast<warp::FragmentType>(op.getFragment().getType());
  Value first =
      arith::AddIOp::create(b, partAddress(op.getBuffer()), stagedLane());
  Registers out;
  Type i32Type = b.getI32Type();
  for (int64_t column = 0; column < fragment.getShape()[1]; column += 16)
    out.append(asmMany({i32Type, i32Type, i32Type, i32Type},
                       "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, "
                       "$3}, [$4];",
                       "=r,=r,=r,=r,r,~{memory}",
                       stagedStep(first, column, buffer)));
  fragments[op.getFragment()] = out;
}

// Four 8 x 8 matrices a stmatrix: the 16 rows of the warp, 16 columns.
void KernelEmitter::stageFragment(Value tile, warp::BufferType buffer,
                                  Value part) {
  auto fragment = cast<warp::FragmentType>(tile.getType());
  Registers registers = fragments[tile];
  Value first = arith::AddIOp::create(b, part, stagedLane());
  for (int64_t column = 0; column < fragment.getShape()[1]; column += 16) {
    SmallVector<Value> operands = {stagedStep(first, column, buffer)};
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
  Value barrier = groupBarrier();
  auto meet = [&] { asmVoid("bar.sync $0, 128;", "r,~{memory}", barrier); };
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            arith::AndIOp::create(b, thread, i32(127)), i32(0));
  // Bytes of its own are read out while the next tile is computed; Q's are due
  // back at once. What was reclaimed nobody writes again.
  bool isApart = op.getBuffer().getDefiningOp<warp::AllocOp>();
  bool isReclaimed = op.getBuffer().getDefiningOp<warp::ReclaimOp>();
  if (isApart)
    callWithCondition(isFirst, [&] { awaitEmitted(); });
  if (!isReclaimed)
    meet(); // nobody reads the part any more
  stageFragment(op.getFragment(), buffer, part);
  showToCopies();
  meet();
  callWithCondition(isFirst, [&] {
    Value map = tensorMaps[warp::getTensorMapIndex(mapList, op.getView(),
                                                   buffer.getPartRows())];
    Value row = arith::AddIOp::create(
        b, toI32(scalar(op.getRow())),
        arith::MulIOp::create(b, group, i32(buffer.getPartRows())));
    Value head = toI32(scalar(op.getHead()));
    Value batch = toI32(scalar(op.getBatch()));
    bool whole = isWholeBox(view.type);
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
    asmVoid("cp.async.bulk.commit_group;", "~{memory}", {});
    if (!isApart && !isReclaimed)
      awaitEmitted();
  });
}

// This thread's stores have read the shared memory that they store.
void KernelEmitter::awaitEmitted() {
  asmVoid("cp.async.bulk.wait_group.read 0;", "~{memory}", {});
}
