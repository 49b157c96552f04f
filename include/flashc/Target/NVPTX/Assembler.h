// PTX to cubin: ptxas as a program or as a library in the process.
#ifndef FLASHC_TARGET_NVPTX_ASSEMBLER_H
#define FLASHC_TARGET_NVPTX_ASSEMBLER_H

#include "flashc/Support/TargetInfo.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace flashc {

/// What an assembler made of one kernel.
struct Assembled {
  std::string cubin;
  int64_t registers = 0;                   // a thread
  int64_t spillStores = 0, spillLoads = 0; // bytes a thread
  std::string log;
};

/// Makes cubins. Many threads may use one at once.
class Assembler {
public:
  virtual ~Assembler() = default;

  /// "ptxas 13.0.88": what makes the code, with its version. Two of one name
  /// make the same code, so the name belongs in a cache key.
  const std::string &name() const { return title; }

  /// Assembles `ptx` at full optimisation for `target`. Fails with the
  /// assembler's own words when it refuses, and on a performance loss as below.
  llvm::Expected<Assembled> assemble(llvm::StringRef ptx,
                                     const TargetInfo &target) const;

protected:
  explicit Assembler(std::string title) : title(std::move(title)) {}
  struct Output {
    bool ok = false;
    std::string cubin, log;
  };
  /// `options` as ptxas takes them. An error says that it could not be run;
  /// what it refuses is in the log.
  virtual llvm::Expected<Output>
  run(llvm::StringRef ptx, llvm::ArrayRef<std::string> options) const = 0;

private:
  std::string title;
};

/// The program at `path`. Asks it for its version, which takes some
/// milliseconds; fails where it does not answer as ptxas does.
llvm::Expected<std::unique_ptr<Assembler>> openPtxas(llvm::StringRef path);

/// nvPTXCompiler, NVIDIA's ptxas as a library, from a shared library of that
/// name or path. Fails with the loader's reason.
llvm::Expected<std::unique_ptr<Assembler>>
openNvPTXCompiler(llvm::StringRef library);

enum class AssemblerKind {
  /// The first of the two below that is found; else none.
  Auto,
  NvPTXCompiler,
  Ptxas,
  /// None: the driver compiles the PTX when it is loaded.
  Driver
};

/// Where to look. An empty path is not looked at.
struct AssemblerOptions {
  AssemblerKind kind = AssemblerKind::Auto;
  std::string nvPTXCompiler, ptxas;
};

/// What the options ask for; null where that is none. Fails where one is asked
/// for by kind and cannot be opened.
llvm::Expected<std::unique_ptr<Assembler>>
openAssembler(const AssemblerOptions &options);

/// The first message of ptxas' `log` that says the tensor cores were not used
/// as written: products run one after the other, or the registers that roles
/// deal to each other stay where they are. Such a kernel is right and several
/// times slower. Recognised by its words, as the numbers change from one ptxas
/// to the next. Empty if there is none.
std::string findPerformanceLoss(llvm::StringRef log);

} // namespace flashc

#endif // FLASHC_TARGET_NVPTX_ASSEMBLER_H
