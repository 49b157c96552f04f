//===- Spec.h - What a kernel is asked for ----------------------*- C++ -*-===//
#ifndef FLASHC_JIT_SPEC_H
#define FLASHC_JIT_SPEC_H

#include "flashc/Cache/CacheKey.h"
#include "flashc/Compiler/Compiler.h"

namespace flashc::jit {

/// Gradients of an attention, beside those of Q, K and V.
struct GradientSpec {
  /// Numbers of the captured tensors whose gradients are wanted, ascending.
  std::vector<int64_t> captures;
  /// A gradient of the LSE comes in.
  bool lseGradient = false;
  /// The same bits in every run.
  bool deterministic = false;

  bool operator==(const GradientSpec &) const = default;
};

/// A kernel as its user describes it: the attention, in plain words or as a
/// module, and wishes about the schedule. The context knows the target.
struct KernelSpec {
  AttentionSpec attention;
  /// A module with one `attn.forward`, instead of `attention`; empty for none.
  std::string mlir;
  /// As the fields of CompileOptions.
  std::string tiles = "auto";
  int64_t stages = 0, warps = 0, sram = 0;
  /// 0: 16.
  int64_t alignment = 0;
  /// Rounded by `lengthClass`, but where `attention` names both lengths.
  int64_t length = 0;
  /// The gradients instead of the attention.
  std::optional<GradientSpec> gradients;

  bool operator==(const KernelSpec &) const = default;
};

/// For maps from descriptions to kernels.
struct KernelSpecHash {
  size_t operator()(const KernelSpec &spec) const;
};

/// The module of a description, verified.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
buildModule(const KernelSpec &spec, mlir::MLIRContext &context);

/// All that the compiler is told about a description for this target; `sram` is
/// the on-chip memory of a block in bytes where the description names none.
CompileOptions optionsFor(const KernelSpec &spec, const TargetInfo &target,
                          int64_t sram);

/// The version of the compiler: flashc's, a digest of its sources, LLVM's.
const std::string &compilerVersion();

/// The key of a kernel: the module in its canonical form, all options, the
/// compiler's version, and `assembler`, the name of what makes the cubin
/// (empty: nothing does). Fails where the module cannot be compiled at all.
llvm::Expected<CacheKey> keyOf(mlir::ModuleOp module,
                               const CompileOptions &options,
                               llvm::StringRef assembler);

} // namespace flashc::jit

#endif // FLASHC_JIT_SPEC_H
