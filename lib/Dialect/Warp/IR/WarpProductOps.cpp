// Verifiers of the `warp` ops of roles on products, sums and results.
#include "RoleVerifiers.h"

using namespace mlir;
using namespace flashc::warp;

LogicalResult WgmmaOp::verify() {
  BufferType rhs = getRhs().getType();
  FragmentType result = getResult().getType();
  bool reduces = isInReducer(*this);
  int64_t groups = reduces ? 1 : groupsOf(*this), depth = getDepth();
  if (result.getRank() != 2 || !result.getElementType().isF32() ||
      result.getShape()[0] != 64 * groups || result.getShape()[1] > 256)
    return emitOpError("gives 64 rows of f32 a group and at most 256 columns, "
                       "but the result is ")
           << result << " and there are " << groups
           << " groups; choose other tiles";
  if (getAcc() && getAcc().getType() != result)
    return emitOpError("adds to a fragment of the result's type, but that is ")
           << result << " and acc is " << getAcc().getType()
           << "; use one type";
  auto buffer = dyn_cast<BufferType>(getLhs().getType());
  auto fragment = dyn_cast<FragmentType>(getLhs().getType());
  bool transposeA = getTransposeA();
  if ((transposeA || getOrigin()) &&
      (!reduces || !transposeA || !buffer || getTransposeB()))
    return emitOpError(
        "transposes A, and has a part of the product as its "
        "result, in the reducer, with A in shared memory and B "
        "as it is; leave out transpose_a, origin or transpose_b");
  SmallVector<int64_t> origin(2, 0);
  if (auto at = getOrigin())
    origin.assign(at->begin(), at->end());
  int64_t columns = result.getShape()[1];
  bool isInSegment = origin.size() == 2 && origin[1] >= 0 &&
                     origin[1] % 8 == 0 &&
                     (origin[1] % 64 == 0 || origin[1] % 64 + columns <= 64);
  if (!isInSegment || origin[0] % 64 || origin[0] < 0)
    return emitOpError(
               "begins at a row that is a multiple of 64 and in one "
               "segment of 64 columns, or at its first, but origin is [")
           << origin << "] and there are " << columns
           << " columns; use (0, 64) or the like";
  ArrayRef<int64_t> lhs = buffer ? buffer.getShape() : fragment.getShape();
  Type element = buffer ? buffer.getElementType() : fragment.getElementType();
  int64_t k = rhs.getShape()[getTransposeB() ? 1 : 0];
  int64_t n = rhs.getShape()[getTransposeB() ? 0 : 1] - origin[1];
  bool fits = lhs.size() == 2;
  if (fits) {
    int64_t m = lhs[transposeA ? 1 : 0] - origin[0];
    int64_t most = lhs[transposeA ? 0 : 1];
    fits = transposeA ? m >= result.getShape()[0] : m == result.getShape()[0];
    fits &= depth <= most;
  }
  if (!fits || depth < 16 || depth % 16 || depth > k ||
      result.getShape()[1] > n || element != rhs.getElementType())
    return emitOpError("multiplies M x K by K x N into M x N in steps of 16, "
                       "but the operands are ")
           << getLhs().getType() << " and " << rhs << ", depth is " << depth
           << " and the result " << result << "; make M, K and N agree";
  if (rhs.getSegment() != 64 || (buffer && buffer.getSegment() != 64))
    return emitOpError("reads tiles with segments of 64 (128-byte swizzle), "
                       "but the operands are ")
           << getLhs().getType() << " and " << rhs << "; use segments of 64";
  return verifyInRole(*this, RoleKind::Consumer, /*mayReduce=*/true);
}

LogicalResult SettleOp::verify() {
  if (int64_t(getPending()) < 0 || getInputs().empty())
    return emitOpError("waits for some fragments and leaves 0 or more products "
                       "under way, but there are ")
           << getInputs().size() << " fragments and 'pending' is "
           << int64_t(getPending()) << "; run 'warp-place-settles'";
  return verifyInRole(*this, RoleKind::Consumer, /*mayReduce=*/true);
}

LogicalResult StagingOp::verify() {
  if (!groupsOf(*this))
    return emitOpError("belongs to a reducer, but the kernel has no 'groups'; "
                       "use 'warp.add_sums'");
  if (auto offset = getOffset();
      offset && (int64_t(*offset) < 0 || int64_t(*offset) % 128))
    return emitOpError("has its slots at a multiple of 128 bytes, but at ")
           << int64_t(*offset) << "; run 'warp-allocate-shared'";
  return success();
}

static LogicalResult verifyStaged(Operation *op, StagingType staging,
                                  int64_t slot, int64_t columns) {
  if (slot < 0 || slot >= staging.getDepth() || columns < 8 || columns % 8 ||
      columns > staging.getShape()[1])
    return op->emitOpError("moves columns in groups of 8 through a slot, but "
                           "the room is ")
           << staging << ", the slot " << slot << " and there are " << columns
           << " columns; use a wider slot that is there";
  return verifyInRole(op, RoleKind::Reducer);
}

