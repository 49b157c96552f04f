// convert-warp-to-nvvm, the tensor cores: ldmatrix from swizzled buffers,
// mma.sync, and fragments back to shared memory.
//
// In a 16 x 16 block at row r0 and column c0, both multiples of 16, the piece
// of a lane is ((c0 % segment) / 8 + hi) ^ f with hi and f (the row's
// permutation) known a lane. Since c0 / 8 is even, this is (c0 / 8) ^ (hi ^ f):
// one lane offset a k-step of a slab, and constants for everything else.
#include "KernelEmitter.h"

#include "llvm/Support/MathExtras.h"

#include <fmt/format.h>

using namespace mlir;
using namespace flashc;

// The place of one of `parts` groups of columns in a buffer, added to a lane's
// offset: whole slabs, and pieces of one that a power of two of parts share.
Value KernelEmitter::addColumnPart(Value offset, int64_t columns, int64_t parts,
                                   warp::BufferType type) {
  if (parts == 1)
    return offset;
  int64_t own = columns / parts, segment = type.getSegment();
  Value slab = columnPart(parts);
  if (own < segment) {
    int64_t shared = segment / own;
    Value inSlab = arith::AndIOp::create(b, slab, i32(shared - 1));
    offset = arith::XOrIOp::create(
        b, offset, arith::MulIOp::create(b, inSlab, i32(own / 8 * 16)));
    slab = arith::ShRUIOp::create(b, slab, i32(llvm::Log2_64(shared)));
    own = segment;
  }
  return arith::AddIOp::create(
      b, offset,
      arith::MulIOp::create(b, slab, i32(own / segment * slabBytes(type))));
}

Value KernelEmitter::laneOffset(LaneRole role, warp::BufferType type,
                                int64_t step, const Deal *rows,
                                std::pair<int64_t, int64_t> columns) {
  int64_t segment = type.getSegment();
  bool areRowsDealt = rows && role != LaneRole::OperandATrans;
  int64_t warpRows = areRowsDealt ? rows->warpRows : 0;
  std::string key = fmt::format("lane{}:{}:{}", int(role), segment, warpRows);
  if (rows && rows->parts > 1)
    key += fmt::format(":{}", rows->parts);
  if (columns.second > 1 || role == LaneRole::OperandATrans)
    key += fmt::format(":{}/{}:{}:{}", columns.first, columns.second,
                       slabBytes(type), rows ? rows->warpRows : 0);
  Swizzle swizzle{segment};
  Value base = atEntry(key, [&]() -> Value {
    auto bits = [&](int64_t shift, int64_t mask) -> Value {
      Value shifted = arith::ShRUIOp::create(b, lane, i32(shift));
      return arith::AndIOp::create(b, shifted, i32(mask));
    };
    Value row, high;
    if (role == LaneRole::Accumulator) {
      row = bits(2, 7);
    } else {
      // Lanes 8-15 and 16-31 address the other three 8 x 8 matrices.
      bool isCrossed =
          role == LaneRole::OperandB || role == LaneRole::OperandATrans;
      Value eight = isCrossed ? bits(4, 1) : bits(3, 1);
      high = isCrossed ? bits(3, 1) : bits(4, 1);
      row = arith::AddIOp::create(b, bits(0, 7),
                                  arith::ShLIOp::create(b, eight, i32(3)));
    }
    Value piece = arith::AndIOp::create(
        b, arith::DivUIOp::create(b, row, i32(swizzle.rowGroup())),
        i32(swizzle.pieces() - 1));
    if (high)
      piece = arith::XOrIOp::create(b, piece, high);
    Value offset = arith::AddIOp::create(
        b, arith::MulIOp::create(b, row, i32(swizzle.pitch())),
        arith::ShLIOp::create(b, piece, i32(4)));
    if (role == LaneRole::Accumulator) {
      Value pair = arith::ShLIOp::create(b, bits(0, 3), i32(2));
      offset = arith::AddIOp::create(b, offset, pair);
    }
    offset = addColumnPart(offset, columns.first, columns.second, type);
    if (role == LaneRole::OperandATrans)
      return addDealtColumns(offset, *rows, type);
    if (!warpRows)
      return offset;
    Value first = arith::MulIOp::create(b, warpGroup(rows->parts),
                                        i32(warpRows * swizzle.pitch()));
    return arith::AddIOp::create(b, offset, first);
  });
  if (step == 0)
    return base;
  // `step` counts pieces of 16 bytes; the permuted piece is in bits 4 to 6.
  // Taken at each use, and not kept: an exclusive or is cheaper than a register
  // that lives through the whole loop. The side effect keeps LLVM from hoisting
  // it.
  return inlineAsm(b.getI32Type(),
                   fmt::format("xor.b32 $0, $1, {};", step * 16), "=r,r", base);
}

