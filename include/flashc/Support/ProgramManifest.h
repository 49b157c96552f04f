//===- ProgramManifest.h - Several kernels and their workspace --*- C++ -*-===//
#ifndef FLASHC_SUPPORT_PROGRAMMANIFEST_H
#define FLASHC_SUPPORT_PROGRAMMANIFEST_H

#include "flashc/Support/KernelImage.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace flashc {

/// An array that the kernels of a program share and that its caller provides
/// for one run; dense.
struct Workspace {
  std::string name;
  /// "f32".
  std::string elementType;
  /// Each size: "batch", "heads", "kv_heads", "queries", "keys", "queries up to
  /// N" (to a multiple of N, at least N), "capture N" (the number of elements
  /// of captured tensor N), "capture N unless queries D keys E one F" (the
  /// same, but 0 where its dimensions D and E have the sizes of queries and
  /// keys and F, of which there may be none or several, has size 1), "tiles Q K
  /// of capture N queries D keys E batch B heads H one F" (the rows of
  /// ceil(queries / Q) tiles that have a row for each of the keys up to a
  /// multiple of K, but 0 where a dimension does not have the size of what it
  /// is named after, or the capture has an element for each batch and head;
  /// those of batches and heads may be missing), or a number.
  std::vector<std::string> sizes;
  /// Holds zeros before the first kernel runs.
  bool zeroed = false;

  bool operator==(const Workspace &) const = default;
};

/// Where a size of a kernel's grid comes from: a dimension of a parameter, or 1
/// where `param` is -1.
struct GridPlace {
  int64_t param = -1, dim = 0;
  bool operator==(const GridPlace &) const = default;
};

/// One kernel of a program. Its grid has a block for each batch, head and
/// `rows` of the third place.
struct ProgramKernel {
  std::string name;
  GridPlace batch, heads, blocks;
  int64_t rows = 0;
  /// Names of the arrays that it is given, in order.
  std::vector<std::string> arguments;
  /// Of a GPU's kernel: the arrays' types (as in Manifest, `name` and types
  /// alone count), warps of a block, and its bytes of dynamic shared memory.
  std::vector<KernelParam> params;
  int64_t warps = 0, sharedBytes = 0;
  /// Warps beside these, and the tensor maps that its roles copy by (as in
  /// Manifest).
  int64_t producerWarps = 0;
  std::vector<TensorMap> tensorMaps = {};
  /// It waits itself for what the kernel before it writes (griddepcontrol).
  bool waits = false;

  bool operator==(const ProgramKernel &) const = default;
};

/// The sizes of one problem.
struct ProgramSizes {
  int64_t batch = 0, heads = 0, kvHeads = 0, queries = 0, keys = 0;
  /// Elements of each captured tensor, and its shape.
  std::vector<int64_t> captures;
  std::vector<std::vector<int64_t>> captureShapes;
};

/// The gradients of attention: kernels that run one after the other. The arrays
/// are q, k, v, o, lse, do, dlse, kv_lengths, capture0, ... (read), dq, dk, dv
/// (written), dcapture0, ... (written, flat) and the workspaces.
struct ProgramManifest {
  std::vector<ProgramKernel> kernels;
  std::vector<Workspace> workspaces;
  /// Names and element types of the captured tensors, and which of them have a
  /// gradient.
  std::vector<std::string> captures, captureTypes;
  std::vector<int64_t> gradients;
  /// Captured tensors whose gradients hold zeros before the first kernel runs.
  std::vector<int64_t> zeroedGradients;
  /// Whether the program reads dlse and kv_lengths.
  bool lseGradient = false, kvLengths = false;
  bool deterministic = false;
  int64_t headDim = 0, valueHeadDim = 0;
  std::string dtype;
  double scale = 0;
  /// For people, as in Manifest.
  std::string mask, layout;

  /// Name, and bytes for a problem, of the array that the gradient of a capture
  /// goes to.
  static std::string gradientOf(int64_t capture);
  size_t getGradientBytes(int64_t capture, const ProgramSizes &sizes) const;

  bool operator==(const ProgramManifest &) const = default;

  llvm::json::Value toJSON() const;
  /// What `toJSON` wrote; `params` of the kernels are in their own manifests
  /// and stay empty. Fails with the path of the field that is missing or of the
  /// wrong type, and on numbers that no program can have.
  static llvm::Expected<ProgramManifest> parse(llvm::StringRef text);
};

/// A program for a GPU: an image for each of the manifest's kernels, in its
/// order.
struct ProgramImage {
  ProgramManifest manifest;
  std::vector<KernelImage> kernels;
};

/// The sizes of the problem that a program's arrays are of, where `shapeOf`
/// says an array's shape by its name, or that there is none. Fails where q, k
/// or a capture is missing, and where the shapes are not those of one problem.
llvm::Expected<ProgramSizes> problemSizes(
    const ProgramManifest &manifest,
    llvm::function_ref<std::optional<llvm::ArrayRef<int64_t>>(llvm::StringRef)>
        shapeOf);

/// The number of elements of a shape. Fails where their bytes are past 2^62.
llvm::Expected<int64_t> countElements(llvm::StringRef name,
                                      llvm::ArrayRef<int64_t> shape);

/// The sizes of a workspace for a problem. Fails on a word that is none of
/// those of `Workspace::sizes`.
llvm::Expected<llvm::SmallVector<int64_t, 4>>
workspaceSizes(const Workspace &workspace, const ProgramSizes &sizes);

} // namespace flashc

#endif // FLASHC_SUPPORT_PROGRAMMANIFEST_H
