//===- Module.h - From a file or a plain struct to attn IR ------*- C++ -*-===//
#ifndef FLASHC_COMPILER_MODULE_H
#define FLASHC_COMPILER_MODULE_H

#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace flashc {

/// Attribute of a function's argument: its name on the command line.
inline constexpr llvm::StringLiteral kArgumentNameAttr("attn.name");

/// A context that knows every dialect of every stage. It has no threads of its
/// own: one compilation is one thread, many may run side by side.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// A tensor that a score function reads.
struct CaptureSpec {
  std::string name;
  /// "f16", "bf16", "f32", "i8", "i32" or "i64".
  std::string dtype;
  /// Sizes; 0: known at run time.
  std::vector<int64_t> shape;

  bool operator==(const CaptureSpec &) const = default;
};

/// Attention in plain words.
struct AttentionSpec {
  /// Of the function, and so of the kernel.
  std::string name = "attention";
  /// D; and Dv, where 0 means D.
  int64_t headDim = 0, valueHeadDim = 0;
  /// Hq and Hkv; 0: known at run time.
  int64_t heads = 0, kvHeads = 0;
  /// "f16", "bf16" or "f32".
  std::string dtype = "f16";
  /// "bshd" or "bhsd".
  std::string layout = "bshd";
  /// Default 1/sqrt(D).
  std::optional<double> scale;
  /// As `parseMask` reads it.
  std::string mask = "none";
  /// Whether each batch has its own number of keys.
  bool kvLengths = false;
  /// Whether the kernel writes the log-sum-exp.
  bool withLse = true;
  /// Batch, queries and keys that the kernel is for alone; 0: any.
  int64_t batch = 0, queries = 0, keys = 0;
  /// The score region of `attn.forward` without its braces, empty for none:
  /// `^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, ...):` with an
  /// argument for each capture, operations, and `attn.yield`.
  std::string score;
  std::vector<CaptureSpec> captures;

  bool operator==(const AttentionSpec &) const = default;
};

/// The function that holds one `attn.forward`. Fails with the verifier's
/// sentence where the numbers do not fit; errors of the score function have the
/// line within its text.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildAttnModule(const AttentionSpec &spec, mlir::MLIRContext &context);

/// Read and verify a module. The error is the first one that the parser or a
/// verifier has, with file, line and column. Arguments that carry no
/// `attn.name` get the name they have in the text, for `--capture name=file`.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readModule(llvm::StringRef path, mlir::MLIRContext &context);
/// As `readModule`, from text; `name` stands for the path.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
parseModule(llvm::StringRef text, llvm::StringRef name,
            mlir::MLIRContext &context);

/// What the module computes: the one function and its one `attn.forward`.
struct AttnFunction {
  mlir::func::FuncOp func;
  attn::ForwardOp forward;
  /// Argument of `func` that is Q, K, V, kv_lengths (-1: none).
  int query = -1, key = -1, value = -1, kvLengths = -1;
  /// Arguments that are captures, in the order of the op, and their names.
  std::vector<int> captures;
  std::vector<std::string> captureNames;
  /// Whether the function returns the LSE (after the output).
  bool returnsLse = false;
};

/// Find it. Fails where the module has not exactly one function that holds one
/// `attn.forward` on its arguments and returns its results, or whose name is
/// not one that PTX can spell.
llvm::Expected<AttnFunction> findAttention(mlir::ModuleOp module);

/// The same of gradients: a function and its one `attn.backward`.
struct BackwardFunction {
  mlir::func::FuncOp func;
  attn::BackwardOp backward;
  /// Names of the captures, in the order of the op.
  std::vector<std::string> captureNames;
};

/// Whether the module holds an `attn.backward`.
bool holdsBackward(mlir::ModuleOp module);

/// Find it. Fails where the module does not hold exactly one `attn.backward`,
/// no `attn.forward` beside it, and as `findAttention`.
llvm::Expected<BackwardFunction> findBackward(mlir::ModuleOp module);

} // namespace flashc

#endif // FLASHC_COMPILER_MODULE_H
