// flashc-run --check: the results beside a reference in double.
#ifndef FLASHC_TOOLS_FLASHC_RUN_VERIFY_H
#define FLASHC_TOOLS_FLASHC_RUN_VERIFY_H

#include "Backward.h"

#include "flashc/Compiler/ScoreFunction.h"
#include "flashc/Reference/Problem.h"

namespace flashc::tools {

/// The arrays as the oracle has them; `score`, if given, must outlive the
/// problem.
reference::AttentionProblem
makeProblem(Inputs &inputs, const std::optional<ScoreFunction> &score);
reference::HostTensor toTensor(const NpyArray &array, const View &view,
                               reference::Element element);
/// The description's score function, if it has one.
llvm::Expected<std::optional<ScoreFunction>> makeScore(Inputs &inputs);

/// One line on how far the results are from the reference; an error where they
/// are further than the rule allows.
llvm::Expected<std::string> verifyResults(Inputs &inputs,
                                          const Results &results);
/// The same for gradients.
llvm::Expected<std::string> verifyGradients(Inputs &inputs,
                                            const GradientInputs &gradients,
                                            const Results &forward,
                                            const GradientResults &results,
                                            CompileOptions options);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_VERIFY_H
