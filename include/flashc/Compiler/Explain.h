//===- Explain.h - What a kernel will cost, by formula ----------*- C++ -*-===//
#ifndef FLASHC_COMPILER_EXPLAIN_H
#define FLASHC_COMPILER_EXPLAIN_H

#include "flashc/Support/KernelImage.h"
#include "flashc/Support/ProgramManifest.h"
#include "flashc/Support/TargetInfo.h"

#include "mlir/IR/Attributes.h"

#include <string>

namespace flashc {

/// The sizes that a kernel leaves open.
struct ProblemSize {
  int64_t batch = 1, heads = 1, kvHeads = 1, queries = 0, keys = 0;
};

/// Pairs (i, j) of one head that a mask leaves visible; key lengths are `keys`.
int64_t countVisible(mlir::Attribute mask, int64_t queries, int64_t keys);

/// Costs of one launch. Bytes and FLOPs are exact for the formula beside them;
/// nothing here is measured.
struct Costs {
  /// 2 (D + Dv) for each visible pair.
  double flops = 0;
  /// Q, K, V, O, LSE once each: no kernel can move less.
  double leastBytes = 0;
  /// Q, O, LSE once, and K and V once a query block: if no cache helps.
  double blockBytes = 0;
  /// flops / leastBytes.
  double intensity = 0;
  /// Elements moved between HBM and on-chip memory of M elements, up to a
  /// constant: N^2 d^2 / M fused, N d + N^2 unfused. Source: FlashAttention,
  /// Theorem 2.
  double fusedElements = 0, unfusedElements = 0;
  /// Blocks of the grid, blocks that one multiprocessor holds at once, and
  /// rounds of the whole GPU (0 on the CPU).
  int64_t blocks = 0, residentBlocks = 0;
  double waves = 0;
};

/// `registers` is what ptxas says, or -1: then registers bound nothing.
Costs computeCosts(const Manifest &manifest, mlir::Attribute mask,
                   const TargetInfo &target, const ProblemSize &size);

/// The report of `flashc --explain`.
std::string explain(const Manifest &manifest, mlir::Attribute mask,
                    const TargetInfo &target, const ProblemSize &size);

/// The report of `flashc --backward --explain`: the kernels (with registers
/// where `images`, of the same order, have been through ptxas), FLOPs, the
/// least bytes, and the workspaces by their rule.
std::string explainGradients(const ProgramManifest &program,
                             llvm::ArrayRef<KernelImage> images,
                             mlir::Attribute mask, const TargetInfo &target,
                             const ProblemSize &size);

} // namespace flashc

#endif // FLASHC_COMPILER_EXPLAIN_H
