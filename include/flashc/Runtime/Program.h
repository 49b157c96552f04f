//===- Program.h - Kernels that run one after the other ---------*- C++ -*-===//
#ifndef FLASHC_RUNTIME_PROGRAM_H
#define FLASHC_RUNTIME_PROGRAM_H

#include "flashc/Runtime/Module.h"
#include "flashc/Support/ProgramManifest.h"

#include "llvm/ADT/StringMap.h"

namespace flashc {

/// The sizes of the problem that the arrays are of, by their names.
llvm::Expected<ProgramSizes>
problemSizes(const ProgramManifest &manifest,
             const llvm::StringMap<ArrayArg> &arrays);

/// A launch of a program with its arrays in place.
struct PackedProgram {
  std::vector<PackedArguments> kernels;
  /// What is filled with zeros before the first kernel: address and bytes.
  std::vector<std::pair<cuda::Pointer, size_t>> zeroed;
};

/// The gradients of attention, loaded on a device, which must outlive it. Any
/// thread may launch at any time; two launches that may run at once need a
/// workspace each.
class Program {
public:
  /// Fails as `Module::load` does.
  static llvm::Expected<Program> load(const Device &device,
                                      const ProgramImage &image);

  const ProgramManifest &manifest() const { return info; }
  llvm::ArrayRef<Module> modules() const { return kernels; }

  /// Bytes of device memory that a launch with these arrays needs beside them:
  /// linear in the lengths. Fails where q, k or a capture is missing.
  llvm::Expected<size_t>
  workspaceBytes(const llvm::StringMap<ArrayArg> &arrays) const;

  /// Check the arrays, which have the names of `ProgramManifest`, and lay out
  /// the parameters. `workspace` is aligned to 16 bytes. Fails before anything
  /// is launched if an array is missing or does not fit its kernel or the
  /// others.
  llvm::Expected<PackedProgram> pack(const llvm::StringMap<ArrayArg> &arrays,
                                     cuda::Pointer workspace) const;

  /// Launch all kernels on `stream`, without waiting.
  llvm::Error launch(const PackedProgram &packed,
                     cuda::StreamHandle stream = nullptr) const;

private:
  Program() = default;
  const Device *device = nullptr;
  ProgramManifest info;
  std::vector<Module> kernels;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_PROGRAM_H
