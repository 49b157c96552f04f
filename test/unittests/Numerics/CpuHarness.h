// Compile cases and run them on the CPU path.
#ifndef FLASHC_TEST_UNITTESTS_NUMERICS_CPUHARNESS_H
#define FLASHC_TEST_UNITTESTS_NUMERICS_CPUHARNESS_H

#include "cases/CaseRunner.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Target/CPU.h"

#include <map>
#include <memory>

namespace flashc::test {

/// A kernel, or why there is none.
struct CompiledKernel {
  std::unique_ptr<CpuKernel> kernel;
  std::string error;
  /// The tiles asked for by name do not fit, so `auto` was used; this is what
  /// the compiler said.
  std::string refusedTiles;
  /// What the kernel's roles say, if it has any.
  std::optional<tile::Rescale> rescale;
};

/// Kernels by the cases that they serve. One thread.
class CpuHarness {
public:
  /// Kernels as the tile level makes them for `arch`: that of a GPU with roles
  /// has block shapes and a softmax of its own.
  explicit CpuHarness(std::string arch = "cpu") : arch(std::move(arch)) {}
  /// The same, with schedules whose roles, if any, rescale as said.
  CpuHarness(std::string arch, tile::Rescale rescale)
      : arch(std::move(arch)), rescale(rescale) {}
  const CompiledKernel &kernel(const reference::TestCase &test);
  /// Arrays that lie as the case has them; the kernel's own refusal as an
  /// error.
  llvm::Expected<Output> run(const reference::TestCase &test,
                             unsigned threads = 0);
  /// `run` and `judge`: empty, or what is wrong. An array whose last stride is
  /// not 1 must be refused, and is copied then.
  std::string runAndJudge(const reference::TestCase &test, Judge &judge,
                          unsigned threads = 0);
  size_t kernelCount() const { return kernels.size(); }

private:
  void compile(const reference::TestCase &test, const std::string &tiles,
               CompiledKernel &made);
  std::string arch;
  std::optional<tile::Rescale> rescale;
  std::map<std::string, CompiledKernel> kernels;
};

CpuArgument argumentOf(const reference::HostTensor &tensor);

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_NUMERICS_CPUHARNESS_H
