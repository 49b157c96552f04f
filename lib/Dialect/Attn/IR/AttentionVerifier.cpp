// The checks that the verifiers of attn.forward and attn.backward are made of.
#include "AttentionVerifier.h"

using namespace mlir;
using namespace flashc::attn;

static StringRef dimNames(Layout layout) {
  return layout == Layout::BSHD ? "batch, length, heads, head dim"
                                : "batch, heads, length, head dim";
}

LogicalResult AttentionVerifier::rank(Named tensor, int64_t rank,
                                      StringRef dims) {
  if (tensor.type.getRank() == rank)
    return success();
  return op->emitOpError() << "expects the " << tensor.name << " to have rank "
                           << rank << " (" << dims << "), but it has rank "
                           << tensor.type.getRank() << "; reshape it first";
}

LogicalResult AttentionVerifier::element(Named tensor) {
  Type type = tensor.type.getElementType(), other = query.type.getElementType();
  if (!type.isF16() && !type.isBF16() && !type.isF32())
    return op->emitOpError() << "expects the " << tensor.name
                             << " to hold f16, bf16 or f32, but it holds "
                             << type << "; convert it first";
  if (type == other)
    return success();
  return op->emitOpError() << "expects " << family << " to share "
                           << "one element type, but the " << query.name
                           << " holds " << other << " and the " << tensor.name
                           << " holds " << type << "; convert one of them";
}

LogicalResult AttentionVerifier::encoding(Named tensor) {
  if (!tensor.type.getEncoding())
    return success();
  return op->emitOpError() << "expects plain dense tensors, but the "
                           << tensor.name << " has the encoding "
                           << tensor.type.getEncoding() << "; remove it";
}

LogicalResult AttentionVerifier::headDim(Named tensor) {
  if (tensor.type.isDynamicDim(3))
    return op->emitOpError() << "expects the " << tensor.name
                             << " to have a static head dim, but it is "
                             << "dynamic; give it in the type";
  int64_t dim = tensor.type.getDimSize(3);
  if (dim >= 1 && dim <= ForwardOp::kMaxHeadDim)
    return success();
  return op->emitOpError() << "expects the " << tensor.name
                           << " to have a head dim of 1 to "
                           << ForwardOp::kMaxHeadDim << ", but it has " << dim
                           << "; use more heads of a smaller dim";
}

LogicalResult AttentionVerifier::agree(StringRef what, Named a, unsigned dimA,
                                       Named b, unsigned dimB) {
  int64_t sizeA = a.type.getDimSize(dimA), sizeB = b.type.getDimSize(dimB);
  if (ShapedType::isDynamic(sizeA) || ShapedType::isDynamic(sizeB) ||
      sizeA == sizeB)
    return success();
  return op->emitOpError() << "expects " << a.name << " and " << b.name
                           << " to have the same " << what << ", but the "
                           << a.name << " has " << sizeA << " in dimension "
                           << dimA << " and the " << b.name << " has " << sizeB
                           << " in dimension " << dimB
                           << "; make them equal (the layout is "
                           << stringifyLayout(op.getLayout()) << ')';
}

LogicalResult AttentionVerifier::tensors(ArrayRef<Named> list) {
  for (Named tensor : list)
    if (failed(rank(tensor, 4, dimNames(op.getLayout()))) ||
        failed(encoding(tensor)) || failed(element(tensor)))
      return failure();
  return success();
}

LogicalResult AttentionVerifier::rows(Named tensor) {
  if (failed(rank(tensor, 3, "batch, heads, length")) ||
      failed(encoding(tensor)))
    return failure();
  if (tensor.type.getElementType().isF32())
    return success();
  return op->emitOpError() << "expects the " << tensor.name
                           << " to hold f32, but it holds "
                           << tensor.type.getElementType()
                           << "; convert the result afterwards";
}

