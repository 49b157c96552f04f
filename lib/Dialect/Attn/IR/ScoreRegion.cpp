// Verifier of score regions and their gradients: scalar code without control
// flow or memory, so that each level can put it inside its own loops, and
// without undefined behaviour, so that no input makes a kernel trap.
#include "AttentionVerifier.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace flashc::attn;

static bool isScalar(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isIndex() ||
         type.isSignlessInteger(1) || type.isSignlessInteger(8) ||
         type.isSignlessInteger(16) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(64);
}

LogicalResult flashc::attn::verifyCaptures(AttentionInterface op) {
  if (!op.hasScore() && !op.getCaptures().empty())
    return op->emitOpError()
           << "expects captures only with a score region, but "
           << "has " << op.getCaptures().size()
           << " captures and no region; add the region or drop "
              "the captures";
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    auto type = cast<RankedTensorType>(capture.getType());
    if (type.getEncoding())
      return op->emitOpError()
             << "expects plain dense tensors, but capture " << i
             << " has the encoding " << type.getEncoding() << "; remove it";
    if (type.getElementType().isIndex() || !isScalar(type.getElementType()))
      return op->emitOpError()
             << "expects captures of f16, bf16, f32, i1, i8, "
             << "i16, i32 or i64, but capture " << i << " holds "
             << type.getElementType() << "; convert it first";
    if (llvm::is_contained(type.getShape(), 0))
      return op->emitOpError()
             << "expects captures that hold at least one "
             << "element, but capture " << i << " is " << type << "; drop it";
  }
  return success();
}

/// The arguments of a region's block: score, batch, head, query, key, for a
/// gradient that of the new score, captures.
static LogicalResult verifyArguments(AttentionInterface op, Block &body,
                                     bool isGradient) {
  StringRef region = isGradient ? "gradient region" : "score region";
  SmallVector<StringRef> names = {"score", "batch", "head", "query", "key"};
  SmallVector<Type> expected = {Float32Type::get(op->getContext())};
  expected.append(4, IndexType::get(op->getContext()));
  if (isGradient) {
    names.push_back("gradient");
    expected.push_back(Float32Type::get(op->getContext()));
  }
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (body.getNumArguments() != expected.size())
    return op->emitOpError()
           << "expects the " << region << " to have " << expected.size()
           << " arguments (" << llvm::join(names, ", ") << ", captures), but "
           << "it has " << body.getNumArguments() << "; one for each is needed";
  for (auto [i, type] : llvm::enumerate(expected)) {
    Type actual = body.getArgument(i).getType();
    if (actual == type)
      continue;
    auto diag = op->emitOpError()
                << "expects argument " << i << " of the " << region << " (";
    if (i < names.size())
      diag << names[i];
    else
      diag << "capture " << i - names.size();
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

static LogicalResult verifyYield(AttentionInterface op, Block &body,
                                 StringRef region, StringRef what) {
  if (isa<YieldOp>(body.back()))
    return success();
  return op->emitOpError() << "expects the " << region
                           << " to end in attn.yield, but it ends in "
                           << body.back().getName() << "; yield the " << what;
}

LogicalResult flashc::attn::verifyScore(AttentionInterface op) {
  if (!op.hasScore())
    return success();
  Block &body = op.getScore().front();
  if (failed(verifyArguments(op, body, /*isGradient=*/false)))
    return failure();
  for (Operation &inner : body.without_terminator())
    if (failed(verifyInner(inner)))
      return failure();
  return verifyYield(op, body, "score region", "new score");
}

/// The capture is one whose gradient is asked for, and is indexed as it is
/// read.
static LogicalResult verifyAddGradient(AddGradientOp add, BackwardOp op) {
  auto argument = dyn_cast<BlockArgument>(add.getCapture());
  constexpr unsigned kFirst = kScoreArguments + 1;
  bool isCapture = argument &&
                   argument.getOwner() == &op.getScoreGradient().front() &&
                   argument.getArgNumber() >= kFirst;
  if (!isCapture ||
      !llvm::is_contained(op.getGradients(), argument.getArgNumber() - kFirst))
    return add.emitOpError()
           << "expects a captured tensor that gradients([...]) lists, but "
           << "adds to another one of type " << add.getCapture().getType()
           << "; list it or drop the op";
  int64_t rank = add.getCapture().getType().getRank();
  if (rank == int64_t(add.getIndices().size()))
    return success();
  return add.emitOpError() << "expects an index for each of " << rank
                           << " dimensions, but has " << add.getIndices().size()
                           << "; index as tensor.extract does";
}

LogicalResult flashc::attn::verifyScoreGradient(BackwardOp op) {
  if (op.getScoreGradient().empty())
    return success();
  Block &body = op.getScoreGradient().front();
  if (failed(verifyArguments(op, body, /*isGradient=*/true)))
    return failure();
  for (Operation &inner : body.without_terminator()) {
    auto add = dyn_cast<AddGradientOp>(inner);
    if (failed(add ? verifyAddGradient(add, op) : verifyInner(inner)))
      return failure();
  }
  return verifyYield(op, body, "gradient region",
                     "gradient of the scaled score");
}