SmallVector<Value> KernelEmitter::loadMatrix(Value address, bool transposed) {
  auto i32Type = b.getI32Type();
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), {i32Type, i32Type, i32Type, i32Type});
  auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
  Value all = NVVM::LdMatrixOp::create(b, type, address, 4,
                                       transposed ? NVVM::MMALayout::col
                                                  : NVVM::MMALayout::row,
                                       shape, NVVM::LdStMatrixEltType::B16);
  Registers out;
  for (int64_t i = 0; i < 4; ++i)
    out.push_back(LLVM::ExtractValueOp::create(b, all, i));
  return out;
}

// A register's two halves as mma.sync takes them. A fragment meets many others:
// one cast serves them all.
static Value halvesOf(OpBuilder &b, Value value, Type element) {
  if (element.isBF16())
    return value;
  auto type = VectorType::get(2, element);
  for (Operation *user : value.getUsers())
    if (isa<LLVM::BitcastOp>(user) && user->getBlock() == b.getBlock() &&
        user->getResult(0).getType() == type)
      return user->getResult(0);
  return LLVM::BitcastOp::create(b, value.getLoc(), type, value);
}

// acc (four registers) += A (four) * B (two): m16n8k16, or two m16n8k8.
void KernelEmitter::multiply(Value *acc, ArrayRef<Value> a, ArrayRef<Value> bs,
                             Type element) {
  auto f32 = b.getF32Type();
  auto result =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  auto type = element.isBF16() ? NVVM::MMATypes::bf16 : NVVM::MMATypes::f16;
  auto half = [&](ArrayRef<Value> values) {
    Registers out;
    for (Value value : values)
      out.push_back(halvesOf(b, value, element));
    return out;
  };
  auto step = [&](ArrayRef<Value> a, ArrayRef<Value> bs, int64_t k) {
    Registers c(acc, acc + 4);
    Value d = NVVM::MmaOp::create(
        b, result, half(a), half(bs), c, ArrayRef<int64_t>{16, 8, k},
        std::nullopt, std::nullopt, std::array<NVVM::MMATypes, 2>{type, type},
        std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row,
                                       NVVM::MMALayout::col});
    for (int64_t i = 0; i < 4; ++i)
      acc[i] = LLVM::ExtractValueOp::create(b, d, i);
  };
  if (features.hasMmaK16)
    return step(a, bs, 16);
  step(a.take_front(2), bs.take_front(1), 8);
  step(a.drop_front(2), bs.drop_front(1), 8);
}

// The first of a warp's columns, where columns are dealt to the warps as rows
// are: those of a power of two of warps share a slab.
Value KernelEmitter::addDealtColumns(Value offset, const Deal &deal,
                                     warp::BufferType type) {
  int64_t own = deal.warpRows, segment = type.getSegment();
  Value group = warpGroup(deal.parts);
  Value column = arith::MulIOp::create(b, group, i32(own));
  Value inSlab = arith::AndIOp::create(b, column, i32(segment - 1));
  Value slab = arith::ShRUIOp::create(b, column, i32(llvm::Log2_64(segment)));
  offset = arith::XOrIOp::create(b, offset,
                                 arith::ShLIOp::create(b, inSlab, i32(1)));
  return arith::AddIOp::create(
      b, offset, arith::MulIOp::create(b, slab, i32(slabBytes(type))));
}

void KernelEmitter::emitLoad(warp::LoadOp op) {
  if (kernel.getGroups())
    return loadStaged(op);
  auto type = cast<warp::BufferType>(op.getBuffer().getType());
  auto fragment = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(fragment, grid());
  Registers out(layout.registers(/*packed=*/true));
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t k = 0; k < layout.columns(); k += 16) {
      Registers part =
          loadOperandA(buffers[op.getBuffer()], type, rowTile, k, layout.parts);
      for (int64_t i = 0; i < 4; ++i)
        out[layout.pair(rowTile, k / 8 + i / 2, i % 2)] = part[i];
    }
  fragments[op.getFragment()] = out;
}

// The A operand of a 16 x 16 block: row tile of this warp, columns k to k + 15
// of all, or of its part of them.
SmallVector<Value> KernelEmitter::loadOperandA(Value buffer,
                                               warp::BufferType type,
                                               int64_t rowTile, int64_t k,
                                               int64_t parts) {
  int64_t segment = type.getSegment();
  Deal deal(type.getShape()[0], grid());
  Value lanes = laneOffset(LaneRole::OperandA, type, k % segment / 8, &deal,
                           {type.getShape()[1], parts});
  int64_t constant =
      k / segment * slabBytes(type) + rowTile * 16 * Swizzle{segment}.pitch();
  return loadMatrix(gep(gep(buffer, lanes), constant), /*transposed=*/false);
}

// The same of a buffer that holds A^T: rows k, and columns dealt to the warps.
SmallVector<Value> KernelEmitter::loadOperandATrans(Value buffer,
                                                    warp::BufferType type,
                                                    int64_t rowTile,
                                                    int64_t k) {
  int64_t segment = type.getSegment();
  Deal deal(type.getShape()[1], grid());
  Value lanes = laneOffset(LaneRole::OperandATrans, type,
                           rowTile * 16 % segment / 8, &deal);
  int64_t constant =
      rowTile * 16 / segment * slabBytes(type) + k * Swizzle{segment}.pitch();
  return loadMatrix(gep(gep(buffer, lanes), constant), /*transposed=*/true);
}

