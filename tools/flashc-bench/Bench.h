//===- Bench.h - Time one cell of the grid ----------------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_BENCH_H
#define FLASHC_TOOLS_FLASHC_BENCH_BENCH_H

#include "Arrays.h"

#include "common/ProgressBar.h"

#include <map>

namespace flashc {

/// A candidate: the text and what it says.
struct Tiles {
  std::string text, tiles;
  int64_t stages = 0, warps = 0;
};

/// First line of the output.
inline constexpr llvm::StringLiteral kHeader =
    "impl,dtype,dir,hdim,seqlen,batch,heads,causal,ms,tflops,first_call_s,"
    "hdim_v,kv_heads,mask,score";

class Bench {
public:
  Bench(const Device &device, std::string arch, bool check)
      : device(device), arch(std::move(arch)), check(check) {}
  /// Time each candidate and print its line; what cannot run (a candidate that
  /// does not compile, arrays that do not fit the device) prints nan, and why
  /// as a note.
  llvm::Error run(const Cell &cell, const std::vector<Tiles> &candidates,
                  tools::ProgressBar *bar = nullptr);

private:
  struct Times {
    double ms, first; // milliseconds a launch; seconds to the first result
  };
  llvm::Expected<Times> runOne(const Cell &cell, const Tiles &candidate,
                               const std::string &key, const Arrays &arrays);
  /// Compiled once; null, with the reason as a note, if it cannot be.
  const Module *find(const std::string &key, const Cell &cell,
                     const Tiles &candidate);
  llvm::Expected<KernelImage> compile(const Cell &cell, const Tiles &candidate);
  llvm::Expected<const Module *> load(const std::string &key, const Cell &cell,
                                      const Tiles &candidate);
  llvm::Expected<double> time(const Module &module,
                              llvm::ArrayRef<ArrayArg> args);
  void note(const std::string &text);
  void print(const Cell &cell, const std::string &impl, Times times);

  const Device &device;
  std::string arch;
  bool check;
  tools::ProgressBar *bar = nullptr;
  std::map<std::string, Module> modules; // by PTX
  std::map<std::string, const Module *> kernels;
  std::map<std::string, Arrays> allArrays; // by type
};

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_BENCH_H
