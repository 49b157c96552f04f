//===- Program.h - Kernels that run one after the other ---------*- C++ -*-===//
#ifndef FLASHC_TARGET_CPU_PROGRAM_H
#define FLASHC_TARGET_CPU_PROGRAM_H

#include "flashc/Support/ProgramManifest.h"
#include "flashc/Target/CPU.h"

#include "llvm/ADT/StringMap.h"

namespace flashc {

/// The gradients of attention, compiled for this process. `run` may be called
/// from many threads at once.
class CpuProgram {
public:
  /// From a module with the manifest's kernels in its order, lowered by
  /// `buildCPUPipeline`.
  static llvm::Expected<CpuProgram> create(mlir::ModuleOp module,
                                           ProgramManifest manifest);

  /// Runs all kernels on the arrays of the manifest, by name. Workspaces are
  /// allocated here. `do` and all others are 4-D in the order batch, head,
  /// length, head dim; lse and dlse have strides. Fails before it writes if an
  /// array is missing or does not fit. The bits of the result depend neither on
  /// `threads` nor on the machine's load.
  llvm::Error run(const llvm::StringMap<CpuArgument> &arrays,
                  unsigned threads = 0) const;

  const ProgramManifest &getManifest() const { return manifest; }

private:
  ProgramManifest manifest;
  std::vector<std::unique_ptr<CpuKernel>> kernels;
};

} // namespace flashc

#endif // FLASHC_TARGET_CPU_PROGRAM_H
