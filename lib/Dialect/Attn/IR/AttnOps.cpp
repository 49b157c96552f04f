// What `attn.forward` means as a whole: its scale and the verifier of its
// tensors and mask. The score region is verified in ScoreRegion.cpp.
#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/OpImplementation.h"

#include <cmath>

using namespace mlir;
using namespace flashc::attn;

#define GET_OP_CLASSES
#include "Attn/AttnOps.cpp.inc"

double ForwardOp::getScaleValue() {
  if (auto scale = getScale())
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(getHeadDim()));
}

namespace {
/// One tensor of the op, by the name that messages give it.
struct Named {
  StringRef name;
  RankedTensorType type;
};

/// The checks of one op, each with its sentence.
class ForwardVerifier {
public:
  explicit ForwardVerifier(ForwardOp op) : op(op) {}
  LogicalResult run();

private:
  LogicalResult rank(Named tensor, int64_t rank, StringRef dims);
  LogicalResult element(Named tensor);
  LogicalResult sameElement(Named a, Named b);
  LogicalResult encoding(Named tensor);
  LogicalResult headDim(Named tensor);
  LogicalResult agree(StringRef what, Named a, unsigned dimA, Named b,
                      unsigned dimB);
  LogicalResult shapes();
  LogicalResult heads();
  LogicalResult outputs();
  LogicalResult kvLengths();
  LogicalResult scale();
  LogicalResult mask();

  ForwardOp op;
  Named query{"query", cast<RankedTensorType>(op.getQuery().getType())};
  Named key{"key", cast<RankedTensorType>(op.getKey().getType())};
  Named value{"value", cast<RankedTensorType>(op.getValue().getType())};
  Named output{"output", cast<RankedTensorType>(op.getOutput().getType())};
  Named lse{"lse", cast<RankedTensorType>(op.getLse().getType())};
};
} // namespace

static StringRef dimNames(Layout layout) {
  return layout == Layout::BSHD ? "batch, length, heads, head dim"
                                : "batch, heads, length, head dim";
}

LogicalResult ForwardVerifier::rank(Named tensor, int64_t rank,
                                    StringRef dims) {
  if (tensor.type.getRank() == rank)
    return success();
  return op.emitOpError() << "expects the " << tensor.name << " to have rank "
                          << rank << " (" << dims << "), but it has rank "
                          << tensor.type.getRank() << "; reshape it first";
}

LogicalResult ForwardVerifier::element(Named tensor) {
  Type type = tensor.type.getElementType();
  if (type.isF16() || type.isBF16() || type.isF32())
    return success();
  return op.emitOpError() << "expects the " << tensor.name
                          << " to hold f16, bf16 or f32, but it holds " << type
                          << "; convert it first";
}

LogicalResult ForwardVerifier::sameElement(Named a, Named b) {
  if (a.type.getElementType() == b.type.getElementType())
    return success();
  return op.emitOpError() << "expects query, key, value and output to share "
                          << "one element type, but the " << a.name << " holds "
                          << a.type.getElementType() << " and the " << b.name
                          << " holds " << b.type.getElementType()
                          << "; convert one of them";
}

LogicalResult ForwardVerifier::encoding(Named tensor) {
  if (!tensor.type.getEncoding())
    return success();
  return op.emitOpError() << "expects plain dense tensors, but the "
                          << tensor.name << " has the encoding "
                          << tensor.type.getEncoding() << "; remove it";
}

LogicalResult ForwardVerifier::headDim(Named tensor) {
  if (tensor.type.isDynamicDim(3))
    return op.emitOpError() << "expects the " << tensor.name
                            << " to have a static head dim, but it is "
                            << "dynamic; give it in the type";
  int64_t dim = tensor.type.getDimSize(3);
  if (dim >= 1 && dim <= ForwardOp::kMaxHeadDim)
    return success();
  return op.emitOpError() << "expects the " << tensor.name
                          << " to have a head dim of 1 to "
                          << ForwardOp::kMaxHeadDim << ", but it has " << dim
                          << "; use more heads of a smaller dim";
}

LogicalResult ForwardVerifier::agree(StringRef what, Named a, unsigned dimA,
                                     Named b, unsigned dimB) {
  int64_t sizeA = a.type.getDimSize(dimA), sizeB = b.type.getDimSize(dimB);
  if (ShapedType::isDynamic(sizeA) || ShapedType::isDynamic(sizeB) ||
      sizeA == sizeB)
    return success();
  return op.emitOpError() << "expects " << a.name << " and " << b.name
                          << " to have the same " << what << ", but the "
                          << a.name << " has " << sizeA << " in dimension "
                          << dimA << " and the " << b.name << " has " << sizeB
                          << " in dimension " << dimB
                          << "; make them equal (the layout is "
                          << stringifyLayout(op.getLayout()) << ')';
}

