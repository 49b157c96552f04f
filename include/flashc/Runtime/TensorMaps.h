//===- TensorMaps.h - Arrays as bulk tensor copies see them -----*- C++ -*-===//
//
// Hopper's bulk tensor copies (TMA) read an array through a CUtensorMap, which
// the driver makes from the array's address, sizes and strides. Source: CUDA
// Driver API reference, cuTensorMapEncodeTiled.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_RUNTIME_TENSORMAPS_H
#define FLASHC_RUNTIME_TENSORMAPS_H

#include "flashc/Runtime/Driver.h"
#include "flashc/Support/KernelImage.h"

namespace flashc {

struct ArrayArg;

/// The numbers of a tensor map; a dimension's number rises with its stride in a
/// dense array, against the order of `ArrayArg`. Everything else is the same
/// for all: boxes without gaps, stored with the 128-byte swizzle, zeros where a
/// box reaches past the array, 256 bytes at a time into L2.
struct TensorMapDescription {
  /// CUtensorMapDataType.
  int elementType = 0;
  /// 0 for an array without elements, which the launch maps to zeros.
  uint64_t address = 0;
  llvm::SmallVector<uint64_t, 5> sizes;
  /// In bytes, of the dimensions from 1 on.
  llvm::SmallVector<uint64_t, 4> byteStrides;
  llvm::SmallVector<uint32_t, 5> box;

  bool operator==(const TensorMapDescription &) const = default;
};

/// A CUtensorMap.
struct alignas(64) EncodedTensorMap {
  uint64_t opaque[16] = {};
};

/// The map of an array (batch B, head H, length S, head dim D, of f16 or bf16)
/// with boxes of `rows` rows. With D a multiple of 64 its sizes are 64, S,
/// D / 64, H, B and a box is whole rows: 64, rows, D / 64, 1, 1. Else they are
/// D, S, H, B and a box is 64 columns of the rows: 64, rows, 1, 1.
///
/// An array without elements has B = H = S = 1, so that all boxes read zeros.
///
/// The array has passed the checks of `packArguments`. Refused, naming kernel,
/// array, dimension and both values: an address that is not a multiple of 16,
/// and strides that are not one, negative, or of 2^40 bytes or more. Strides of
/// dimensions of size 1 are not looked at.
llvm::Expected<TensorMapDescription>
describeTensorMap(const std::string &kernel, const KernelParam &param,
                  const ArrayArg &array, int64_t rows);

/// Let the driver, which must have the function, make the map of a description
/// whose address is not 0. `where` begins the error, with which the driver
/// refuses.
llvm::Expected<EncodedTensorMap>
encodeTensorMap(const cuda::Driver &driver, llvm::StringRef where,
                const TensorMapDescription &description);

} // namespace flashc

#endif // FLASHC_RUNTIME_TENSORMAPS_H
