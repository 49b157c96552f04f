// convert-warp-to-nvvm, kernels with roles: the tensor cores (wgmma) and waits
// for them.
//
// One asm block a product, with fence and commit, as the registers of a product
// under way may not be touched between its instructions. A wait names the
// registers that it makes readable as both input and output, so that neither
// LLVM nor ptxas moves what reads them above it.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

/// Matrix descriptor (PTX ISA, wgmma): bits 16-29 leading byte offset, 32-45
/// stride byte offset, both in 16 bytes; 62-63: 1 is the 128-byte swizzle.
static uint64_t descriptorBits(uint64_t leadingBytes) {
  constexpr uint64_t kStride = 1024; // eight rows of 128 bytes
  return (leadingBytes >> 4) << 16 | (kStride >> 4) << 32 | uint64_t(1) << 62;
}

// The descriptor of a tile at a shared address, which is below 256 KiB and a
// multiple of 1024.
Value KernelEmitter::descriptor(Value address, uint64_t leadingBytes) {
  Value low = arith::ShRUIOp::create(b, address, i32(4));
  Value wide = arith::ExtUIOp::create(b, b.getI64Type(), low);
  return arith::OrIOp::create(
      b, wide, i64(static_cast<int64_t>(descriptorBits(leadingBytes))));
}

/// "{$first, ..., $last}".
static std::string registerList(size_t first, size_t count) {
  std::string text = "{";
  for (size_t i = 0; i < count; ++i)
    text += fmt::format("{}${}", i ? ", " : "", first + i);
  return text + "}";
}

static std::string repeat(llvm::StringRef text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

void KernelEmitter::emitWgmma(warp::WgmmaOp op) {
  auto rhs = op.getRhs().getType();
  auto result = op.getResult().getType();
  int64_t n = result.getShape()[1];
  size_t outputs = n / 2;
  bool transposeB = op.getTransposeB();
  auto lhsBuffer = dyn_cast<warp::BufferType>(op.getLhs().getType());
  Registers acc;
  if (op.getAcc())
    acc = fragments[op.getAcc()];

  // B^T is stored by rows of N (K-major), B by rows of K (MN-major), where the
  // segments of N stand `leading` bytes apart.
  uint64_t leading = transposeB ? 16 : rhs.getPartRows() * 128;
  Value descB = descriptor(buffers[op.getRhs()], leading);
  SmallVector<Value> operands(acc.begin(), acc.end());
  std::string constraints = repeat("=f,", outputs);
  for (size_t i = 0; i < acc.size(); ++i)
    constraints += fmt::format("{},", i);
  size_t lhsAt = outputs + operands.size();
  SmallVector<int64_t, 2> origin(2, 0);
  if (auto at = op.getOrigin())
    origin.assign(at->begin(), at->end());
  if (lhsBuffer) {
    operands.push_back(descriptor(
        isReducer ? buffers[op.getLhs()] : partAddress(op.getLhs()), 16));
    constraints += "l,";
  } else {
    Registers registers = fragments[op.getLhs()];
    operands.append(registers.begin(), registers.end());
    constraints += repeat("r,", registers.size());
  }
  size_t rhsAt = outputs + operands.size();
  operands.push_back(descB);
  constraints += "l";

  llvm::StringRef type = rhs.getElementType().isBF16() ? "bf16" : "f16";
  std::string list = registerList(0, outputs);
  std::string text = "{\n.reg .b64 da, db;\nwgmma.fence.sync.aligned;\n";
  for (int64_t k = 0, steps = op.getDepth() / 16; k < steps; ++k) {
    // In units of 16 bytes: a step of K is 32 bytes inside a segment of 128, or
    // 16 rows of 128, and the rows of a tile's parts stand apart.
    int64_t inSegment = k % 4 * 2, segment = k / 4;
    auto rowStep = [&](warp::BufferType type, int64_t column) {
      int64_t perPart = type.getPartRows() / 16;
      return k / perPart * (type.getBytes() / type.getParts() / 16) +
             k % perPart * 128 + column / 64 * type.getPartRows() * 8 +
             column % 64 / 8;
    };
    int64_t stepB = transposeB ? segment * rhs.getShape()[0] * 8 + inSegment
                               : rowStep(rhs, origin[1]);
    text += fmt::format("add.s64 db, ${}, {};\n", rhsAt, stepB);
    std::string a;
    if (lhsBuffer) {
      int64_t stepA = op.getTransposeA()
                          ? rowStep(lhsBuffer, origin[0])
                          : segment * lhsBuffer.getPartRows() * 8 + inSegment;
      text += fmt::format("add.s64 da, ${}, {};\n", lhsAt, stepA);
      a = "da";
    } else {
      a = registerList(lhsAt + 4 * k, 4);
    }
    bool adds = k > 0 || op.getAcc();
    text += fmt::format("wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {}, "
                        "{}, db, {}, 1, 1{}{};\n",
                        n, type.str(), type.str(), list, a, adds ? 1 : 0,
                        !lhsBuffer           ? ""
                        : op.getTransposeA() ? ", 1"
                                             : ", 0",
                        transposeB ? ", 0" : ", 1");
  }
  text += "wgmma.commit_group.sync.aligned;\n}";
  fragments[op.getResult()] = asmMany(
      SmallVector<Type>(outputs, b.getF32Type()), text, constraints, operands);
}

void KernelEmitter::emitSettle(warp::SettleOp op) {
  Registers all;
  for (Value input : op.getInputs())
    all.append(fragments[input]);
  std::string constraints = repeat("=f,", all.size());
  for (size_t i = 0; i < all.size(); ++i)
    constraints += fmt::format("{}{}", i, i + 1 < all.size() ? "," : "");
  Registers settled = asmMany(SmallVector<Type>(all.size(), b.getF32Type()),
                              fmt::format("wgmma.wait_group.sync.aligned {};",
                                          int64_t(op.getPending())),
                              constraints, all);
  size_t next = 0;
  for (auto [input, result] :
       llvm::zip_equal(op.getInputs(), op.getResults())) {
    size_t count = fragments[input].size();
    fragments[result] =
        Registers(settled.begin() + next, settled.begin() + next + count);
    next += count;
  }
}
