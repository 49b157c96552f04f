// What all assemblers have in common: options, and the reading of their log.
#include "flashc/Target/NVPTX/Assembler.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Regex.h"

using namespace flashc;
using llvm::StringRef;

// The number before ` what` in a line of ptxas -v, or 0.
static int64_t numberBefore(StringRef log, StringRef what) {
  llvm::SmallVector<StringRef> matches;
  int64_t value = 0;
  if (llvm::Regex(("([0-9]+) " + what).str()).match(log, &matches))
    matches[1].getAsInteger(10, value);
  return value;
}

std::string flashc::findPerformanceLoss(StringRef log) {
  llvm::SmallVector<StringRef> lines;
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

llvm::Expected<Assembled> Assembler::assemble(StringRef ptx,
                                              const TargetInfo &target) const {
  llvm::Expected<Output> output =
      run(ptx, {"-v", "-O3", "-arch=" + target.arch});
  if (!output)
    return output.takeError();
  if (!output->ok)
    return makeError("{} refused the kernel for {}: {}", title, target.arch,
                     StringRef(output->log).trim().str());
  if (std::string loss = findPerformanceLoss(output->log); !loss.empty())
    return makeError("{} slows the kernel down for {}: {}; choose a smaller "
                     "key block (--tiles)",
                     title, target.arch, loss);
  Assembled result;
  result.cubin = std::move(output->cubin);
  result.registers = numberBefore(output->log, "registers");
  result.spillStores = numberBefore(output->log, "bytes spill stores");
  result.spillLoads = numberBefore(output->log, "bytes spill loads");
  result.log = std::move(output->log);
  return result;
}

static llvm::Expected<std::unique_ptr<Assembler>>
openKind(AssemblerKind kind, const AssemblerOptions &options) {
  if (kind == AssemblerKind::NvPTXCompiler)
    return openNvPTXCompiler(options.nvPTXCompiler);
  return openPtxas(options.ptxas);
}

llvm::Expected<std::unique_ptr<Assembler>>
flashc::openAssembler(const AssemblerOptions &options) {
  if (options.kind == AssemblerKind::Driver)
    return nullptr;
  if (options.kind != AssemblerKind::Auto)
    return openKind(options.kind, options);
  for (auto [kind, path] :
       {std::pair(AssemblerKind::NvPTXCompiler, &options.nvPTXCompiler),
        {AssemblerKind::Ptxas, &options.ptxas}}) {
    if (path->empty())
      continue;
    llvm::Expected<std::unique_ptr<Assembler>> opened = openKind(kind, options);
    if (opened)
      return opened;
    llvm::consumeError(opened.takeError());
  }
  return nullptr;
}