LogicalResult ForwardVerifier::shapes() {
  StringRef dims = dimNames(op.getLayout());
  for (Named tensor : {query, key, value, output})
    if (failed(rank(tensor, 4, dims)) || failed(encoding(tensor)) ||
        failed(element(tensor)) || failed(sameElement(query, tensor)))
      return failure();
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

LogicalResult ForwardVerifier::heads() {
  unsigned dim = op.getHeadsDim();
  int64_t hq = query.type.getDimSize(dim), hkv = key.type.getDimSize(dim);
  for (Named tensor : {query, key, value})
    if (tensor.type.getDimSize(dim) == 0)
      return op.emitOpError()
             << "expects at least one head, but the " << tensor.name
             << " has 0 in dimension " << dim << "; leave the op out";
  if (ShapedType::isDynamic(hkv))
    hkv = value.type.getDimSize(dim);
  if (ShapedType::isDynamic(hq))
    hq = output.type.getDimSize(dim);
  if (ShapedType::isDynamic(hq) || ShapedType::isDynamic(hkv) || hq % hkv == 0)
    return success();
  return op.emitOpError() << "expects the query heads to be a multiple of the "
                          << "key heads, but there are " << hq
                          << " query heads and " << hkv
                          << " key heads; repeat or drop heads so that each "
                             "key head serves as many query heads";
}

LogicalResult ForwardVerifier::outputs() {
  unsigned length = op.getLengthDim(), heads = op.getHeadsDim();
  if (failed(rank(lse, 3, "batch, heads, length")) || failed(encoding(lse)))
    return failure();
  if (!lse.type.getElementType().isF32())
    return op.emitOpError()
           << "expects the lse to hold f32, but it holds "
           << lse.type.getElementType() << "; convert the result afterwards";
  for (Named input : {query, key, value})
    if (failed(agree("batch", input, 0, output, 0)) ||
        failed(agree("batch", input, 0, lse, 0)))
      return failure();
  return failure(
      failed(agree("batch", output, 0, lse, 0)) ||
      failed(agree("number of queries", query, length, output, length)) ||
      failed(agree("number of queries", query, length, lse, 2)) ||
      failed(agree("number of queries", output, length, lse, 2)) ||
      failed(agree("number of heads", query, heads, output, heads)) ||
      failed(agree("number of heads", query, heads, lse, 1)) ||
      failed(agree("number of heads", output, heads, lse, 1)) ||
      failed(headDim(output)) ||
      failed(agree("head dim", value, 3, output, 3)));
}

LogicalResult ForwardVerifier::kvLengths() {
  if (!op.getKvLengths())
    return success();
  Named lengths{"kv_lengths",
                cast<RankedTensorType>(op.getKvLengths().getType())};
  if (failed(rank(lengths, 1, "batch")) || failed(encoding(lengths)))
    return failure();
  if (!lengths.type.getElementType().isInteger(32))
    return op.emitOpError()
           << "expects kv_lengths to hold i32, but it holds "
           << lengths.type.getElementType() << "; convert it first";
  for (Named tensor : {query, key, value, output})
    if (failed(agree("batch", tensor, 0, lengths, 0)))
      return failure();
  return success();
}

// The kernel computes in f32: a scale that is zero, infinite or subnormal there
// would make every score so. 2^100 leaves room for log2(e).
LogicalResult ForwardVerifier::scale() {
  double scale = op.getScaleValue();
  if (scale >= 0x1p-100 && scale <= 0x1p100)
    return success();
  return op.emitOpError() << "expects a scale of 2^-100 to 2^100, but it is "
                          << scale << "; scale the query instead";
}

LogicalResult ForwardVerifier::mask() {
  if (!op.getMask())
    return success();
  if (usesKeyLength(*op.getMask()) && !op.getKvLengths())
    return op.emitOpError() << "expects kv_lengths where the mask says "
                            << "key_length, but the mask is " << *op.getMask()
                            << " and there is no such operand; add "
                               "kv_lengths(...) or take key_length out";
  int64_t count = countAlternatives(*op.getMask());
  if (count <= kMaxMaskAlternatives)
    return success();
  return op.emitOpError() << "expects a mask that is the union of at most "
                          << kMaxMaskAlternatives
                          << " intersections, but written out it has " << count
                          << "; use fewer parts under or and not";
}

LogicalResult ForwardVerifier::run() {
  return failure(failed(shapes()) || failed(heads()) || failed(outputs()) ||
                 failed(kvLengths()) || failed(scale()) || failed(mask()));
}

LogicalResult ForwardOp::verify() {
  return failure(failed(ForwardVerifier(*this).run()) ||
                 failed(verifyCaptures()));
}
LogicalResult ForwardOp::verifyRegions() { return verifyScore(); }
