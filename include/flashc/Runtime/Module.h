//===- Module.h - A kernel on a device --------------------------*- C++ -*-===//
#ifndef FLASHC_RUNTIME_MODULE_H
#define FLASHC_RUNTIME_MODULE_H

#include "flashc/Runtime/Arguments.h"
#include "flashc/Runtime/Device.h"

#include <atomic>

namespace flashc {

/// A loaded kernel. The device must outlive it. Any thread may load and launch
/// at any time, whatever context it has current, and while streams of this or
/// another thread are captured into a graph.
///
/// Of a persistent kernel, 4096 launches of one module may be under way at
/// once: each takes the next of that many tile counters in turn. A launch that
/// is captured keeps its counter, which replays of one graph use one after the
/// other; it takes one of 65536 others, so that this many captured launches of
/// one module may be replayed at once. Two executable graphs made of one
/// captured graph share its counters and must not run at once.
class Module {
public:
  /// Load a cubin if the image has one for exactly this device, else let the
  /// driver compile the PTX; ask for the manifest's shared memory; allocate the
  /// counters of a persistent kernel, which waits for the device. Fails on a
  /// device that is older than the image (or, for an image of sm_90a, another
  /// than that) or has too little shared memory, where the driver is too old
  /// for tensor maps and the kernel has some, and on what the driver refuses,
  /// with its log.
  static llvm::Expected<Module> load(const Device &device,
                                     const KernelImage &image);
  Module(Module &&other) noexcept { swap(other); }
  Module &operator=(Module &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Module();

  const std::string &name() const { return kernelName; }
  const Manifest &manifest() const { return info; }
  /// Registers of a thread and bytes of local memory (spills), as loaded.
  int registers() const { return registerCount; }
  int localBytes() const { return spillBytes; }

  /// Check the arrays (see `pack`) and launch on `stream`, without waiting. A
  /// problem without query rows launches nothing. Errors of the
  /// kernel itself show at the next `Device::synchronize`.
  llvm::Error launch(llvm::ArrayRef<ArrayArg> args,
                     cuda::StreamHandle stream = nullptr) const;
  /// As above, with arguments that `pack` or `packArguments` has made before.
  /// With `waits` the kernel, which waits itself for the one that was launched
  /// before it, may start before that one has ended (but not where the stream
  /// is captured).
  llvm::Error launch(const PackedArguments &packed,
                     cuda::StreamHandle stream = nullptr,
                     bool waits = false) const;
  /// `packArguments`, a look whether the addresses are those of memory that the
  /// device reads, and the tensor maps encoded, for launches of this module
  /// with the same arrays: it takes some microseconds.
  llvm::Expected<PackedArguments> pack(llvm::ArrayRef<ArrayArg> args) const;

private:
  Module() = default;
  void swap(Module &other) {
    std::swap(device, other.device);
    std::swap(kernelName, other.kernelName);
    std::swap(info, other.info);
    std::swap(module, other.module);
    std::swap(function, other.function);
    std::swap(registerCount, other.registerCount);
    std::swap(spillBytes, other.spillBytes);
    std::swap(scratch, other.scratch);
  }
  llvm::Error loadImage(const KernelImage &image);
  llvm::Error prepareFunction();
  llvm::Error allocateScratch();
  llvm::Error encode(llvm::ArrayRef<TensorMapDescription> maps,
                     std::vector<EncodedTensorMap> &encoded) const;
  llvm::Error checkAddresses(llvm::ArrayRef<ArrayArg> args) const;
  uint32_t gridOf(const PackedArguments &packed) const;

  /// Device memory of the kernel's own, all zeros between launches: the tile
  /// counters, then a row that arrays without elements are mapped to.
  struct Scratch {
    DeviceBuffer buffer;
    std::atomic<uint32_t> nextCounter{0}, nextCaptured{0};
    cuda::Pointer zeroRow = 0;
    cuda::Pointer takeCounter(bool captured);
  };

  const Device *device = nullptr;
  std::string kernelName;
  Manifest info;
  cuda::ModuleHandle module = nullptr;
  cuda::FunctionHandle function = nullptr;
  int registerCount = 0, spillBytes = 0;
  std::unique_ptr<Scratch> scratch;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_MODULE_H
