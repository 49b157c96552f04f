//===- Context.h - From a description to a kernel ---------------*- C++ -*-===//
//
// The one call for users; only here do the compiler, the cache and the runtime
// meet. No state is shared between contexts but the folder on disk.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_JIT_CONTEXT_H
#define FLASHC_JIT_CONTEXT_H

#include "flashc/Jit/Gradients.h"
#include "flashc/Jit/Kernel.h"
#include "flashc/Jit/Pending.h"
#include "flashc/Jit/Spec.h"

namespace flashc::jit {

struct ContextOptions {
  /// "cpu", "sm_80" and so on; empty: the newest that the device runs.
  std::string target;
  /// The GPU to run on; -1: none, kernels are only compiled.
  int device = 0;
  /// The caller's CUDA context, which outlives this one; null: the primary
  /// context of the device.
  cuda::ContextHandle cudaContext = nullptr;
  CacheOptions cache;
  AssemblerOptions assembler;
  /// That run a kernel on the CPU, and at most so many that compile in the
  /// background; 0: as many as the machine has.
  unsigned threads = 0;
  /// Loaded kernels that are kept after their users are gone.
  uint64_t maxKernels = 256;
};

/// Steps of a compilation, told to whoever waits for it.
enum class Step { LookUp, Lower, Emit, Assemble, Load };
inline constexpr int kSteps = 5;
using ProgressFunction = std::function<void(Step)>;

/// Any thread may call any function at any time.
class Context {
public:
  /// Fails where the target is not known, or the GPU or its driver is not
  /// there. `driver` is for tests; null loads the CUDA driver.
  static llvm::Expected<std::shared_ptr<Context>>
  create(ContextOptions options,
         std::shared_ptr<const cuda::Driver> driver = nullptr);
  /// Waits for compilations under way; those not yet begun fail.
  ~Context();

  const TargetInfo &target() const { return info; }

  /// The kernel of a description: one that this context holds, else through the
  /// cache or the compiler. Threads that ask for one kernel wait for one
  /// compilation. `progress` is called by this thread.
  llvm::Expected<std::shared_ptr<const Kernel>>
  compile(const KernelSpec &spec, const ProgressFunction &progress = nullptr);

  /// The same in the background; `progress` is called by another thread.
  std::shared_ptr<Pending> compileAsync(KernelSpec spec,
                                        ProgressFunction progress = nullptr);

  /// The same for the gradients of an attention, which `spec.gradients` asks
  /// for. Their kernels go through the same cache.
  llvm::Expected<std::shared_ptr<const Gradients>>
  compileGradients(const KernelSpec &spec,
                   const ProgressFunction &progress = nullptr);

  /// A kernel compiled before: the manifest that `flashc --manifest` wrote, or
  /// a folder of them, of which the one called `name` for the newest target
  /// that runs here is taken (`name` may be empty in a folder of one name).
  llvm::Expected<std::shared_ptr<const Kernel>> load(const std::string &path,
                                                     const std::string &name);

private:
  explicit Context(ContextOptions options);
  using KernelPointer = std::shared_ptr<const Kernel>;
  llvm::Error open(std::shared_ptr<const cuda::Driver> driver);
  llvm::Expected<KernelPointer> make(const KernelSpec &spec,
                                     const ProgressFunction &progress);
  llvm::Expected<KernelPointer> makeOnCPU(mlir::ModuleOp module,
                                          const CompileOptions &options);
  using GradientsPointer = std::shared_ptr<const Gradients>;
  llvm::Expected<GradientsPointer>
  makeGradients(const KernelSpec &spec, const ProgressFunction &progress);
  llvm::Expected<KernelPointer> loadImage(CachedKernel kernel) const;
  llvm::Expected<const Assembler *> assembler();
  bool runsHere(const KernelImage &image) const;

  ContextOptions options;
  TargetInfo info;
  /// On-chip memory of a block: the target's, or less on a smaller device.
  int64_t sram = 0;
  std::shared_ptr<const Device> device;
  KernelCache cache;
  SingleFlight<KernelSpec, KernelPointer, KernelSpecHash> kernels;
  SingleFlight<KernelSpec, GradientsPointer, KernelSpecHash> programs;
  std::mutex mutex; // of the two below
  bool assemblerOpened = false;
  std::unique_ptr<Assembler> openedAssembler;
  std::unique_ptr<Workers> workers; // last: it uses the others
};

} // namespace flashc::jit

#endif // FLASHC_JIT_CONTEXT_H
