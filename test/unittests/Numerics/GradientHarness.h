// Compile backwards and run them on the CPU path.
#ifndef FLASHC_TEST_UNITTESTS_NUMERICS_GRADIENTHARNESS_H
#define FLASHC_TEST_UNITTESTS_NUMERICS_GRADIENTHARNESS_H

#include "cases/GradientModule.h"
#include "flashc/Target/CPU/Program.h"

#include <map>

namespace flashc::test {

/// A program, or why there is none.
struct CompiledProgram {
  std::optional<CpuProgram> program;
  std::string error;
  /// The tiles asked for by name do not fit, so `auto` was used; this is what
  /// the compiler said.
  std::string refusedTiles;
};

/// Programs by the cases that they serve. One thread.
class GradientHarness {
public:
  const CompiledProgram &program(const reference::GradientCase &test);
  llvm::Expected<reference::Gradients> run(const reference::GradientCase &test,
                                           unsigned threads = 0);
  /// `run` and the verdict: empty, or what is wrong. An array whose last stride
  /// is not 1 must be refused, and is copied then.
  std::string runAndJudge(const reference::GradientCase &test,
                          unsigned threads = 0);
  size_t programCount() const { return programs.size(); }
  /// The largest rms(error) / rms(unfused error) so far.
  double worstRatio() const { return judge.worstRatio(); }
  const std::string &worstCase() const { return judge.worstCase(); }

private:
  std::map<std::string, CompiledProgram> programs;
  GradientJudge judge;
};

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_NUMERICS_GRADIENTHARNESS_H