LogicalResult AttentionVerifier::shapes() {
  unsigned length = op.getLengthDim(), heads = op.getHeadsDim();
  return failure(failed(headDim(query)) || failed(headDim(value)) ||
                 failed(agree("head dim", query, 3, key, 3)) ||
                 failed(headDim(key)) ||
                 failed(agree("batch", query, 0, key, 0)) ||
                 failed(agree("batch", query, 0, value, 0)) ||
                 failed(agree("batch", key, 0, value, 0)) ||
                 failed(agree("number of keys", key, length, value, length)) ||
                 failed(agree("number of heads", key, heads, value, heads)));
}

LogicalResult AttentionVerifier::heads(Named like) {
  unsigned dim = op.getHeadsDim();
  int64_t hq = query.type.getDimSize(dim), hkv = key.type.getDimSize(dim);
  for (Named tensor : {query, key, value})
    if (tensor.type.getDimSize(dim) == 0)
      return op->emitOpError()
             << "expects at least one head, but the " << tensor.name
             << " has 0 in dimension " << dim << "; leave the op out";
  if (ShapedType::isDynamic(hkv))
    hkv = value.type.getDimSize(dim);
  if (ShapedType::isDynamic(hq))
    hq = like.type.getDimSize(dim);
  if (ShapedType::isDynamic(hq) || ShapedType::isDynamic(hkv) || hq % hkv == 0)
    return success();
  return op->emitOpError() << "expects the query heads to be a multiple of the "
                           << "key heads, but there are " << hq
                           << " query heads and " << hkv
                           << " key heads; repeat or drop heads so that each "
                              "key head serves as many query heads";
}

LogicalResult AttentionVerifier::sameRows(Named tensor, Named rows) {
  return failure(
      failed(agree("batch", tensor, 0, rows, 0)) ||
      failed(agree("number of queries", tensor, op.getLengthDim(), rows, 2)) ||
      failed(agree("number of heads", tensor, op.getHeadsDim(), rows, 1)));
}

LogicalResult AttentionVerifier::sameShape(Named a, Named b,
                                           StringRef lengthName) {
  unsigned length = op.getLengthDim(), heads = op.getHeadsDim();
  return failure(failed(agree("batch", a, 0, b, 0)) ||
                 failed(agree(lengthName, a, length, b, length)) ||
                 failed(agree("number of heads", a, heads, b, heads)) ||
                 failed(agree("head dim", a, 3, b, 3)) || failed(headDim(b)));
}

LogicalResult AttentionVerifier::kvLengths(ArrayRef<Named> list) {
  if (!op.getKvLengths())
    return success();
  Named lengths{"kv_lengths", op.getKvLengths()};
  if (failed(rank(lengths, 1, "batch")) || failed(encoding(lengths)))
    return failure();
  if (!lengths.type.getElementType().isInteger(32))
    return op->emitOpError()
           << "expects kv_lengths to hold i32, but it holds "
           << lengths.type.getElementType() << "; convert it first";
  for (Named tensor : list)
    if (failed(agree("batch", tensor, 0, lengths, 0)))
      return failure();
  return success();
}

// The kernel computes in f32: a scale that is zero, infinite or subnormal there
// would make every score so. 2^100 leaves room for log2(e).
LogicalResult AttentionVerifier::scale() {
  double scale = op.getScaleValue();
  if (scale >= 0x1p-100 && scale <= 0x1p100)
    return success();
  return op->emitOpError() << "expects a scale of 2^-100 to 2^100, but it is "
                           << scale << "; scale the query instead";
}

LogicalResult AttentionVerifier::mask() {
  std::optional<Attribute> mask = op.getMask();
  if (!mask)
    return success();
  if (usesKeyLength(*mask) && !op.getKvLengths())
    return op->emitOpError() << "expects kv_lengths where the mask says "
                             << "key_length, but the mask is " << *mask
                             << " and there is no such operand; add "
                                "kv_lengths(...) or take key_length out";
  int64_t count = countAlternatives(*mask);
  if (count <= kMaxMaskAlternatives)
    return success();
  return op->emitOpError() << "expects a mask that is the union of at most "
                           << kMaxMaskAlternatives
                           << " intersections, but written out it has " << count
                           << "; use fewer parts under or and not";
}
