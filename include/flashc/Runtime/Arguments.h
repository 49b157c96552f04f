//===- Arguments.h - From arrays to kernel parameters -----------*- C++ -*-===//
#ifndef FLASHC_RUNTIME_ARGUMENTS_H
#define FLASHC_RUNTIME_ARGUMENTS_H

#include "flashc/Runtime/TensorMaps.h"
#include "flashc/Support/KernelImage.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace flashc {

/// An array on a device, for one parameter of a manifest. Q, K, V and O in the
/// order batch, head, length, head dim whatever the layout; the layout is in
/// the strides.
struct ArrayArg {
  /// Address of element 0.
  uint64_t pointer = 0;
  llvm::SmallVector<int64_t, 4> shape;
  /// In elements; may be left empty for contiguous arrays.
  llvm::SmallVector<int64_t, 4> strides;

  bool operator==(const ArrayArg &) const = default;
};

/// Parameters in the order and the sizes that the kernel has them.
struct PackedArguments {
  /// Tiles: the blocks of the one-dimensional grid, of which a launch of a
  /// persistent kernel takes fewer. 0: nothing is to be launched.
  uint32_t grid = 0;
  uint32_t threads = 0;
  /// One slot a parameter; a 32-bit one uses the low half.
  std::vector<uint64_t> slots;
  /// The manifest's tensor maps, in its order.
  std::vector<TensorMapDescription> tensorMaps;
  /// The same as the driver has them. `Module::pack` makes them; while they are
  /// missing, each launch does.
  std::vector<EncodedTensorMap> encodedMaps;
};

/// The same problem with the rows of all query heads of a key head in one
/// dimension (pack-GQA): as many heads as the keys have, each with `group`
/// times the queries. Of arrays that go together, for a kernel of `rows_alike`;
/// none where a head fills a tile or that makes no fewer tiles, or where heads
/// and rows of Q, O or LSE do not lie at one distance from each other (they do
/// for a single query, and in dense arrays of layout bhsd).
std::optional<llvm::SmallVector<ArrayArg, 8>>
packHeads(const Manifest &manifest, llvm::ArrayRef<ArrayArg> args);

/// Check the arrays against the manifest and against each other, and lay out
/// the parameters, of `packHeads` where that gives something. Refused, naming
/// the kernel, the array and both values: a wrong number of arrays, ranks,
/// static sizes and strides (a last stride that is not 1 among them), sizes
/// that disagree between arrays, null pointers, addresses and strides that are
/// not a multiple of the manifest's alignment, outputs that overlap themselves,
/// grids past 2^31 - 1 blocks, and what `describeTensorMap` refuses.
llvm::Expected<PackedArguments> packArguments(const std::string &kernel,
                                              const Manifest &manifest,
                                              llvm::ArrayRef<ArrayArg> args);

/// Adds the descriptions of the manifest's tensor maps to `packed`.
llvm::Error packTensorMaps(const std::string &kernel, const Manifest &manifest,
                           llvm::ArrayRef<ArrayArg> args,
                           PackedArguments &packed);

/// The same for a kernel of a program: each array by itself, none against the
/// others; `grid`, `threads` and tensor maps are left to the caller.
llvm::Expected<PackedArguments> packArrays(const std::string &kernel,
                                           const Manifest &manifest,
                                           llvm::ArrayRef<ArrayArg> args);

} // namespace flashc

#endif // FLASHC_RUNTIME_ARGUMENTS_H
