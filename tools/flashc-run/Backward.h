// flashc-run --backward: gradients on arrays, behind the forward.
#ifndef FLASHC_TOOLS_FLASHC_RUN_BACKWARD_H
#define FLASHC_TOOLS_FLASHC_RUN_BACKWARD_H

#include "Execute.h"

namespace flashc::tools {

/// Paths from the command line; empty: not given.
struct GradientPaths {
  std::string outputGradient, lseGradient; // read
  std::string query, key, value;           // written
  /// Name of a captured tensor and path: written.
  std::vector<std::pair<std::string, std::string>> captures;
};

/// What a backward reads beside the forward's inputs and results.
struct GradientInputs {
  NpyArray outputGradient;
  std::optional<NpyArray> lseGradient;
  /// Numbers of the captures whose gradients are wanted, ascending.
  std::vector<int64_t> gradients;
};

struct GradientResults {
  NpyArray query, key, value;
  /// In the order of `GradientInputs::gradients`.
  std::vector<NpyArray> captures;
  std::optional<Timing> timing;
};

/// Makes the description return its LSE, which the backward needs.
void returnLse(Inputs &inputs);

/// Read and check what `paths` name. The first thing that does not fit is the
/// error.
llvm::Expected<GradientInputs> readGradientInputs(const GradientPaths &paths,
                                                  Inputs &inputs);

/// In this process, from the forward's results.
llvm::Expected<GradientResults>
runBackwardOnCPU(Inputs &inputs, GradientInputs &gradients, Results &forward,
                 CompileOptions options, bool time);

/// Write the gradients that have a path.
llvm::Error writeGradients(const GradientPaths &paths,
                           const GradientInputs &gradients,
                           const GradientResults &results,
                           const Inputs &inputs);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_BACKWARD_H
