//===- Module.h - A kernel on a device --------------------------*- C++ -*-===//
#ifndef FLASHC_RUNTIME_MODULE_H
#define FLASHC_RUNTIME_MODULE_H

#include "flashc/Runtime/Arguments.h"
#include "flashc/Runtime/Device.h"

namespace flashc {

/// A loaded kernel. The device must outlive it. Loading and launching from
/// several threads at once is safe where each has made the device current.
class Module {
public:
  /// Load a cubin if the image has one for exactly this device, else let the
  /// driver compile the PTX; ask for the manifest's shared memory. Fails on a
  /// device that is older than the image or has too little shared memory, and
  /// on what the driver refuses, with its log.
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

  /// Check the arrays (see `packArguments`) and launch on `stream`, without
  /// waiting. A problem without query rows launches nothing. Errors of the
  /// kernel itself show at the next `Device::synchronize`.
  llvm::Error launch(llvm::ArrayRef<ArrayArg> args,
                     cuda::StreamHandle stream = nullptr) const;
  /// As above, with arguments that `packArguments` has made before.
  llvm::Error launch(const PackedArguments &packed,
                     cuda::StreamHandle stream = nullptr) const;

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
  }
  llvm::Error loadImage(const KernelImage &image);
  llvm::Error prepareFunction();

  const Device *device = nullptr;
  std::string kernelName;
  Manifest info;
  cuda::ModuleHandle module = nullptr;
  cuda::FunctionHandle function = nullptr;
  int registerCount = 0, spillBytes = 0;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_MODULE_H
