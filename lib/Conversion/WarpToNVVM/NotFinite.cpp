// convert-warp-to-nvvm, NaN and infinity in a B operand. The tensor cores
// multiply every weight with every element, and 0 * NaN is NaN: a masked key
// would reach rows that must not see it. So blocks with a mask are looked at
// once (`warp.scan`), and in the rare one with such elements they count as zero
// and the rows that do see them become NaN: by a slow product, here, or where
// nothing else reads the buffer, in it (Scrub.cpp).
//
// Two 16-bit elements share a register. An element is not finite iff its
// exponent is all ones, that is iff adding one to the exponent carries into the
// sign's place; no carry leaves its half.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

constexpr int32_t kSigns = int32_t(0x80008000);

// In bit 15 of each half (the other bits are of no meaning): not finite.
Value KernelEmitter::notFinite(Value pair, Type element) {
  int32_t exponent = element.isBF16() ? 0x7f807f80 : 0x7c007c00;
  int32_t one = element.isBF16() ? 0x00800080 : 0x04000400;
  Value bits = arith::AndIOp::create(b, pair, i32(exponent));
  return arith::AddIOp::create(b, bits, i32(one));
}

// The same without other bits.
Value KernelEmitter::badSigns(Value pair, Type element) {
  return arith::AndIOp::create(b, notFinite(pair, element), i32(kSigns));
}

// 16 bytes of shared memory.
SmallVector<Value> KernelEmitter::loadPiece(Value address) {
  Value piece = LLVM::LoadOp::create(b, VectorType::get(4, b.getI32Type()),
                                     address, /*alignment=*/16);
  Registers pairs;
  for (int64_t i = 0; i < 4; ++i)
    pairs.push_back(LLVM::ExtractElementOp::create(b, piece, i32(i)));
  return pairs;
}

// `some`, or a sign for each element of the piece that is not finite.
Value KernelEmitter::scanPiece(Value some, Value address, Type element) {
  for (Value pair : loadPiece(address))
    some = arith::OrIOp::create(b, some, notFinite(pair, element));
  return some;
}

Value KernelEmitter::hasSign(Value some) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                               arith::AndIOp::create(b, some, i32(kSigns)),
                               i32(0));
}

void KernelEmitter::emitScan(warp::ScanOp op) {
  auto type = cast<warp::BufferType>(op.getBuffer().getType());
  Value buffer = buffers[op.getBuffer()];
  Value first = gep(buffer, Value(arith::ShLIOp::create(b, thread, i32(4))));
  Value some = i32(0);
  int64_t pieces = type.getBytes() / 16;
  for (int64_t done = 0; done < pieces; done += threads()) {
    // The last step may have fewer pieces than threads: some look twice.
    Value address = gep(first, done * 16);
    if (done + threads() > pieces) {
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, thread,
                                           i32(pieces - done));
      address = arith::SelectOp::create(b, inside, address, buffer);
    }
    some = scanPiece(some, address, type.getElementType());
  }
  Value predicate = arith::ExtUIOp::create(b, b.getI32Type(), hasSign(some));
  auto any = NVVM::BarrierReductionAttr::get(b.getContext(),
                                             NVVM::BarrierReduction::OR);
  Value all = NVVM::BarrierOp::create(b, TypeRange{b.getI32Type()}, Value(),
                                      Value(), any, predicate)
                  .getResult(0);
  scalars.map(op.getResult(), Value(arith::CmpIOp::create(
                                  b, arith::CmpIPredicate::ne, all, i32(0))));
}

// Zero in the halves whose sign `badSigns` gave.
Value KernelEmitter::clearSigned(Value pair, Value signs) {
  // 0x8000 - 1 fills the half below its sign.
  Value ones = arith::SubIOp::create(b, signs,
                                     arith::ShRUIOp::create(b, signs, i32(15)));
  Value mask = arith::OrIOp::create(b, signs, ones);
  Value keep = arith::XOrIOp::create(b, mask, i32(-1));
  return arith::AndIOp::create(b, pair, keep);
}

// Zero for what is not finite in the four registers of a B operand. `bad` has
// two registers, one for the keys of b0 and one for those of b1, whose halves
// gather the keys' signs.
void KernelEmitter::cleanOperandB(Registers &bs, Type element, Registers &bad) {
  for (auto [index, pair] : llvm::enumerate(bs)) {
    Value signs = badSigns(pair, element);
    bad[index % 2] = arith::OrIOp::create(b, bad[index % 2], signs);
    pair = clearSigned(pair, signs);
  }
}

// The value or-ed over the lanes at the given distances.
Value KernelEmitter::orLanes(Value value, ArrayRef<int64_t> distances) {
  for (int64_t distance : distances) {
    Value other =
        NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), value, i32(distance),
                             i32(31), NVVM::ShflKind::bfly, UnitAttr());
    value = arith::OrIOp::create(b, value, other);
  }
  return value;
}

// Of the signs that cleanOperandB gathers: lanes of one place in their quads
// hold the same keys.
SmallVector<Value> KernelEmitter::ofAllColumns(const Registers &bad) {
  Registers all;
  for (Value signs : bad)
    all.push_back(orLanes(signs, {4, 8, 16}));
  return all;
}

// Marks the rows whose weight for a bad key of this step of 16 keys is not
// zero. `a` has the weights of each row tile, `bad` the signs of the keys of b0
// and of b1, of all their columns.
// One step at a time, so that no weight lives longer than its product.
void KernelEmitter::markRows(ArrayRef<Registers> a, const Registers &bad,
                             Registers &rows, bool areSigned) {
  for (int64_t side : {0, 1}) {
    for (size_t rowTile = 0; rowTile < a.size(); ++rowTile)
      for (int64_t half : {0, 1}) {
        // Without a sign, 0x7fff carries into its place iff not 0.
        Value size = a[rowTile][side * 2 + half];
        if (areSigned)
          size = arith::AndIOp::create(b, size, i32(0x7fff7fff));
        Value some = arith::AddIOp::create(b, size, i32(0x7fff7fff));
        Value &row = rows[FragmentLayout::row(rowTile, half)];
        row = arith::OrIOp::create(b, row,
                                   arith::AndIOp::create(b, some, bad[side]));
      }
  }
}

// NaN in every marked row of an accumulator.
void KernelEmitter::poisonRows(const FragmentLayout &layout,
                               const Registers &rows, Registers &acc) {
  Value nan = arith::ConstantOp::create(
      b, b.getFloatAttr(b.getF32Type(),
                        llvm::APFloat::getNaN(llvm::APFloat::IEEEsingle())));
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value row = orLanes(rows[FragmentLayout::row(rowTile, half)], {1, 2});
      Value sees =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, row, i32(0));
      for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
        for (int64_t column : {0, 1}) {
          Value &element = acc[layout.element(rowTile, tile, half, column)];
          element = arith::SelectOp::create(b, sees, nan, element);
        }
    }
}
