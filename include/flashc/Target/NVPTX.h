// LLVM dialect to PTX (LLVM's NVPTX backend) and PTX to cubin (ptxas).
#ifndef FLASHC_TARGET_NVPTX_H
#define FLASHC_TARGET_NVPTX_H

#include "flashc/Support/TargetInfo.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
} // namespace llvm
namespace mlir {
class ModuleOp;
}

namespace flashc {

/// LLVM IR of a module in the LLVM and NVVM dialects, optimised for `target` (a
/// GPU). Fails when an op has no translation or the result does not verify.
llvm::Expected<std::unique_ptr<llvm::Module>>
translateToLLVM(mlir::ModuleOp module, const TargetInfo &target,
                llvm::LLVMContext &context);

/// The LLVM IR above as text, and its PTX.
llvm::Expected<std::string> translateToLLVMText(mlir::ModuleOp module,
                                                const TargetInfo &target);
llvm::Expected<std::string> translateToPTX(mlir::ModuleOp module,
                                           const TargetInfo &target);

/// What ptxas made of one kernel.
struct PtxasResult {
  std::string cubin;
  int64_t registers = 0;                   // a thread
  int64_t spillStores = 0, spillLoads = 0; // bytes a thread
  std::string log;
};

/// The path of ptxas: on the search path, else under the CUDA toolkit's usual
/// prefix; empty if there is none.
std::string findPtxas();

/// The first message of ptxas' `log` that says the tensor cores were not used
/// as written: products run one after the other, or the registers that roles
/// deal to each other stay where they are. Such a kernel is right and several
/// times slower. Recognised by its words, as the numbers change from one ptxas
/// to the next. Empty if there is none.
std::string findPerformanceLoss(llvm::StringRef log);

/// Assembles `ptx` with ptxas -O3 for `target`. Fails when there is no ptxas,
/// with ptxas' own words when it refuses, and on a performance loss as above.
llvm::Expected<PtxasResult> assemble(llvm::StringRef ptx,
                                     const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_TARGET_NVPTX_H
