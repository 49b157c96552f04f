//===- Bench.h - Time one cell of the grid ----------------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_BENCH_H
#define FLASHC_TOOLS_FLASHC_BENCH_BENCH_H

#include "flashc/Reference/Problem.h"
#include "flashc/Runtime/Module.h"

#include <algorithm>
#include <map>

namespace flashc {

inline constexpr int64_t kTokens = 16384;
inline constexpr int64_t kWidth = 2048; // heads * head dim

/// One problem of the grid.
struct Cell {
  std::string dtype; // fp16 or bf16
  int64_t dim, length;
  bool causal;
  int64_t batch() const { return std::max<int64_t>(kTokens / length, 1); }
  int64_t heads() const { return std::max<int64_t>(kWidth / dim, 1); }
  double flops() const {
    return 4.0 * batch() * heads() * length * length * dim / (causal ? 2 : 1);
  }
};

/// A candidate: the text and what it says.
struct Tiles {
  std::string text, tiles;
  int64_t stages = 0, warps = 0;
};

/// Arrays in layout bshd, used again by every cell of the same size and type:
/// the shape of a cell is only another way to count the same numbers.
struct Arrays {
  reference::AttentionProblem problem;
  DeviceBuffer buffers[4], lse;
  std::vector<ArrayArg> args;
};

class Bench {
public:
  Bench(const Device &device, std::string arch, bool check)
      : device(device), arch(std::move(arch)), check(check) {}
  /// Time each candidate and print its line; a candidate that cannot run prints
  /// nan, and why on standard error.
  llvm::Error run(const Cell &cell, const std::vector<Tiles> &candidates);

private:
  llvm::Error runOne(const Cell &cell, const Tiles &candidate,
                     const std::string &impl, const Arrays &arrays);
  /// Compiled once; null, with the reason on standard error, if it cannot be.
  const Module *find(const std::string &key, const Cell &cell,
                     const Tiles &candidate);
  llvm::Expected<KernelImage> compile(const Cell &cell, const Tiles &candidate);
  llvm::Expected<const Module *> load(const std::string &key, const Cell &cell,
                                      const Tiles &candidate);
  llvm::Expected<Arrays *> prepare(const Cell &cell);
  llvm::Error upload(reference::Element element, int64_t count, Arrays &arrays);
  llvm::Expected<double> time(const Module &module,
                              llvm::ArrayRef<ArrayArg> args);
  llvm::Error checkResult(const Arrays &arrays, const std::string &what);
  /// Standard normal numbers; the period is prime, so rows do not repeat.
  static void fill(reference::HostTensor &tensor, size_t start);

  const Device &device;
  std::string arch;
  bool check;
  std::map<std::string, Module> modules; // by PTX
  std::map<std::string, const Module *> kernels;
  std::map<std::pair<std::string, int64_t>, Arrays> allArrays;
};

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_BENCH_H
