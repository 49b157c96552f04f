// Arrays beside the description and beside each other: used by Inputs.cpp.
#include "CheckInputs.h"

#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::tools;
using mlir::RankedTensorType;
using DType = NpyArray::DType;

/// The dtype that holds an element type of the description.
static DType dtypeOf(mlir::Type type) {
  if (type.isF16())
    return DType::F16;
  if (type.isBF16())
    return DType::U16;
  if (type.isF32())
    return DType::F32;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return DType::Bool;
  case 8:
    return DType::I8;
  case 16:
    return DType::I16;
  case 32:
    return DType::I32;
  default:
    return DType::I64;
  }
}

/// An array beside the type of its operand.
llvm::Error tools::checkType(const NpyArray &array, RankedTensorType type,
                             const std::string &path, llvm::StringRef what) {
  if (llvm::Error error =
          checkNpy(array, fmt::format("'{}' ({})", path, what.str()),
                   type.getRank(), {dtypeOf(type.getElementType())}))
    return error;
  for (auto [dim, want] : llvm::enumerate(type.getShape()))
    if (!mlir::ShapedType::isDynamic(want) && want != array.shape[dim])
      return makeError("'{}' ({}) has shape {}, but the description has {} in "
                       "dimension {}; give another array or description",
                       path, what.str(), shapeText(array.shape), want, dim);
  return llvm::Error::success();
}

static llvm::Error checkSame(llvm::StringRef what, int64_t a,
                             const std::string &pathA, int64_t b,
                             const std::string &pathB) {
  if (a == b)
    return llvm::Error::success();
  return makeError("'{}' has {} {}, but '{}' has {}; make them equal (or check "
                   "--layout)",
                   pathA, a, what.str(), pathB, b);
}

/// What the types leave open, between the arrays themselves.
llvm::Error tools::checkTogether(Inputs &inputs, const InputPaths &paths) {
  View q = inputs.queryView(), k = inputs.keyView(), v = inputs.valueView();
  if (llvm::Error e =
          checkSame("batches", q.shape[0], paths.query, k.shape[0], paths.key))
    return e;
  if (llvm::Error e =
          checkSame("batches", k.shape[0], paths.key, v.shape[0], paths.value))
    return e;
  if (llvm::Error e = checkSame("key heads", k.shape[1], paths.key, v.shape[1],
                                paths.value))
    return e;
  if (llvm::Error e =
          checkSame("keys", k.shape[2], paths.key, v.shape[2], paths.value))
    return e;
  if (k.shape[1] > 0 && q.shape[1] % k.shape[1] == 0)
    return llvm::Error::success();
  return makeError(
      "'{}' has {} heads and '{}' has {}, but the query heads must "
      "be a multiple of the key heads; repeat or drop heads (or "
      "check --layout)",
      paths.query, q.shape[1], paths.key, k.shape[1]);
}

llvm::Error tools::checkLengths(Inputs &inputs, const std::string &path) {
  if (bool(inputs.lengths) != bool(inputs.attention.forward.getKvLengths()))
    return inputs.lengths
               ? makeError("--lengths is '{}', but the description has no "
                           "kv_lengths; leave the flag out",
                           path)
               : makeError("the description has kv_lengths, but --lengths is "
                           "missing; give --lengths=FILE.npy");
  if (!inputs.lengths)
    return llvm::Error::success();
  NpyArray &lengths = *inputs.lengths;
  if (llvm::Error error =
          checkNpy(lengths, "'" + path + "' (key lengths)", 1, {DType::I32}))
    return error;
  View k = inputs.keyView();
  if (lengths.shape[0] != k.shape[0])
    return makeError("'{}' has {} key lengths, but there are {} batches; give "
                     "one for each",
                     path, lengths.shape[0], k.shape[0]);
  for (int64_t b = 0; b < k.shape[0]; ++b)
    if (int32_t n = lengths.as<int32_t>()[b]; n < 0 || n > k.shape[2])
      return makeError("'{}' has {} at batch {}, but key lengths are from 0 to "
                       "{} (the keys of the array); correct it",
                       path, n, b, k.shape[2]);
  return llvm::Error::success();
}
