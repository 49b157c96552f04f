// Compile cases on all cores, run them on the GPU, and give back what they
// made.
#ifndef FLASHC_TEST_GPU_GPUHARNESS_H
#define FLASHC_TEST_GPU_GPUHARNESS_H

#include "cases/CaseRunner.h"
#include "flashc/Runtime/Module.h"

#include <map>
#include <memory>
#include <optional>

namespace flashc::test {

/// A kernel on the device, or why there is none.
struct LoadedKernel {
  std::optional<Module> module;
  std::string error;
  /// The tiles asked for by name do not fit the target, so `auto` was used;
  /// this is what the compiler said.
  std::string refusedTiles;
};

/// One device and the kernels loaded on it.
class GpuHarness {
public:
  /// Null where there is no GPU.
  static std::unique_ptr<GpuHarness> open();

  Device &device() { return *gpu; }

  /// Compile and load the kernels that these cases need and that are not there
  /// yet. Every core takes part: a kernel takes LLVM a tenth of a second and
  /// the driver, which compiles the PTX, often more.
  void prepare(llvm::ArrayRef<reference::TestCase> tests,
               const std::string &arch, int64_t alignment = 0);
  const LoadedKernel &kernel(const reference::TestCase &test,
                             const std::string &arch, int64_t alignment = 0);

  /// Copy in, launch, wait, copy out. Memory before and after O and LSE is
  /// checked to be untouched.
  llvm::Expected<Output> run(const Module &module,
                             const reference::TestCase &test);

  /// `prepare`, `run` and `judge` each case. Returns what is wrong, a line
  /// each.
  std::vector<std::string> runAll(llvm::ArrayRef<reference::TestCase> tests,
                                  const std::string &arch, Judge &judge);

private:
  std::unique_ptr<Device> gpu;
  std::map<std::string, LoadedKernel> kernels;
};

/// The arguments of a launch on the host's data, with the device memory they
/// are in.
struct DeviceArguments {
  std::vector<ArrayArg> args;
  std::vector<DeviceBuffer> buffers;
  /// Where O and LSE are in `buffers`; LSE's is -1 where there is none.
  int output = -1, lse = -1;

  static constexpr size_t kGuardBytes = 256;
  /// Upload the inputs, allocate and poison the outputs.
  static llvm::Expected<DeviceArguments> make(const Device &device,
                                              const Manifest &manifest,
                                              const reference::TestCase &test);
  llvm::Error readBack(const Device &device, Output &out) const;
};

} // namespace flashc::test

#endif // FLASHC_TEST_GPU_GPUHARNESS_H
