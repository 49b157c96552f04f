//===- Bench.h - Time one cell of the grid ----------------------*- C++ -*-===//
#ifndef FLASHC_TOOLS_FLASHC_BENCH_BENCH_H
#define FLASHC_TOOLS_FLASHC_BENCH_BENCH_H

#include "Arrays.h"

#include "common/ProgressBar.h"

#include "flashc/Analysis/Candidates.h"
#include "flashc/Compiler/Tuned.h"

#include <map>

namespace flashc {

/// A choice of tiles: the text and what it says.
struct Tiles {
  std::string text, tiles;
  int64_t stages = 0, warps = 0;
  /// Whether a tuned schedule is taken where there is one ("auto").
  bool mayBeTuned = false;
  /// The whole schedule as text, instead.
  std::string schedule = {};
};

/// What the compiler is told of a cell and a choice of tiles.
CompileOptions makeOptions(const std::string &arch, const Cell &cell,
                           const Tiles &candidate);

/// Best of 3 rounds of 12 back-to-back launches after 3 to warm up, in
/// milliseconds a launch.
llvm::Expected<double> timeLaunches(const Device &device,
                                    llvm::function_ref<llvm::Error()> launch);
llvm::Expected<double> timeKernel(const Device &device, const Module &module,
                                  llvm::ArrayRef<ArrayArg> args);

/// At most `most` schedules for the cell, as `listSchedules` ranks them.
llvm::Expected<std::vector<Candidate>>
listCandidates(const Cell &cell, const CompileOptions &options, size_t most);

/// First line of the output.
inline constexpr llvm::StringLiteral kHeader =
    "impl,dtype,dir,hdim,seqlen,batch,heads,causal,ms,tflops,first_call_s,"
    "hdim_v,kv_heads,mask,score";

/// One line of the output. `first` is in seconds, NaN where it was not taken;
/// `flops` those of a launch. The bar, if any, is drawn behind it.
void printLine(const Cell &cell, const std::string &impl,
               llvm::StringRef direction, double ms, double first, double flops,
               tools::ProgressBar *bar);

class Bench {
public:
  /// `tuned`, if given, has schedules for "auto"; Q is normal with standard
  /// deviation `queryScale`.
  Bench(const Device &device, std::string arch, bool check,
        const TunedSchedules *tuned = nullptr, double queryScale = 1)
      : device(device), arch(std::move(arch)), check(check), tuned(tuned),
        queryScale(queryScale) {}
  /// Time each candidate and print its line; what cannot run (a candidate that
  /// does not compile, arrays that do not fit the device) prints nan, and why
  /// as a note.
  llvm::Error run(const Cell &cell, const std::vector<Tiles> &candidates,
                  tools::ProgressBar *bar = nullptr);
  /// Time at most `most` schedules of the cell, print their table and put the
  /// fastest into `schedules`. The bar is moved on 2 * `most` steps. False
  /// where none could run or one gave a wrong result.
  llvm::Expected<bool> tuneCell(const Cell &cell, size_t most,
                                TunedSchedules &schedules,
                                tools::ProgressBar &bar);

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
  /// The arrays of the cell's type, with room for it.
  llvm::Expected<Arrays *> prepare(const Cell &cell);
  void note(const std::string &text);

  const Device &device;
  std::string arch;
  bool check;
  const TunedSchedules *tuned;
  double queryScale;
  tools::ProgressBar *bar = nullptr;
  std::map<std::string, Module> modules; // by PTX
  std::map<std::string, const Module *> kernels;
  std::map<std::string, Arrays> allArrays; // by type
};

} // namespace flashc

#endif // FLASHC_TOOLS_FLASHC_BENCH_BENCH_H
