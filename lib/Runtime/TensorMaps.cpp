//===- TensorMaps.cpp - Sizes, strides and boxes of tensor maps -----------===//
//
// Before a launch, after the checks of Arguments.cpp. In: an array. Out: the
// numbers of its CUtensorMap, then the map itself.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/TensorMaps.h"
#include "flashc/Runtime/Arguments.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

using namespace flashc;

namespace {
// Enumerators of cuda.h, by number.
constexpr cuda::Result kInvalidValue = 1;
constexpr int kFloat16 = 6;
constexpr int kBFloat16 = 9;
constexpr int kNoInterleave = 0;
constexpr int kSwizzle128Bytes = 3;
constexpr int kPromote256Bytes = 3;
constexpr int kFillWithZeros = 0;

constexpr int64_t kElementBytes = 2;
/// Columns of a box: 128 bytes, the width of the swizzle.
constexpr int64_t kBoxColumns = 64;
/// Addresses and strides are multiples of so many bytes.
constexpr int64_t kUnitBytes = 16;
constexpr int64_t kStrideEnd = int64_t(1) << 40;

constexpr llvm::StringLiteral
    kAdvice("copy it to an aligned one, or compile with a smaller --alignment, "
            "which does without tensor maps");

/// The first three dimensions of an array, as the map has them.
struct Rows {
  uint64_t sizes[3] = {1, 1, 1};
  uint64_t byteStrides[3];
};
enum { kBatch, kHead, kLength };

llvm::Error checkAddress(const std::string &kernel, const KernelParam &param,
                         const ArrayArg &array) {
  if (array.pointer % kUnitBytes == 0)
    return llvm::Error::success();
  return makeError("kernel '{}', array '{}': its address {:#x} is not a "
                   "multiple of the {} bytes that its tensor map needs; {}",
                   kernel, param.name, array.pointer, kUnitBytes,
                   kAdvice.str());
}

/// Elements, as the array's bytes may be too many to count.
llvm::Error checkStride(const std::string &kernel, const KernelParam &param,
                        size_t dim, int64_t stride) {
  if (stride >= 0 && stride < kStrideEnd / kElementBytes &&
      stride * kElementBytes % kUnitBytes == 0)
    return llvm::Error::success();
  return makeError("kernel '{}', array '{}': dimension {} has a stride of {} "
                   "elements of {} bytes, but its tensor map needs a multiple "
                   "of {} bytes from 0 to less than {}; {}",
                   kernel, param.name, dim, stride, kElementBytes, kUnitBytes,
                   kStrideEnd, kAdvice.str());
}

llvm::Expected<Rows> describeRows(const std::string &kernel,
                                  const KernelParam &param,
                                  const ArrayArg &array) {
  Rows rows;
  // A stride of no meaning must still be one that the driver takes.
  llvm::fill(rows.byteStrides, array.shape[3] * kElementBytes);
  if (llvm::is_contained(array.shape, 0))
    return rows;
  if (llvm::Error error = checkAddress(kernel, param, array))
    return std::move(error);
  for (size_t dim : {kBatch, kHead, kLength}) {
    if (array.shape[dim] == 1)
      continue;
    if (llvm::Error error = checkStride(kernel, param, dim, array.strides[dim]))
      return std::move(error);
    rows.sizes[dim] = array.shape[dim];
    rows.byteStrides[dim] = array.strides[dim] * kElementBytes;
  }
  return rows;
}
} // namespace

llvm::Expected<TensorMapDescription>
flashc::describeTensorMap(const std::string &kernel, const KernelParam &param,
                          const ArrayArg &array, int64_t boxRows) {
  assert(param.shape[3] == array.shape[3] && "mapped rows are of static size");
  llvm::Expected<Rows> rows = describeRows(kernel, param, array);
  if (!rows)
    return rows.takeError();
  auto [sizes, strides] = *rows;
  uint64_t columns = array.shape[3];
  uint32_t height = static_cast<uint32_t>(boxRows);
  TensorMapDescription map;
  map.elementType = param.elementType == "bf16" ? kBFloat16 : kFloat16;
  // Only that of an array without elements may be unaligned so far.
  map.address = array.pointer / kUnitBytes * kUnitBytes;
  if (columns % kBoxColumns != 0) {
    map.sizes = {columns, sizes[kLength], sizes[kHead], sizes[kBatch]};
    map.byteStrides = {strides[kLength], strides[kHead], strides[kBatch]};
    map.box = {kBoxColumns, height, 1, 1};
    return map;
  }
  uint64_t slabs = columns / kBoxColumns;
  map.sizes = {kBoxColumns, sizes[kLength], slabs, sizes[kHead], sizes[kBatch]};
  map.byteStrides = {strides[kLength], kBoxColumns * kElementBytes,
                     strides[kHead], strides[kBatch]};
  map.box = {kBoxColumns, height, static_cast<uint32_t>(slabs), 1, 1};
  return map;
}

llvm::Expected<EncodedTensorMap>
flashc::encodeTensorMap(const cuda::Driver &driver, llvm::StringRef where,
                        const TensorMapDescription &map) {
  static constexpr uint32_t ones[] = {1, 1, 1, 1, 1};
  EncodedTensorMap encoded;
  cuda::Result result = driver.tensorMapEncodeTiled(
      encoded.opaque, map.elementType, static_cast<uint32_t>(map.sizes.size()),
      reinterpret_cast<void *>(map.address), map.sizes.data(),
      map.byteStrides.data(), map.box.data(), ones, kNoInterleave,
      kSwizzle128Bytes, kPromote256Bytes, kFillWithZeros);
  if (result == 0)
    return encoded;
  return driver.check(
      result, where,
      fmt::format("cuTensorMapEncodeTiled of sizes {}, strides of {} bytes, "
                  "boxes of {} at {:#x}",
                  fmt::join(map.sizes, "x"), fmt::join(map.byteStrides, ", "),
                  fmt::join(map.box, "x"), map.address),
      result == kInvalidValue
          ? "pass contiguous copies of the arrays"
          : "an earlier kernel may have failed: run it under "
            "compute-sanitizer");
}
