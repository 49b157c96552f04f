// Scalar code of a kernel: its coordinates in the grid, sizes, arithmetic.
#include "KernelEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {

// A size as its parameter says, read anew: what follows from it is not shared
// with code on the other side of a loop.
Value KernelEmitter::freshSize(const View &view, unsigned dim) {
  if (!view.type.isDynamicDim(dim))
    return view.sizes[dim];
  return inlineAsm(b.getI32Type(), "mov.b32 $0, $1;", "=r,r", view.sizes[dim]);
}

// A size of the grid: dimension `dim` of the first argument, or what the
// kernel's own grid has in place `place` (batches, heads, rows).
Value KernelEmitter::gridSize(unsigned place, unsigned dim) {
  int64_t argument = 0;
  if (auto grid = kernel.getGrid()) {
    argument = (*grid)[2 * place];
    dim = (*grid)[2 * place + 1];
  }
  if (argument < 0)
    return i32(1);
  return freshSize(views[kernel.getBody().getArgument(argument)], dim);
}

// The number of a block and of its head among all batches', where blocks of
// several heads are handed out by turns: of as many as the L2 holds, of which a
// half is left to others, and of 16 at most, as more of short heads gain
// nothing (docs/decisions/028). The heads that are too few for that come first,
// so that the end, where blocks that are long find nothing beside them, is one
// of many.
std::pair<Value, Value> KernelEmitter::takeAbreast(Value id, Value blocks,
                                                   Value heads, int64_t bytes) {
  constexpr int64_t kBytes = 32 << 20, kHeads = 16;
  Value many = i32(std::max<int64_t>(kBytes / (bytes * kernel.getQBlock()), 1));
  auto divide = [&](Value x, Value y) -> Value {
    return arith::DivUIOp::create(b, x, y);
  };
  auto times = [&](Value x, Value y) -> Value {
    return arith::MulIOp::create(b, x, y);
  };
  auto minus = [&](Value x, Value y) -> Value {
    return arith::SubIOp::create(b, x, y);
  };
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  };
  Value most = arith::MaxUIOp::create(b, divide(many, blocks), i32(1));
  most = arith::MinUIOp::create(b, most, i32(kHeads));
  Value few = arith::RemUIOp::create(b, times(heads, gridSize(0, 0)), most);
  Value fewBlocks = times(few, blocks), behind = minus(id, fewBlocks);
  Value section = divide(behind, times(blocks, most));
  Value isFew =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, id, fewBlocks);
  auto choose = [&](Value x, Value y) -> Value {
    return arith::SelectOp::create(b, isFew, x, y);
  };
  Value abreast = choose(few, most);
  Value first = choose(i32(0), plus(few, times(section, most)));
  Value own = minus(id, times(first, blocks));
  Value block = divide(own, abreast);
  return {block, plus(first, minus(own, times(block, abreast)))};
}

// The program's coordinates from a one-dimensional grid: query block fastest,
// then head, then batch.
void KernelEmitter::emitProgram(warp::ProgramOp op) {
  Value qBlock = i32(kernel.getQBlock());
  Value id = inlineAsm(b.getI32Type(), "mov.u32 $0, %ctaid.x;", "=r", {});
  if (op.getDescending()) {
    Value size = inlineAsm(b.getI32Type(), "mov.u32 $0, %nctaid.x;", "=r", {});
    id = arith::SubIOp::create(b, arith::SubIOp::create(b, size, i32(1)), id);
  }
  Value rounded =
      arith::AddIOp::create(b, gridSize(2, 2), i32(kernel.getQBlock() - 1));
  Value blocks = arith::DivUIOp::create(b, rounded, qBlock);
  Value block, rest, heads;
  if (std::optional<int64_t> bytes = op.getAbreast()) {
    heads = gridSize(1, 1);
    std::tie(block, rest) = takeAbreast(id, blocks, heads, *bytes);
  } else {
    block = arith::RemUIOp::create(b, id, blocks);
    rest = arith::DivUIOp::create(b, id, blocks);
    heads = gridSize(1, 1);
  }
  Value head = arith::RemUIOp::create(b, rest, heads);
  Value batch = arith::DivUIOp::create(b, rest, heads);
  if (op.getLongestFirst()) {
    Value last = arith::SubIOp::create(b, blocks, i32(1));
    block = arith::SubIOp::create(b, last, block);
  }
  scalars.map(op.getBatch(), toIndex(batch));
  scalars.map(op.getHead(), toIndex(head));
  scalars.map(op.getBlock(), toIndex(block));
}

