// PTX to cubin through ptxas.
#include "flashc/Target/NVPTX.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace flashc {

std::string findPtxas() {
  if (auto path = sys::findProgramByName("ptxas"))
    return *path;
  if (auto path = sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *path;
  return "";
}

// The number before ` what` in a line of ptxas -v, or 0.
static int64_t numberBefore(StringRef log, StringRef what) {
  SmallVector<StringRef> matches;
  int64_t value = 0;
  if (Regex(("([0-9]+) " + what).str()).match(log, &matches))
    matches[1].getAsInteger(10, value);
  return value;
}

std::string findPerformanceLoss(StringRef log) {
  SmallVector<StringRef> lines;
  log.split(lines, '\n');
  for (StringRef line : lines) {
    bool isLoss = line.contains("Potential Performance Loss") &&
                  (line.contains("wgmma") || line.contains("setmaxnreg"));
    if (!isLoss)
      continue;
    // Behind "ptxas info    : " or "ptxas warning : ".
    size_t number = line.find("(C");
    return line.substr(number == StringRef::npos ? 0 : number).trim().str();
  }
  return "";
}

Expected<PtxasResult> assemble(StringRef ptx, const TargetInfo &target) {
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    return createStringError(
        "cannot make a cubin: ptxas is neither on PATH nor in "
        "/usr/local/cuda/bin; install the CUDA toolkit or emit ptx instead");
  SmallString<128> input, output, log;
  scope_exit cleanUp([&] {
    for (auto &path : {input, output, log})
      if (!path.empty())
        sys::fs::remove(path);
  });
  for (auto [path, suffix] :
       {std::pair{&input, "ptx"}, {&output, "cubin"}, {&log, "log"}})
    if (std::error_code error =
            sys::fs::createTemporaryFile("flashc", suffix, *path))
      return createStringError(error, "cannot make a temporary file: " +
                                          error.message());
  std::error_code error;
  {
    raw_fd_ostream stream(input, error);
    stream << ptx;
  }
  std::string arch = "-arch=" + target.arch;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log),
                                          StringRef(log)};
  std::string message;
  int code = sys::ExecuteAndWait(
      ptxas, {ptxas, "-v", "-O3", arch, input, "-o", output}, std::nullopt,
      redirects, /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  PtxasResult result;
  if (auto text = MemoryBuffer::getFile(log))
    result.log = (*text)->getBuffer().str();
  if (code != 0)
    return createStringError("ptxas refused the kernel for " + target.arch +
                             ": " + message + result.log);
  if (std::string loss = findPerformanceLoss(result.log); !loss.empty())
    return createStringError("ptxas slows the kernel down for " + target.arch +
                             ": " + loss +
                             "; choose a smaller key block (--tiles)");
  auto cubin = MemoryBuffer::getFile(output);
  if (!cubin)
    return createStringError(cubin.getError(), "cannot read ptxas' output: " +
                                                   cubin.getError().message());
  result.cubin = (*cubin)->getBuffer().str();
  result.registers = numberBefore(result.log, "registers");
  result.spillStores = numberBefore(result.log, "bytes spill stores");
  result.spillLoads = numberBefore(result.log, "bytes spill loads");
  return result;
}

} // namespace flashc
