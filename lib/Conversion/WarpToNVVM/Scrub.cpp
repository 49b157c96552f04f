// convert-warp-to-nvvm, NaN and infinity in a B operand that nothing else
// reads (`warp.scrub`): gone from shared memory before the product. The code is
// in loops, small rather than fast, since it stands in every kernel with a mask
// and hardly ever runs.
#include "KernelEmitter.h"

#include <fmt/format.h>

using namespace mlir;
using namespace flashc;

// A loop of one 16-byte piece at a time, which LLVM does not unroll: it does
// not see the end.
scf::ForOp KernelEmitter::loopOverPieces(Value from, int64_t end, int64_t step,
                                         ValueRange carried) {
  Value hidden =
      inlineAsm(b.getI32Type(), fmt::format("mov.u32 $0, {};", end), "=r", {});
  return scf::ForOp::create(b, from, hidden, i32(step), carried);
}

// A special register where it is used: as a value it would live through the
// loops around this code.
Value KernelEmitter::readAgain(StringRef name) {
  return inlineAsm(b.getI32Type(), fmt::format("mov.u32 $0, %{};", name.str()),
                   "=r", {});
}

// One register for 32 rows of the buffer, a bit a row: some element is not
// finite. Every warp looks at the whole buffer, a lane at its rows.
SmallVector<Value> KernelEmitter::findBadRows(Value buffer,
                                              warp::BufferType type) {
  int64_t rows = type.getShape()[0];
  Swizzle swizzle{type.getSegment()};
  Registers bits;
  Value ownLane = readAgain("laneid");
  for (int64_t first = 0; first < rows; first += 32) {
    Value row = arith::AddIOp::create(b, ownLane, i32(first));
    if (first + 32 > rows)
      row = arith::MinSIOp::create(b, row, i32(rows - 1));
    Value start =
        gep(buffer,
            arith::MulIOp::create(b, row, i32(swizzle.pitch())).getResult());
    auto loop = loopOverPieces(i32(0), type.getShape()[1] / 8, 1, i32(0));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      // A row's pieces are permuted among themselves.
      Value piece = loop.getInductionVar();
      Value slab = arith::DivUIOp::create(b, piece, i32(swizzle.pieces()));
      Value inSlab = arith::RemUIOp::create(b, piece, i32(swizzle.pieces()));
      Value address =
          gep(gep(start,
                  Value(arith::MulIOp::create(b, slab, i32(slabBytes(type))))),
              Value(arith::ShLIOp::create(b, inSlab, i32(4))));
      Value some =
          scanPiece(loop.getRegionIterArg(0), address, type.getElementType());
      scf::YieldOp::create(b, some);
    }
    bits.push_back(NVVM::VoteSyncOp::create(b, b.getI32Type(), i32(-1),
                                            hasSign(loop.getResult(0)),
                                            NVVM::VoteSyncKind::ballot));
  }
  return bits;
}

// Each thread zeroes what is not finite in its share of the buffer.
void KernelEmitter::clearBuffer(Value buffer, warp::BufferType type) {
  auto loop =
      loopOverPieces(readAgain("tid.x"), type.getBytes() / 16, threads(), {});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value address = gep(
      buffer, Value(arith::ShLIOp::create(b, loop.getInductionVar(), i32(4))));
  auto quad = VectorType::get(4, b.getI32Type());
  Value cleared = LLVM::UndefOp::create(b, quad);
  for (auto [i, pair] : llvm::enumerate(loadPiece(address))) {
    Value finite = clearSigned(pair, badSigns(pair, type.getElementType()));
    cleared =
        LLVM::InsertElementOp::create(b, cleared, finite, i32(int64_t(i)));
  }
  LLVM::StoreOp::create(b, cleared, address, /*alignment=*/16);
}

// The signs of a register's two rows of B, `row` and the next: those that this
// lane's weights meet.
Value KernelEmitter::signsOfRows(ArrayRef<Value> badRows, int64_t row) {
  Value place = arith::AddIOp::create(
      b,
      arith::ShLIOp::create(
          b, arith::AndIOp::create(b, readAgain("laneid"), i32(3)), i32(1)),
      i32(row % 32));
  Value pair = arith::ShRUIOp::create(b, badRows[row / 32], place);
  Value low = arith::ShLIOp::create(b, pair, i32(15));
  Value high = arith::ShLIOp::create(b, pair, i32(30));
  return arith::OrIOp::create(b, arith::AndIOp::create(b, low, i32(0x8000)),
                              arith::AndIOp::create(b, high, i32(1 << 31)));
}

void KernelEmitter::emitScrub(warp::ScrubOp op) {
  warp::BufferType type = op.getBuffer().getType();
  Value buffer = buffers[op.getBuffer()];
  Registers badRows = findBadRows(buffer, type);
  FragmentLayout layout(op.getAcc().getType(), grid());
  FragmentLayout weights(op.getWeights().getType(), grid());
  ArrayRef<Value> registers = fragments[op.getWeights()];
  Registers marked(layout.rowTiles * 2, i32(0));
  for (int64_t k = 0; k < type.getShape()[0]; k += 16) {
    SmallVector<Registers> a;
    for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
      a.push_back(
          Registers(registers.slice(weights.pair(rowTile, k / 8, 0), 4)));
    markRows(a, {signsOfRows(badRows, k), signsOfRows(badRows, k + 8)}, marked);
  }
  Registers acc = fragments[op.getAcc()];
  poisonRows(layout, marked, acc);
  fragments[op.getResult()] = acc;
  NVVM::Barrier0Op::create(b); // all warps have looked
  clearBuffer(buffer, type);
  NVVM::Barrier0Op::create(b);
}
