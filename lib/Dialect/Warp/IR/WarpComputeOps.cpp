// Verifiers of the `warp` ops that compute on fragments.
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace flashc::warp;

LogicalResult FillOp::verify() {
  FragmentType type = getFragment().getType();
  if (getValue().getType() != type.getElementType())
    return emitOpError("fills with one element, but the constant is ")
           << getValue().getType() << " and the fragment holds "
           << type.getElementType() << "; use a constant of the element type";
  auto number = dyn_cast<FloatAttr>(getValue());
  if (type.getPartial() && !(number && number.getValue().isZero()))
    return emitOpError("starts a sum of four parts at zero, but the constant "
                       "is ")
           << getValue() << "; add it after 'warp.collect'";
  return success();
}

/// Shape and element type of an mma operand, whichever place it is in.
static std::pair<ArrayRef<int64_t>, Type> getTile(Type type) {
  if (auto fragment = dyn_cast<FragmentType>(type))
    return {fragment.getShape(), fragment.getElementType()};
  auto buffer = cast<BufferType>(type);
  return {buffer.getShape(), buffer.getElementType()};
}

LogicalResult MmaOp::verify() {
  auto [a, element] = getTile(getLhs().getType());
  ArrayRef<int64_t> b = getRhs().getType().getShape();
  FragmentType acc = getAcc().getType();
  if (a.size() != 2 || acc.getRank() != 2)
    return emitOpError("multiplies tiles of rank 2, but the left one has rank ")
           << a.size() << " and the accumulator rank " << acc.getRank()
           << "; row values do not multiply as tiles";
  if (!acc.getElementType().isF32())
    return emitOpError("accumulates in f32, but the accumulator holds ")
           << acc.getElementType() << "; convert the result instead";
  if (element != getRhs().getType().getElementType())
    return emitOpError("multiplies tiles of one element type, but the left "
                       "one holds ")
           << element << " and the right one "
           << getRhs().getType().getElementType() << "; convert one of them";
  int64_t k = b[getTransposeB() ? 1 : 0], n = b[getTransposeB() ? 0 : 1];
  int64_t m = a[getTransposeA() ? 1 : 0], aK = a[getTransposeA() ? 0 : 1];
  if (aK != k || acc.getShape()[0] != m || acc.getShape()[1] != n)
    return emitOpError("multiplies M x K by K x N into M x N, but the left "
                       "tile is ")
           << m << " x " << aK << ", the right one " << k << " x " << n
           << " and the accumulator " << acc.getShape()[0] << " x "
           << acc.getShape()[1] << "; make M, K and N agree";
  if (k % 16 || m % 16)
    return emitOpError("takes steps of 16 rows and 16 products (m16n8k16), but "
                       "M is ")
           << m << " and K is " << k << "; pad both to multiples of 16";
  if (getGuarded() && getTransposeB())
    return emitOpError("is guarded with a plain B, but it has transpose_b; "
                       "leave out one of them");
  if (getTransposeA() && !isa<BufferType>(getLhs().getType()))
    return emitOpError("transposes A on its way from shared memory, but A is ")
           << getLhs().getType() << "; store it first";
  return success();
}

LogicalResult ScrubOp::verify() {
  FragmentType weights = getWeights().getType(), acc = getAcc().getType();
  BufferType b = getBuffer().getType();
  if (weights.getRank() != 2 || acc.getRank() != 2 ||
      weights.getElementType() != b.getElementType() ||
      weights.getShape()[1] != b.getShape()[0] ||
      acc.getShape() !=
          ArrayRef<int64_t>{weights.getShape()[0], b.getShape()[1]})
    return emitOpError("stands before the product of its weights and its "
                       "buffer, but these are ")
           << weights << " and " << b << ", and the accumulator is " << acc
           << "; use M x K and K x N of one element type, and M x N";
  if (weights.getShape()[1] % 16)
    return emitOpError("takes steps of 16 rows of the buffer, which has ")
           << weights.getShape()[1] << "; pad it";
  return success();
}

/// The input with the largest rank and, of these, one that is no column values;
/// a map's results have its shape.
static FragmentType getWidest(ValueRange inputs) {
  auto widest = cast<FragmentType>(inputs.front().getType());
  for (Value input : inputs) {
    auto type = cast<FragmentType>(input.getType());
    if (type.getRank() > widest.getRank() ||
        (widest.isColumns() && type.getRank() == 2 && !type.isColumns()))
      widest = type;
  }
  return widest;
}

/// Does `type` hold a value for each element, row or column of `widest`?
static bool fits(FragmentType type, FragmentType widest) {
  if (type.isColumns() && !widest.isColumns())
    return type.getOf() == widest.getShape()[0] &&
           type.getShape()[1] == widest.getShape()[1];
  return type.getOf() == widest.getOf() &&
         type.getShape() == widest.getShape().take_front(type.getRank());
}

LogicalResult MapOp::verify() {
  if (getInputs().empty())
    return emitOpError("takes its shape from its inputs, but it has none; pass "
                       "at least one fragment");
  FragmentType widest = getWidest(getInputs());
  for (auto [index, type] : llvm::enumerate(getInputs().getTypes())) {
    auto fragment = cast<FragmentType>(type);
    if (!fits(fragment, widest))
      return emitOpError("takes inputs of one shape and their row values, but "
                         "input ")
             << index << " is " << fragment << " and the largest is " << widest
             << "; give them the same rows and columns";
  }
  for (auto [index, type] : llvm::enumerate(getResults().getTypes()))
    if (cast<FragmentType>(type).getRank() != widest.getRank() ||
        !fits(cast<FragmentType>(type), widest))
      return emitOpError("gives results of its largest input's shape, but "
                         "result ")
             << index << " is " << type << " and that input is " << widest
             << "; give them one shape";
  if (!getOrigin().empty() &&
      static_cast<int64_t>(getOrigin().size()) != widest.getRank())
    return emitOpError("has one origin a dimension, but it has ")
           << getOrigin().size() << " origins and rank " << widest.getRank()
           << "; pass (i) for row values and (i, j) for tiles";
  return success();
}

