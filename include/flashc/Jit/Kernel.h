//===- Kernel.h - Compiled, loaded, ready -----------------------*- C++ -*-===//
#ifndef FLASHC_JIT_KERNEL_H
#define FLASHC_JIT_KERNEL_H

#include "flashc/Cache/KernelCache.h"
#include "flashc/Compiler/Explain.h"
#include "flashc/Runtime/Module.h"
#include "flashc/Target/CPU.h"

#include <mutex>
#include <optional>

namespace flashc::jit {

/// A kernel for one target. Any thread may call any function at any time.
class Kernel {
public:
  /// For a target that is not here: it cannot be launched.
  Kernel(CachedKernel kernel, TargetInfo target);
  /// On a device.
  Kernel(CachedKernel kernel, TargetInfo target,
         std::shared_ptr<const Device> device, Module module);
  /// In this process, run by so many threads (0: as many as there are).
  Kernel(std::string name, Manifest manifest, TargetInfo target,
         std::unique_ptr<CpuKernel> cpu, unsigned threads);

  const KernelImage &image() const { return *kernel.image; }
  const Manifest &manifest() const { return image().manifest; }
  CacheOrigin origin() const { return kernel.origin; }
  /// As loaded, else as the assembler says; -1 where nobody knows.
  int64_t registers() const;
  int64_t spillBytes() const;

  /// Check the arrays, which are those of the manifest in its order, and run.
  /// On a device: on `stream`, without waiting, whatever context is current,
  /// and also while the stream is captured. On the CPU: at once, with host
  /// arrays, until it is done. A launch with the arrays of the one before is
  /// cheaper, as they were checked.
  llvm::Error launch(llvm::ArrayRef<ArrayArg> args,
                     cuda::StreamHandle stream) const;

  /// What a launch of this size will cost, as `flashc --explain` has it.
  llvm::Expected<std::string> explain(const ProblemSize &size) const;

private:
  /// The arrays of a launch and what was made of them.
  struct Prepared {
    llvm::SmallVector<ArrayArg, 8> args;
    PackedArguments packed;
  };
  llvm::Expected<std::shared_ptr<const Prepared>>
  prepare(llvm::ArrayRef<ArrayArg> args) const;
  llvm::Error runOnCPU(llvm::ArrayRef<ArrayArg> args) const;

  CachedKernel kernel;
  TargetInfo target;
  std::shared_ptr<const Device> device; // outlives the module
  std::optional<Module> module;
  std::unique_ptr<CpuKernel> cpu;
  unsigned threads = 0;
  mutable std::mutex mutex; // of `last`
  mutable std::shared_ptr<const Prepared> last;
};

} // namespace flashc::jit

#endif // FLASHC_JIT_KERNEL_H
