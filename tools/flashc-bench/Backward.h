//===- Backward.h - Time gradients of a cell --------------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_BACKWARD_H
#define FLASHC_TOOLS_FLASHC_BENCH_BACKWARD_H

#include "Bench.h"

#include "flashc/Runtime/Program.h"

namespace flashc {

/// Times whole backwards (all kernels, and the zeros that they ask for) on what
/// a forward of the same target made of the cell. FLOPs are 2.5 times those of
/// the forward, as the papers count.
class BackwardBench {
public:
  BackwardBench(const Device &device, std::string arch, bool deterministic)
      : device(device), arch(std::move(arch)), deterministic(deterministic) {}
  /// As `Bench::run`.
  llvm::Error run(const Cell &cell, const std::vector<Tiles> &candidates,
                  tools::ProgressBar *bar = nullptr);

private:
  llvm::Expected<Arrays *> prepare(const Cell &cell);
  llvm::Error addGradients(const Cell &cell);
  llvm::Expected<double> runOne(const Cell &cell, const Tiles &candidate,
                                const std::string &key);
  llvm::Expected<const Program *> load(const std::string &key, const Cell &cell,
                                       const Tiles &candidate);
  llvm::Error grow(DeviceBuffer &buffer, size_t bytes, bool withNumbers);
  void note(const std::string &text);

  const Device &device;
  std::string arch;
  bool deterministic;
  tools::ProgressBar *bar = nullptr;
  std::map<std::string, Program> programs;
  std::map<std::string, Arrays> allArrays; // by type
  llvm::StringMap<ArrayArg> arrays;        // of the cell that runs
  DeviceBuffer outputGradient, gradients, workspace;
};

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_BACKWARD_H
