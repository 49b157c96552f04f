//===- Tune.h - The fastest of some schedules -------------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_TUNE_H
#define FLASHC_TOOLS_FLASHC_BENCH_TUNE_H

#include "flashc/Analysis/Candidates.h"
#include "flashc/Support/KernelImage.h"

#include <cmath>
#include <functional>
#include <memory>

namespace flashc {

/// A kernel that can be tried.
class Trial {
public:
  virtual ~Trial() = default;
  /// Run it and compare its results with the oracle's.
  virtual llvm::Error check() = 0;
  /// Milliseconds of a launch.
  virtual llvm::Expected<double> time() = 0;
};

/// How candidates become trials: on a GPU, or in a test that makes them up.
struct TuneSteps {
  /// Called by many threads at once.
  std::function<llvm::Expected<KernelImage>(const Schedule &)> compile;
  std::function<llvm::Expected<std::unique_ptr<Trial>>(const KernelImage &)>
      load;
  /// Called after each candidate that was compiled, and after each that was
  /// tried; by many threads at once.
  std::function<void()> progress = [] {};
};

/// What came of a candidate.
struct TuneOutcome {
  Candidate candidate;
  /// NaN where it has no time of its own; then `why` says why.
  double milliseconds = NAN;
  std::string why;
  /// Its results were wrong: the compiler has a fault.
  bool isWrong = false;
};

struct TuneResult {
  /// In the order of the candidates.
  std::vector<TuneOutcome> outcomes;
  /// The fastest one that is right; -1 if there is none.
  int best = -1;
};

/// Compile all candidates at once on the host's cores, then try one after
/// another: its results are compared with the oracle's and, if they are right,
/// it is timed. A kernel that is an earlier candidate's over again is not. The
/// three fastest are timed twice more in turns, as clocks and heat drift, and
/// each keeps its best time.
TuneResult tune(const std::vector<Candidate> &candidates,
                const TuneSteps &steps);

/// The outcomes as a Markdown table, the fastest first. `flops` are those of
/// one launch, `print` gives a schedule's text.
std::string tuneTable(const TuneResult &result, double flops,
                      llvm::function_ref<std::string(const Schedule &)> print);

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_TUNE_H
