//===- KernelImage.h - A compiled kernel and how to launch it ---*- C++ -*-===//
#ifndef FLASHC_SUPPORT_KERNELIMAGE_H
#define FLASHC_SUPPORT_KERNELIMAGE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace flashc {

/// What an argument of a kernel is for.
enum class ParamKind { Query, Key, Value, KvLengths, Capture, Output, Lse };

/// "query", "key", "value", "kv_lengths", "capture", "output", "lse".
llvm::StringRef paramKindName(ParamKind kind);
std::optional<ParamKind> parseParamKind(llvm::StringRef name);

/// One memref argument. At the launch it becomes: one pointer to its first
/// element, then each dynamic size as i32, then each dynamic stride (in
/// elements) as i64. A static size or stride takes no parameter and must be
/// what the caller has.
struct KernelParam {
  static constexpr int64_t kDynamic = -1;

  ParamKind kind = ParamKind::Query;
  /// Name in error messages and of a capture on the command line.
  std::string name;
  /// MLIR's spelling: "f16", "bf16", "f32", "i32", "i64", "i8", "i1".
  std::string elementType;
  /// Sizes, `kDynamic` where the launch gives them. The order of Q, K, V and O
  /// is batch, head, length, head dim whatever the layout; of LSE batch, head,
  /// length.
  llvm::SmallVector<int64_t, 4> shape;
  /// Strides in elements; empty for an array that is contiguous (captures,
  /// kv_lengths), whose strides take no parameter.
  llvm::SmallVector<int64_t, 4> strides;

  size_t rank() const { return shape.size(); }
  bool isOutput() const {
    return kind == ParamKind::Output || kind == ParamKind::Lse;
  }
  bool operator==(const KernelParam &) const = default;
};

/// An array that a Hopper kernel moves by bulk tensor copies (TMA). At the
/// launch it becomes a CUtensorMap, passed by value.
struct TensorMap {
  /// Index of the array in the manifest's params: batch, head, length, head
  /// dim, of f16 or bf16, with a static head dim that is a multiple of 8.
  int64_t param = 0;
  /// Rows of a box, 1 to 256.
  int64_t rows = 0;

  bool operator==(const TensorMap &) const = default;
};

/// How a kernel is launched: a tile is a query block of one head, so there are
/// B * Hq * ceil(Sq / qBlock) of them, where B, Hq and Sq are dims 0, 1 and 2
/// of the query. The grid has a block for each, or, of a persistent kernel, at
/// most one a multiprocessor, of `threads()` threads with `sharedBytes` of
/// dynamic shared memory.
///
/// The kernel's parameters are those of `params` (see KernelParam), then 128
/// bytes for each of `tensorMaps`, then, of a persistent kernel, one pointer.
struct Manifest {
  std::vector<KernelParam> params;
  std::vector<TensorMap> tensorMaps;
  /// Blocks take tile after tile from a counter, until there are no more. The
  /// counter is 16 bytes in device memory, aligned to 16, that are zero before
  /// the launch; the kernel makes them zero again before it ends.
  bool persistent = false;
  int64_t qBlock = 0;
  int64_t kvBlock = 0;
  int64_t stages = 0;
  /// Warps that compute.
  int64_t warps = 0;
  /// Warps beside them that only copy: a Hopper block has a warpgroup of them.
  int64_t producerWarps = 0;
  int64_t sharedBytes = 0;
  /// As ptxas says; -1 where it was not asked.
  int64_t registers = -1;
  int64_t spillBytes = -1;
  /// D and Dv.
  int64_t headDim = 0;
  int64_t valueHeadDim = 0;
  /// Element type of Q, K, V and O: "f16", "bf16" or "f32".
  std::string dtype;
  /// Bytes that the address of each row of Q, K, V and O is a multiple of,
  /// where the bytes of a dense row are one too; else the greatest common
  /// divisor of both. Base pointers and strides are checked against it before a
  /// launch.
  int64_t alignment = 16;
  /// Neither mask nor score function looks at a query's number or its head, so
  /// that rows of several heads may stand in one tile (`packHeads`).
  bool rowsAlike = false;
  /// Multiplies Q K^T.
  double scale = 0;
  /// For people: the mask as text, and the layout of the arrays as "bshd" or
  /// "bhsd". The launch reads neither.
  std::string mask;
  std::string layout;
  /// Of one of a program's kernels, whose grid and arrays the program's
  /// manifest says: that manifest as JSON. Else empty.
  std::string program;

  bool operator==(const Manifest &) const = default;
  /// The parameter of that kind, or null. Captures are several: use `params`.
  const KernelParam *find(ParamKind kind) const;
  /// Threads of a block.
  int64_t threads() const { return 32 * (warps + producerWarps); }

  llvm::json::Value toJSON() const;
  /// Fails with the path of the field that is missing or of the wrong type, and
  /// on numbers that no kernel can have (a block of no threads). Fields that
  /// came with Hopper (`producer_warps`, `tensor_maps`, `persistent`) and
  /// `rows_alike` may be missing.
  static llvm::Expected<Manifest> fromJSON(const llvm::json::Value &value);
  static llvm::Expected<Manifest> parse(llvm::StringRef text);
};

/// A kernel as the compiler hands it over. One of `ptx` and `cubin` may be
/// empty; a cubin, if there, is for `arch` alone, while PTX also runs on newer
/// GPUs.
struct KernelImage {
  /// The entry's symbol.
  std::string name;
  /// "sm_80".
  std::string arch;
  std::string ptx;
  std::string cubin;
  Manifest manifest;
  /// What made the cubin, with its version ("nvJitLink 13.0"); empty without
  /// one.
  std::string assembler;
};

} // namespace flashc

#endif // FLASHC_SUPPORT_KERNELIMAGE_H
