// Compile backwards on all cores and run them on the GPU.
#ifndef FLASHC_TEST_GPU_GRADIENTHARNESS_H
#define FLASHC_TEST_GPU_GRADIENTHARNESS_H

#include "cases/GradientModule.h"
#include "flashc/Runtime/Program.h"

#include <map>
#include <memory>

namespace flashc::test {

/// A program on the device, or why there is none.
struct LoadedGradients {
  std::optional<Program> program;
  std::string error, refusedTiles;
};

class GpuGradients {
public:
  GpuGradients(const Device &device, std::string arch)
      : device(device), arch(std::move(arch)) {}

  /// Compile and load what these cases need, on every core.
  void prepare(llvm::ArrayRef<reference::GradientCase> tests);
  const LoadedGradients &program(const reference::GradientCase &test);

  /// Copy in, launch, wait, copy out. Memory around the results is checked to
  /// be untouched; workspaces are full of NaN where nobody asks for zeros.
  llvm::Expected<reference::Gradients> run(const reference::GradientCase &test);

  /// `prepare`, `run` and judge each case; what is wrong, a line each. Arrays
  /// that are refused for their last stride or alignment are copied.
  std::vector<std::string> runAll(llvm::ArrayRef<reference::GradientCase> tests,
                                  GradientJudge &judge);

private:
  const Device &device;
  std::string arch;
  std::map<std::string, LoadedGradients> programs;
};

} // namespace flashc::test

#endif // FLASHC_TEST_GPU_GRADIENTHARNESS_H
