//===- TargetInfo.cpp - The table of targets ------------------------------===//
//
// In: a name such as sm_80 and an optional SRAM size. Out: the figures that the
// schedule and the passes read. Nothing here asks the machine it runs on.
//
//===----------------------------------------------------------------------===//
#include "flashc/Support/TargetInfo.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace flashc;

namespace {
constexpr int64_t kKiB = 1024;

/// A GPU's block may have all of its multiprocessor's shared memory but the
/// `reserved` bytes that the system takes for each block from sm_80 on.
TargetInfo gpu(int sm, int64_t sharedKiB, int64_t reserved, int64_t warps,
               int64_t smCount) {
  TargetInfo target;
  target.arch = "sm_" + std::to_string(sm);
  target.sm = sm;
  target.sharedBytesPerSM = sharedKiB * kKiB;
  target.sharedBytesReservedPerBlock = reserved;
  target.sharedBytesPerBlock = sharedKiB * kKiB - reserved;
  target.registersPerSM = 64 * kKiB;
  target.maxRegistersPerThread = 255;
  target.maxWarpsPerSM = warps;
  target.smCount = smCount;
  target.hasCpAsync = target.hasBF16Mma = target.hasMmaK16 = sm >= 80;
  target.hasDependentLaunch = sm >= 90;
  return target;
}

TargetInfo cpu() {
  TargetInfo target;
  target.arch = "cpu";
  target.isCPU = true;
  // A core's private L2: 1 MiB on the server cores of the last years, and
  // tiles that fit half as much lose nothing measurable on a larger one.
  target.sharedBytesPerBlock = target.sharedBytesPerSM = 1024 * kKiB;
  target.smCount = 1;
  return target;
}

constexpr llvm::StringRef kArchs[] = {"cpu",   "sm_75", "sm_80", "sm_86",
                                      "sm_89", "sm_90", "sm_90a"};

std::optional<TargetInfo> find(llvm::StringRef arch) {
  if (arch == "cpu")
    return cpu();
  if (arch == "sm_75")
    return gpu(75, 64, 0, 32, 40); // T4
  if (arch == "sm_80")
    return gpu(80, 164, kKiB, 64, 108); // A100
  if (arch == "sm_86")
    return gpu(86, 100, kKiB, 48, 84); // A40
  if (arch == "sm_89")
    return gpu(89, 100, kKiB, 48, 142); // L40S
  if (arch == "sm_90")
    return gpu(90, 228, kKiB, 64, 132); // H100, H200
  if (arch == "sm_90a") {
    TargetInfo target = gpu(90, 228, kKiB, 64, 132);
    target.arch = arch.str();
    target.hasRoles = true;
    return target;
  }
  return std::nullopt;
}
} // namespace

llvm::ArrayRef<llvm::StringRef> flashc::knownArchs() { return kArchs; }

llvm::Expected<std::string> flashc::newestArchFor(int sm) {
  std::optional<TargetInfo> best;
  for (llvm::StringRef arch : knownArchs()) {
    TargetInfo target = *find(arch);
    bool runs = target.hasRoles ? target.sm == sm : target.sm <= sm;
    if (!target.isCPU && runs && (!best || target.sm >= best->sm))
      best = target;
  }
  if (!best)
    return makeError("the GPU is sm_{}, but the oldest known target is sm_75; "
                     "run on the CPU",
                     sm);
  return best->arch;
}

llvm::Expected<TargetInfo> flashc::lookupTarget(llvm::StringRef arch,
                                                int64_t sramOverride) {
  std::optional<TargetInfo> target = find(arch);
  if (!target)
    return makeError("target arch '{}' is not known; use one of {}", arch.str(),
                     llvm::join(knownArchs(), ", "));
  if (sramOverride < 0)
    return makeError("sram size {} of target {} is negative; give a number of "
                     "bytes, or 0 for all {} that it has",
                     sramOverride, target->arch, target->sharedBytesPerBlock);
  if (sramOverride > target->sharedBytesPerBlock && !target->isCPU)
    return makeError("sram size {} is more than the {} bytes that a block of "
                     "{} can have; give at most that",
                     sramOverride, target->sharedBytesPerBlock, target->arch);
  if (sramOverride > 0)
    target->sharedBytesPerBlock = sramOverride;
  return *target;
}
