// LLVM IR to code in this process.
#ifndef FLASHC_LIB_TARGET_CPU_JIT_H
#define FLASHC_LIB_TARGET_CPU_JIT_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace flashc {

/// Symbol of the function that takes a kernel's arguments as an array.
constexpr llvm::StringLiteral kPackedEntry = "flashc_packed_entry";

/// Compiles `module`, adding `kPackedEntry` for `kernel`, which has a C
/// interface (llvm.emit_c_interface).
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
compileForHost(mlir::ModuleOp module, mlir::LLVM::LLVMFuncOp kernel);

} // namespace flashc

#endif // FLASHC_LIB_TARGET_CPU_JIT_H
