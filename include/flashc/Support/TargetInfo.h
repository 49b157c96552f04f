//===- TargetInfo.h - What a schedule may know of a machine -----*- C++ -*-===//
#ifndef FLASHC_SUPPORT_TARGETINFO_H
#define FLASHC_SUPPORT_TARGETINFO_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace flashc {

/// One target. Everything about a machine that may change generated code is a
/// field here, and therefore part of a cache key.
struct TargetInfo {
  /// "cpu", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90" or
  /// "sm_90a".
  std::string arch;
  bool isCPU = false;
  /// 80 for sm_80; 0 for the CPU.
  int sm = 0;
  /// The SRAM size M in bytes: the most that one block may ask for (the opt-in
  /// maximum), or less if the user said so. For the CPU, a core's L2 cache.
  int64_t sharedBytesPerBlock = 0;
  /// Bytes of shared memory of one multiprocessor; each resident block costs
  /// its own bytes and `sharedBytesReservedPerBlock`.
  int64_t sharedBytesPerSM = 0;
  int64_t sharedBytesReservedPerBlock = 0;
  /// 32-bit registers of one multiprocessor and the most one thread may have.
  int64_t registersPerSM = 0;
  int64_t maxRegistersPerThread = 0;
  int64_t maxWarpsPerSM = 0;
  /// Multiprocessors of the usual data-centre board of this arch.
  int64_t smCount = 0;
  /// cp.async (sm_80 on): global to shared memory without registers.
  bool hasCpAsync = false;
  /// mma.sync on bf16 (sm_80 on).
  bool hasBF16Mma = false;
  /// mma.sync m16n8k16 on f16 (sm_80 on; sm_75 has m16n8k8).
  bool hasMmaK16 = false;
  /// griddepcontrol (sm_90 on): a kernel that waits itself for the one before.
  bool hasDependentLaunch = false;
  /// wgmma, TMA and setmaxnreg (sm_90a): kernels whose warps have roles.
  bool hasRoles = false;
};

/// The archs that `lookupTarget` knows, the CPU first.
llvm::ArrayRef<llvm::StringRef> knownArchs();

/// The newest of them whose code a GPU of compute capability `sm` / 10 runs:
/// code with roles (sm_90a) runs on its own generation alone. Fails on GPUs
/// older than all.
llvm::Expected<std::string> newestArchFor(int sm);

/// The target called `arch`. `sramOverride` > 0 replaces
/// `sharedBytesPerBlock`. Fails on an unknown arch, on a negative override and
/// on one that the GPU does not have. Source of the figures: CUDA C++
/// Programming Guide, "Technical Specifications per Compute Capability".
llvm::Expected<TargetInfo> lookupTarget(llvm::StringRef arch,
                                        int64_t sramOverride = 0);

} // namespace flashc

#endif // FLASHC_SUPPORT_TARGETINFO_H