// After a loop, the coordinates and what follows from them are made again from
// the block's id: a few divisions a block instead of registers that the loop
// lacks.
LogicalResult KernelEmitter::remakeScalars(Operation *end) {
  for (Operation &op : *end->getBlock()) {
    if (&op == end)
      return success();
    if (auto program = dyn_cast<warp::ProgramOp>(op))
      emitProgram(program);
    else if (isa<memref::DimOp>(op) ||
             isa<arith::ArithDialect>(op.getDialect()))
      if (failed(emitScalar(&op, scalars)))
        return failure();
  }
  return success();
}

Value KernelEmitter::emitIntrinsic(StringRef name, Value operand) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(), b.getStringAttr(name),
                                       operand)
      .getResult(0);
}

// The element at `indices`, which are not negative. Of a dense view the last
// one but one is multiplied by 32 bits, and added to what is in front, by one
// instruction: LLVM makes 64 bits of what it finds in another block.
Value KernelEmitter::addressOf(const View &view, ArrayRef<Value> indices) {
  size_t rank = indices.size();
  bool isDense = rank >= 2 && view.type.getLayout().isIdentity();
  Value offset = i64(0);
  for (auto [dim, index] : llvm::enumerate(indices)) {
    if (isDense && dim == rank - 2) {
      offset = inlineAsm(b.getI64Type(), "mad.wide.u32 $0, $1, $2, $3;",
                         "=l,r,r,l", {index, view.sizes[rank - 1], offset},
                         /*hasSideEffects=*/false);
      continue;
    }
    Value term = arith::MulIOp::create(b, wide(index), view.strides[dim]);
    offset = arith::AddIOp::create(b, offset, term);
  }
  return elementAddress(view, offset);
}

// Scalar code is carried over; what the chip has an instruction for becomes
// that instruction.
LogicalResult KernelEmitter::emitScalar(Operation *op, IRMapping &map) {
  auto mapped = [&](Value v) { return map.lookupOrDefault(v); };
  auto constant = [&](float value) -> Value {
    return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
  };
  auto multiply = [&](Value x, float factor) -> Value {
    return arith::MulFOp::create(b, x, constant(factor));
  };
  bool isF32 = op->getNumResults() == 1 && op->getResult(0).getType().isF32();
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto index = dim.getConstantIndex();
    auto view = views.find(dim.getSource());
    if (!index || view == views.end())
      return op->emitOpError("expects a constant dimension of an argument");
    map.map(dim.getResult(), toIndex(freshSize(view->second, *index)));
    return success();
  }
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    auto view = views.find(load.getMemRef());
    if (view == views.end())
      return op->emitOpError("expects an argument of the kernel");
    auto indices = llvm::map_to_vector(
        load.getIndices(), [&](Value index) { return toI32(mapped(index)); });
    map.map(load.getResult(),
            LLVM::LoadOp::create(b, load.getType(),
                                 addressOf(view->second, indices)));
    return success();
  }
  if (isa<math::Exp2Op, math::ExpOp>(op) && isF32) {
    Value x = mapped(op->getOperand(0));
    if (isa<math::ExpOp>(op))
      x = multiply(x, llvm::numbers::log2ef);
    map.map(op->getResult(0), emitIntrinsic("llvm.nvvm.ex2.approx.ftz", x));
    return success();
  }
  if (isa<math::Log2Op, math::LogOp>(op) && isF32) {
    Value y =
        emitIntrinsic("llvm.nvvm.lg2.approx.ftz.f", mapped(op->getOperand(0)));
    map.map(op->getResult(0),
            isa<math::LogOp>(op) ? multiply(y, llvm::numbers::ln2f) : y);
    return success();
  }
  if (auto quotient = dyn_cast<arith::DivFOp>(op);
      quotient && isF32 &&
      arith::bitEnumContainsAny(quotient.getFastmath(),
                                arith::FastMathFlags::arcp)) {
    Value reciprocal =
        emitIntrinsic("llvm.nvvm.rcp.approx.ftz.f", mapped(quotient.getRhs()));
    Value product =
        arith::MulFOp::create(b, mapped(quotient.getLhs()), reciprocal);
    map.map(quotient.getResult(), product);
    return success();
  }
  if (op->getNumRegions() ||
      !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return op->emitOpError("has no form on the GPU; expected scalar arith, "
                           "math or memref.load here");
  b.clone(*op, map);
  return success();
}

} // namespace flashc