// The B operand for columns n to n + 15 (of this warp's part) and k to k + 15
// of the product: rows n of the buffer if it holds B^T, else rows k, transposed
// on the way.
SmallVector<Value> KernelEmitter::loadOperandB(Value buffer,
                                               warp::BufferType type, int64_t n,
                                               int64_t k, bool transposeB,
                                               int64_t parts) {
  int64_t segment = type.getSegment();
  int64_t row = transposeB ? n : k, column = transposeB ? k : n;
  Value lanes =
      laneOffset(transposeB ? LaneRole::OperandB : LaneRole::OperandBTrans,
                 type, column % segment / 8, /*rows=*/nullptr,
                 {type.getShape()[1], transposeB ? 1 : parts});
  int64_t constant =
      column / segment * slabBytes(type) + row * Swizzle{segment}.pitch();
  Value address = gep(gep(buffer, lanes), constant);
  if (transposeB && parts > 1) {
    Value rows = arith::MulIOp::create(
        b, columnPart(parts),
        i32(type.getShape()[0] / parts * Swizzle{segment}.pitch()));
    address = gep(address, rows);
  }
  return loadMatrix(address, !transposeB);
}

void KernelEmitter::emitMma(warp::MmaOp op) {
  auto rhsType = cast<warp::BufferType>(op.getRhs().getType());
  auto accType = cast<warp::FragmentType>(op.getResult().getType());
  FragmentLayout layout(accType, grid());
  Registers acc = fragments[op.getAcc()];
  int64_t depth = rhsType.getShape()[op.getTransposeB() ? 1 : 0];
  int64_t columns = layout.columns();
  auto lhsBuffer = dyn_cast<warp::BufferType>(op.getLhs().getType());
  Registers badRows; // if guarded
  if (op.getGuarded())
    badRows.assign(layout.rowTiles * 2, i32(0));
  for (int64_t k = 0; k < depth; k += 16) {
    Registers badKeys(2, op.getGuarded() ? i32(0) : Value());
    SmallVector<Registers> a;
    for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile) {
      if (lhsBuffer) {
        Value buffer = buffers[op.getLhs()];
        a.push_back(op.getTransposeA()
                        ? loadOperandATrans(buffer, lhsBuffer, rowTile, k)
                        : loadOperandA(buffer, lhsBuffer, rowTile, k));
        continue;
      }
      FragmentLayout lhs(cast<warp::FragmentType>(op.getLhs().getType()),
                         grid());
      ArrayRef<Value> registers = fragments[op.getLhs()];
      a.push_back(Registers(registers.slice(lhs.pair(rowTile, k / 8, 0), 4)));
    }
    for (int64_t n = 0; n < columns; n += 16) {
      Registers bs = loadOperandB(buffers[op.getRhs()], rhsType, n, k,
                                  op.getTransposeB(), layout.parts);
      if (op.getGuarded())
        cleanOperandB(bs, rhsType.getElementType(), badKeys);
      for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
        for (int64_t side : {0, 1})
          multiply(&acc[layout.element(rowTile, n / 8 + side, 0, 0)],
                   a[rowTile], ArrayRef(bs).slice(2 * side, 2),
                   rhsType.getElementType());
    }
    if (op.getGuarded())
      // Without a grid of its own a kernel's weights are probabilities.
      markRows(a, ofAllColumns(badKeys), badRows,
               /*areSigned=*/kernel.getGrid().has_value());
  }
  if (op.getGuarded())
    poisonRows(layout, badRows, acc);
  fragments[op.getResult()] = acc;
}

// Each lane's pairs to the warp's own rows.
void KernelEmitter::emitStore(warp::StoreOp op) {
  auto type = cast<warp::BufferType>(op.getBuffer().getType());
  auto fragment = cast<warp::FragmentType>(op.getFragment().getType());
  if (kernel.getGroups())
    return stageFragment(op.getFragment(), type, partAddress(op.getBuffer()));
  FragmentLayout layout(fragment, grid());
  int64_t segment = type.getSegment();
  Deal deal(type.getShape()[0], grid());
  Registers registers = fragments[op.getFragment()];
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
      for (int64_t half : {0, 1}) {
        int64_t column = tile * 8;
        Value lanes =
            laneOffset(LaneRole::Accumulator, type, column % segment / 8, &deal,
                       {type.getShape()[1], layout.parts});
        int64_t constant = column / segment * slabBytes(type) +
                           (rowTile * 16 + half * 8) * Swizzle{segment}.pitch();
        Value address = gep(gep(buffers[op.getBuffer()], lanes), constant);
        LLVM::StoreOp::create(b, registers[layout.pair(rowTile, tile, half)],
                              address, /*alignment=*/4);
      }
}
