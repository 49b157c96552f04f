//===- Gradients.h - Several kernels as one launch --------------*- C++ -*-===//
#ifndef FLASHC_JIT_GRADIENTS_H
#define FLASHC_JIT_GRADIENTS_H

#include "flashc/Cache/KernelCache.h"
#include "flashc/Runtime/Program.h"
#include "flashc/Support/TargetInfo.h"
#include "flashc/Target/CPU/Program.h"

#include <optional>

namespace flashc::jit {

/// The gradients of an attention for one target. Any thread may call any
/// function at any time; two launches that may run at once need a workspace
/// each.
class Gradients {
public:
  using Images = std::vector<CachedKernel>;
  /// For a target that is not here: it cannot be launched.
  Gradients(ProgramManifest manifest, Images images, TargetInfo target);
  /// On a device.
  Gradients(Images images, TargetInfo target,
            std::shared_ptr<const Device> device, Program program);
  /// In this process, run by so many threads (0: as many as there are).
  Gradients(CpuProgram program, TargetInfo target, unsigned threads);

  const ProgramManifest &manifest() const { return info; }
  const TargetInfo &target() const { return targetInfo; }
  /// None on the CPU.
  const Images &images() const { return kernels; }
  /// Where the first kernel came from.
  CacheOrigin origin() const;

  /// Bytes of device memory that a launch with these arrays needs beside them,
  /// linear in the lengths; 0 on the CPU. The arrays have the names that
  /// `ProgramManifest` lists. Fails where q, k or a capture is missing.
  llvm::Expected<size_t>
  workspaceBytes(const llvm::StringMap<ArrayArg> &arrays) const;

  /// Check the arrays and run. On a device: on `stream`, without waiting,
  /// whatever context is current, and also while the stream is captured;
  /// `workspace` is at a multiple of 16 bytes. On the CPU: at once, with host
  /// arrays, until it is done. Fails before anything is written.
  llvm::Error launch(const llvm::StringMap<ArrayArg> &arrays,
                     cuda::Pointer workspace, cuda::StreamHandle stream) const;

private:
  ProgramManifest info;
  Images kernels;
  TargetInfo targetInfo;
  std::shared_ptr<const Device> device; // outlives the program
  std::optional<Program> program;
  std::optional<CpuProgram> cpu;
  unsigned threads = 0;
};

} // namespace flashc::jit

#endif // FLASHC_JIT_GRADIENTS_H
