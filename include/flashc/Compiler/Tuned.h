//===- Tuned.h - Schedules that were measured -------------------*- C++ -*-===//
//
// A file of the fastest schedules that `flashc-bench --tune` found. Nothing
// reads one by itself: who wants a measured schedule passes the file.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_COMPILER_TUNED_H
#define FLASHC_COMPILER_TUNED_H

#include "flashc/Compiler/Compiler.h"

#include "llvm/Support/JSON.h"

namespace flashc {

/// Versions of flashc and LLVM: kernels of other compilers are other kernels.
std::string compilerVersion();

/// The lengths that share a schedule: the next power of two, 128 to 65536; 0 is
/// the length that "auto" takes then.
int64_t getLengthClass(int64_t length);

/// Everything that decides which schedule is the fastest.
struct TuneKey {
  /// "sm_90a"; and the GPU as its driver calls it, "NVIDIA H200", or empty
  /// where it is not known.
  std::string arch, gpu;
  /// Bytes of on-chip memory of one block, and of alignment.
  int64_t sram = 0, alignment = 16;
  int64_t headDim = 0, valueHeadDim = 0;
  /// "f16"; a mask as text, simplified; the score region as text or "none".
  std::string dtype, mask, score;
  bool kvLengths = false;
  int64_t lengthClass = 0;
  std::string compiler;

  bool operator==(const TuneKey &) const = default;
  /// "sm_90a f16 d128/128 causal, lengths to 8192": for messages.
  std::string describe() const;
};

/// The key of a module's attention on a target. Fails as `lowerTo` does.
llvm::Expected<TuneKey> getTuneKey(mlir::ModuleOp module,
                                   const CompileOptions &options,
                                   llvm::StringRef gpu);

/// A schedule that was measured.
struct TunedEntry {
  TuneKey key;
  /// `#tile.schedule<...>`
  std::string schedule;
  /// For people: what was timed, and the milliseconds of this schedule and of
  /// the one that the model had chosen, 0 if that did not run.
  std::string problem;
  double milliseconds = 0, modelMilliseconds = 0;
};

/// The entries of one file, at most one a key.
class TunedSchedules {
public:
  /// Fails on a file that cannot be read, that is not such a file, whose
  /// schedules do not parse and that has a key twice, naming file and entry.
  static llvm::Expected<TunedSchedules> read(llvm::StringRef path);
  /// As `read`, from a text; `path` is for messages.
  static llvm::Expected<TunedSchedules> parse(llvm::StringRef text,
                                              llvm::StringRef path);

  /// The entry of this key, null if there is none. A key without a GPU fits
  /// that of any, but it is an error if there are several.
  llvm::Expected<const TunedEntry *> find(const TuneKey &key) const;
  /// In the place of the entry of the same key, if there is one.
  void put(TunedEntry entry);
  llvm::ArrayRef<TunedEntry> entries() const { return list; }

  llvm::json::Value toJSON() const;
  /// Fails as `writeFile` does.
  llvm::Error write(llvm::StringRef path) const;

private:
  std::string source = "the file";
  std::vector<TunedEntry> list;
};

/// `options` with the stored schedule of what the module describes, or as they
/// were: then `remark` says that the model chooses. Fails where the options ask
/// for a schedule themselves.
struct TunedChoice {
  CompileOptions options;
  std::string remark;
};
llvm::Expected<TunedChoice> chooseTuned(mlir::ModuleOp module,
                                        const CompileOptions &options,
                                        const TunedSchedules &schedules,
                                        llvm::StringRef gpu);

} // namespace flashc

#endif // FLASHC_COMPILER_TUNED_H
