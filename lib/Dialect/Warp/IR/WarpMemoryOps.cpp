// Verifiers of the `warp` ops between registers and global memory.
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace flashc::warp;

LogicalResult LoadValuesOp::verify() {
  FragmentType type = getFragment().getType();
  bool isValues = type.getRank() == 1 ? !type.getPartial() : type.isColumns();
  if (isValues && type.getElementType().isF32())
    return success();
  return emitOpError("loads one f32 a row or column, but the fragment is ")
         << type << "; use a rank-1 fragment, or one of column values";
}

/// A whole f32 tile and a view with no more columns.
static LogicalResult verifySums(Operation *op, FragmentType fragment,
                                MemRefType view) {
  if (fragment.getRank() != 2 || fragment.isColumns() ||
      !fragment.getElementType().isF32() || !view.getElementType().isF32())
    return op->emitOpError("moves an f32 tile to or from f32 rows, but the "
                           "fragment is ")
           << fragment << " and the view " << view
           << "; convert the elements first";
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim) || fragment.getShape()[1] < headDim)
    return op->emitOpError("moves whole rows, but the view is ")
           << view << " and the fragment has " << fragment.getShape()[1]
           << " columns; pad the fragment";
  return success();
}

static LogicalResult verifyPacked(Operation *op, FragmentType fragment,
                                  MemRefType view) {
  auto kernel = op->getParentOfType<KernelOp>();
  if (fragment.getShape()[0] == 64 &&
      fragment.getShape()[1] == view.getDimSize(3) && kernel &&
      kernel.getWarps() == 4)
    return success();
  return op->emitOpError("has packed sums as four warps hold 64 whole rows, "
                         "but the fragment is ")
         << fragment << ", the view " << view << " and there are "
         << (kernel ? int64_t(kernel.getWarps()) : 0)
         << " warps; use blocks of 64 rows";
}

LogicalResult LoadSumsOp::verify() {
  FragmentType fragment = getFragment().getType();
  auto view = cast<MemRefType>(getView().getType());
  if (failed(verifySums(*this, fragment, view)))
    return failure();
  return getPacked() ? verifyPacked(*this, fragment, view) : success();
}

LogicalResult StoreSumsOp::verify() {
  FragmentType fragment = getFragment().getType();
  auto view = cast<MemRefType>(getView().getType());
  return success(succeeded(verifySums(*this, fragment, view)) &&
                 succeeded(verifyPacked(*this, fragment, view)));
}

LogicalResult AddSumsOp::verify() {
  return verifySums(*this, getFragment().getType(),
                    cast<MemRefType>(getView().getType()));
}

/// Does it add each part of its one input to memory?
static bool isSumOfParts(ScatterOp op) {
  Block &body = op.getBody().front();
  return op.getKind() == ScatterKind::Add && op.getInputs().size() == 1 &&
         !op.getExclusive() && body.getTerminator()->getNumOperands() > 1 &&
         body.getTerminator()->getOperand(1) == body.getArgument(0);
}

LogicalResult ScatterOp::verify() {
  if (getInputs().empty())
    return emitOpError("writes an element for each of its inputs' elements, "
                       "but it has no input; pass one");
  auto first = cast<FragmentType>(getInputs().front().getType());
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes()))
    if (auto other = cast<FragmentType>(type);
        other.getShape() != first.getShape() || other.isColumns() ||
        (other.getPartial() && !isSumOfParts(*this)))
      return emitOpError("takes whole inputs of one shape, or one partial "
                         "input that it adds as it is, but input ")
             << index << " is " << other << " and input 0 is " << first
             << "; give them one shape";
  if (!getOrigin().empty() &&
      static_cast<int64_t>(getOrigin().size()) != first.getRank())
    return emitOpError("has one origin a dimension, but it has ")
           << getOrigin().size() << " origins and rank " << first.getRank()
           << "; pass (i) for row values and (i, j) for tiles";
  Type element = cast<MemRefType>(getMemory().getType()).getElementType();
  if (getKind() == ScatterKind::Add && !element.isF32())
    return emitOpError("adds in f32, but the memory holds ")
           << element << "; convert afterwards";
  return success();
}

LogicalResult ScatterOp::verifyRegions() {
  Block &body = getBody().front();
  auto memory = cast<MemRefType>(getMemory().getType());
  SmallVector<Type> expected;
  for (Type type : getInputs().getTypes())
    expected.push_back(cast<FragmentType>(type).getElementType());
  expected.append(getOrigin().size(), IndexType::get(getContext()));
  if (!llvm::equal(body.getArgumentTypes(), expected))
    return emitOpError("hands its body scalars, but the body takes (")
           << body.getArgumentTypes() << ") and the scalars are (" << expected
           << "); use the scalars' types";
  SmallVector<Type> yielded = {IntegerType::get(getContext(), 1),
                               memory.getElementType()};
  yielded.append(memory.getRank(), IndexType::get(getContext()));
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (yield && llvm::equal(yield.getValues().getTypes(), yielded))
    return success();
  return emitOpError("body yields (")
         << body.getTerminator()->getOperandTypes()
         << "), but says whether to write, what and where: (" << yielded << ")";
}
