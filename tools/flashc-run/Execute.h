// Compile and run on one of the two targets.
#ifndef FLASHC_TOOLS_FLASHC_RUN_EXECUTE_H
#define FLASHC_TOOLS_FLASHC_RUN_EXECUTE_H

#include "Inputs.h"

#include "flashc/Compiler/Compiler.h"

namespace flashc::tools {

struct Timing {
  int64_t runs = 0;
  /// Of one run; the median on the CPU, the mean on a GPU.
  double milliseconds = 0;
  std::string device;
};

struct Results {
  NpyArray output;
  /// Absent where the description does not return it.
  std::optional<NpyArray> lse;
  std::optional<Timing> timing;
};

/// Runs once to warm up, then for about a second, at least three times.
llvm::Expected<Timing> timeOnCPU(llvm::function_ref<llvm::Error()> run);

/// In this process.
llvm::Expected<Results> runOnCPU(Inputs &inputs, CompileOptions options,
                                 bool time);
/// On CUDA device 0. Without `archGiven` the code is for the newest known arch
/// that the device can run.
llvm::Expected<Results> runOnCUDA(Inputs &inputs, CompileOptions options,
                                  bool archGiven, bool time);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_EXECUTE_H
