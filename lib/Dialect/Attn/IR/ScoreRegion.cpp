// Verifier of the score region: scalar code without control flow or memory, so
// that each level can put it inside its own loops, and without undefined
// behaviour, so that no input makes a kernel trap.
#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc::attn;

static bool isScalar(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isIndex() ||
         type.isSignlessInteger(1) || type.isSignlessInteger(8) ||
         type.isSignlessInteger(16) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

LogicalResult ForwardOp::verifyCaptures() {
  if (!hasScore() && !getCaptures().empty())
    return emitOpError() << "expects captures only with a score region, but "
                         << "has " << getCaptures().size()
                         << " captures and no region; add the region or drop "
                            "the captures";
  for (auto [i, capture] : llvm::enumerate(getCaptures())) {
    auto type = cast<RankedTensorType>(capture.getType());
    if (type.getEncoding())
      return emitOpError() << "expects plain dense tensors, but capture " << i
                           << " has the encoding " << type.getEncoding()
                           << "; remove it";
    if (type.getElementType().isIndex() || !isScalar(type.getElementType()))
      return emitOpError() << "expects captures of f16, bf16, f32, i1, i8, "
                           << "i16, i32 or i64, but capture " << i << " holds "
                           << type.getElementType() << "; convert it first";
    if (llvm::is_contained(type.getShape(), 0))
      return emitOpError() << "expects captures that hold at least one "
                           << "element, but capture " << i << " is " << type
                           << "; drop it";
  }
  return success();
}

// The arguments of the block: score, batch, head, query, key, captures.
static LogicalResult verifyArguments(ForwardOp op) {
  Block &body = op.getScore().front();
  SmallVector<Type> expected = {Float32Type::get(op.getContext())};
  expected.append(4, IndexType::get(op.getContext()));
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (body.getNumArguments() != expected.size())
    return op.emitOpError()
           << "expects the score region to have " << expected.size()
           << " arguments (score, batch, head, query, key, captures), but it "
           << "has " << body.getNumArguments() << "; one for each is needed";
  static constexpr StringRef names[] = {"score", "batch", "head", "query",
                                        "key"};
  for (auto [i, type] : llvm::enumerate(expected)) {
    Type actual = body.getArgument(i).getType();
    if (actual == type)
      continue;
    auto diag = op.emitOpError()
                << "expects argument " << i << " of the score region (";
    if (i < std::size(names))
      diag << names[i];
    else
      diag << "capture " << i - std::size(names);
    return diag << ") to be " << type << ", but it is " << actual
                << "; change the argument";
  }
  return success();
}

// x / 0 and INT_MIN / -1 trap on a CPU, so that only constants divide.
static LogicalResult verifyDivisor(Operation &inner) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
           arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
           arith::RemUIOp>(inner))
    return success();
  llvm::APInt divisor;
  if (!matchPattern(inner.getOperand(1), m_ConstantInt(&divisor)))
    return inner.emitOpError() << "in a score region expects to divide by a "
                               << "constant, but the divisor is computed; a "
                                  "zero there would trap";
  if (!divisor.isZero() && !divisor.isAllOnes())
    return success();
  return inner.emitOpError()
         << "in a score region expects a divisor other "
         << "than 0 and -1, but it is " << divisor.getSExtValue()
         << "; use another constant";
}

static LogicalResult verifyInner(Operation &inner) {
  // Only captures are tensors here: nothing else that makes one is allowed.
  if (isa<tensor::ExtractOp>(inner))
    return success();
  Dialect *dialect = inner.getDialect();
  // One result a step, and no op that one of the targets has no form for.
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(dialect) ||
      inner.getNumRegions() != 0 || inner.getNumResults() != 1 ||
      isa<math::IPowIOp, math::FPowIOp, math::CtPopOp,
          math::CountLeadingZerosOp, math::CountTrailingZerosOp,
          math::IsNormalOp>(inner))
    return inner.emitOpError() << "in a score region is none of the scalar "
                               << "arith, math and tensor.extract ops that "
                                  "may stand there; rewrite it with these";
  for (TypeRange types :
       {TypeRange(inner.getOperandTypes()), TypeRange(inner.getResultTypes())})
    for (Type type : types)
      if (!isScalar(type))
        return inner.emitOpError()
               << "in a score region expects scalars of f16, bf16, f32, i1, "
               << "i8, i16, i32, i64 or index, but uses " << type
               << "; work on one score at a time";
  return verifyDivisor(inner);
}

LogicalResult ForwardOp::verifyScore() {
  if (!hasScore())
    return success();
  if (failed(verifyArguments(*this)))
    return failure();
  Block &body = getScore().front();
  for (Operation &inner : body.without_terminator())
    if (failed(verifyInner(inner)))
      return failure();
  if (!isa<YieldOp>(body.back()))
    return emitOpError() << "expects the score region to end in attn.yield, "
                         << "but it ends in " << body.back().getName()
                         << "; yield the new score";
  return success();
}