LogicalResult StageSumsOp::verify() {
  FragmentType fragment = getFragment().getType();
  if (fragment.getRank() != 2 || fragment.getShape()[0] != 64 ||
      !fragment.getElementType().isF32())
    return emitOpError("stages 64 rows of f32, but the fragment is ")
           << fragment << "; stage a product of the reducer";
  return verifyStaged(*this, getStaging().getType(), getSlot(),
                      fragment.getShape()[1]);
}

LogicalResult SendSumsOp::verify() {
  auto view = cast<MemRefType>(getView().getType());
  int64_t first = getFirst(), count = getCount();
  if (!view.getElementType().isF32() ||
      ShapedType::isDynamic(view.getDimSize(3)) || first < 0 || first % 8 ||
      first + count > view.getDimSize(3))
    return emitOpError("adds to whole groups of 8 columns of f32 sums, but the "
                       "view is ")
           << view << " and the columns are " << first << " to "
           << first + count - 1 << "; choose columns that are there";
  return verifyStaged(*this, getStaging().getType(), getSlot(), count);
}

LogicalResult AddPackedOp::verify() {
  auto role = (*this)->getParentOfType<RoleOp>();
  bool isConsumer = role && role.getKind() == RoleKind::Consumer;
  if (!isConsumer && failed(verifyInRole(*this, RoleKind::Reducer)))
    return failure();
  int64_t rows = 64 * (isConsumer ? groupsOf(*this) : 1);
  FragmentType fragment = getFragment().getType();
  auto view = cast<MemRefType>(getView().getType());
  int64_t first = getFirst();
  bool fits = fragment.getRank() == 2 && fragment.getShape()[0] == rows &&
              fragment.getElementType().isF32() &&
              view.getElementType().isF32() && first >= 0 && first % 8 == 0 &&
              !ShapedType::isDynamic(view.getDimSize(3)) &&
              first + fragment.getShape()[1] <= view.getDimSize(3);
  if (fits)
    return success();
  return emitOpError("adds ")
         << rows
         << " rows of f32 to whole groups of 8 columns, but the fragment is "
         << fragment << ", the view " << view << " and the first column "
         << first << "; choose columns that are there";
}

LogicalResult EmitOp::verify() {
  FragmentType fragment = getFragment().getType();
  BufferType buffer = getBuffer().getType();
  auto view = cast<MemRefType>(getView().getType());
  if (fragment.getRank() != 2 ||
      fragment.getShape()[0] != buffer.getShape()[0] ||
      fragment.getShape()[1] > buffer.getShape()[1] ||
      fragment.getElementType() != buffer.getElementType() ||
      view.getElementType() != buffer.getElementType() ||
      buffer.getParts() != groupsOf(*this))
    return emitOpError("moves a tile through a buffer with a part for each "
                       "group, but the fragment is ")
           << fragment << ", the buffer " << buffer << " and the view " << view
           << "; give them the same rows and element type";
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim) || headDim > fragment.getShape()[1])
    return emitOpError("writes whole rows, but the view is ")
           << view << " and the fragment has " << fragment.getShape()[1]
           << " columns; pad the fragment to the head dim";
  if (failed(verifyMapped(*this, getView())))
    return failure();
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult AliasOp::verify() {
  BufferType from = getBuffer().getType(), to = getResult().getType();
  if (to.getBytes() <= from.getBytes() && to.getParts() == from.getParts() &&
      to.getBytes() / to.getParts() <= from.getBytes() / from.getParts())
    return success();
  return emitOpError("names bytes that are there, but the buffer is ")
         << from << " and the result " << to
         << "; use a shape that is not larger, with as many parts";
}

/// Whole rows of a view, two elements at a time.
static LogicalResult verifyFetch(Operation *op, MemRefType view, Type element,
                                 int64_t columns) {
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim) || headDim % 2 || headDim > columns ||
      view.getElementType() != element)
    return op->emitOpError("reads rows of a static, even head dim of at most "
                           "the tile's columns, but the view is ")
           << view << " and the tile has " << columns << " columns of "
           << element << "; pad the tile";
  return success();
}

LogicalResult FetchOp::verify() {
  FragmentType type = getFragment().getType();
  if (type.getRank() != 2 || type.getElementType().isF32())
    return emitOpError("fetches a tile of 16-bit elements, but the result is ")
           << type << "; use a rank-2 fragment of the view's element type";
  return verifyFetch(*this, cast<MemRefType>(getView().getType()),
                     type.getElementType(), type.getShape()[1]);
}

LogicalResult MmaFetchOp::verify() {
  FragmentType lhs = getLhs().getType(), acc = getAcc().getType();
  if (lhs.getRank() != 2 || acc.getRank() != 2 ||
      lhs.getShape()[0] != acc.getShape()[0] || lhs.getShape()[1] % 16 ||
      acc.getShape()[1] % 16 || !acc.getElementType().isF32())
    return emitOpError("multiplies M x K by K x N into M x N f32 in steps of "
                       "16, but the left tile is ")
           << lhs << " and the accumulator " << acc << "; pad them";
  if (getGuarded() && getTransposeB())
    return emitOpError("is guarded by weights and a plain B, but it has both "
                       "guarded and transpose_b; leave out one");
  return verifyFetch(*this, cast<MemRefType>(getView().getType()),
                     lhs.getElementType(),
                     getTransposeB() ? lhs.getShape()[1] : acc.getShape()[1]);
}
