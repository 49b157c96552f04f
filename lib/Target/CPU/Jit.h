// LLVM IR to code in this process.
#ifndef FLASHC_LIB_TARGET_CPU_JIT_H
#define FLASHC_LIB_TARGET_CPU_JIT_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

namespace flashc {

/// Symbol of the function that takes the arguments of kernel number `kernel` as
/// an array.
std::string packedEntry(size_t kernel);

/// Compiles `module`, adding a packed entry for each of `kernels`, which have a
/// C interface (llvm.emit_c_interface).
llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>>
compileForHost(mlir::ModuleOp module,
               llvm::ArrayRef<mlir::LLVM::LLVMFuncOp> kernels);

} // namespace flashc

#endif // FLASHC_LIB_TARGET_CPU_JIT_H
