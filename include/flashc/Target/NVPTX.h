// LLVM dialect to PTX, by LLVM's NVPTX backend. PTX to cubin is in
// NVPTX/Assembler.h.
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

/// How much of LLVM's backend pipeline runs. `Lean` leaves out strength
/// reduction, value numbering and reassociation: attention's addresses are a
/// lane's offset and constants, where these find nothing and take a third of
/// the time. A gradient's main kernel has more addresses than registers:
/// `Full`.
enum class BackendEffort { Lean, Full };

/// The LLVM IR above as text, and its PTX.
llvm::Expected<std::string> translateToLLVMText(mlir::ModuleOp module,
                                                const TargetInfo &target);
llvm::Expected<std::string> translateToPTX(mlir::ModuleOp module,
                                           const TargetInfo &target,
                                           BackendEffort effort);

} // namespace flashc

#endif // FLASHC_TARGET_NVPTX_H