/// Only what is linear in the parts may be done to each of them alone.
static LogicalResult verifyParts(MapOp op) {
  auto isPartial = [](Type type) {
    return cast<FragmentType>(type).getPartial();
  };
  auto inputs = llvm::count_if(op.getInputs().getTypes(), isPartial);
  auto results = llvm::count_if(op.getResults().getTypes(), isPartial);
  if (inputs == 0 && results == 0)
    return success();
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  bool isProduct = inputs == 1 && results == 1 && op.getNumResults() == 1;
  if (isProduct) {
    auto product = yield.getValues()[0].getDefiningOp<arith::MulFOp>();
    auto isPart = [&](Value value) {
      auto arg = dyn_cast<BlockArgument>(value);
      return arg && arg.getOwner() == &op.getBody().front() &&
             arg.getArgNumber() < op.getInputs().size() &&
             isPartial(op.getInputs()[arg.getArgNumber()].getType());
    };
    isProduct = product && isPart(product.getLhs()) != isPart(product.getRhs());
  }
  if (!isProduct)
    return op.emitOpError("may only multiply a partial sum by a row factor, "
                          "with one partial result, but it has ")
           << inputs << " partial inputs and " << results
           << " partial results or computes something else; use "
              "'warp.collect' first";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &block = getBody().front();
  size_t count = getInputs().size() + getOrigin().size();
  if (block.getNumArguments() != count)
    return emitOpError("has one body argument for each input and origin, but "
                       "the body has ")
           << block.getNumArguments() << " and there are " << count
           << "; add or drop arguments";
  for (auto [index, arg] : llvm::enumerate(block.getArguments())) {
    Type want =
        index < getInputs().size()
            ? cast<FragmentType>(getInputs()[index].getType()).getElementType()
            : IndexType::get(getContext());
    if (arg.getType() != want)
      return emitOpError("hands its body scalars, but body argument ")
             << index << " is " << arg.getType() << " and the scalar is "
             << want << "; use the scalar's type";
  }
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().size() != getNumResults())
    return emitOpError("yields one scalar a result, but the body yields ")
           << (yield ? yield.getValues().size() : 0) << " and there are "
           << getNumResults() << " results; yield one for each";
  for (auto [index, value] : llvm::enumerate(yield.getValues())) {
    Type want = cast<FragmentType>(getResult(index).getType()).getElementType();
    if (value.getType() != want)
      return emitOpError("yields the elements of its results, but value ")
             << index << " is " << value.getType() << " and the element is "
             << want << "; convert it in the body";
  }
  return verifyParts(*this);
}

LogicalResult ReduceOp::verify() {
  FragmentType tile = getFragment().getType(), init = getInit().getType();
  if (tile.getRank() != 2 || !tile.getElementType().isF32())
    return emitOpError("folds the rows of an f32 tile, but the fragment is ")
           << tile << "; use a rank-2 f32 fragment";
  if (init.getRank() != 1 || !init.getElementType().isF32() ||
      init.getShape()[0] != tile.getShape()[0])
    return emitOpError("has one f32 start value a row, but the fragment is ")
           << tile << " and init is " << init
           << "; use a rank-1 f32 fragment of the same rows";
  if (init.getPartial() && getKind() != ReduceKind::Add)
    return emitOpError("keeps parts of a sum only, but the kind is ")
           << stringifyReduceKind(getKind()) << " and init is " << init
           << "; drop 'partial' or use add";
  return success();
}

LogicalResult CollectOp::verify() {
  FragmentType parts = getParts().getType(), result = getResult().getType();
  if (!parts.getPartial())
    return emitOpError("sums the parts of a partial row value, but the operand "
                       "is ")
           << parts << "; use it as it is";
  if (result.getPartial() || result.getShape() != parts.getShape() ||
      result.getElementType() != parts.getElementType())
    return emitOpError("gives the whole value of each row, but the operand is ")
           << parts << " and the result is " << result
           << "; use the operand's type without 'partial'";
  return success();
}

LogicalResult AnyNotFiniteOp::verify() {
  FragmentType type = getFragment().getType();
  if (type.getRank() == 2 && type.getElementType().isF32())
    return success();
  return emitOpError(
             "looks at the elements of an f32 tile, but the operand is ")
         << type << "; use a rank-2 f32 fragment";
}

LogicalResult AnyAboveOp::verify() {
  FragmentType scores = getScores().getType(), limits = getLimits().getType();
  if (scores.getRank() != 2 || !scores.getElementType().isF32())
    return emitOpError("compares the scores of an f32 tile, but they are ")
           << scores << "; use a rank-2 f32 fragment";
  if (limits.getRank() != 1 || !limits.getElementType().isF32() ||
      limits.getPartial() || limits.getShape()[0] != scores.getShape()[0])
    return emitOpError("has one f32 limit a row, but the scores are ")
           << scores << " and the limits " << limits
           << "; use a rank-1 f32 fragment of the same rows";
  if (auto floor = getFloorAttr(); floor && !(floor.getValueAsDouble() < 0))
    return emitOpError("has a floor below 0, but it is ")
           << floor.getValueAsDouble()
           << "; compare the negated scores with a limit";
  return success();
}

LogicalResult AnyOp::verify() {
  FragmentType type = getConditions().getType();
  if (type.getElementType().isInteger(1))
    return success();
  return emitOpError("asks whether a condition is true, but the operand is ")
         << type << "; use an i1 fragment";
}
