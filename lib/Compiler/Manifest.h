// The manifest of a kernel, filled in as the levels go by.
#ifndef FLASHC_LIB_COMPILER_MANIFEST_H
#define FLASHC_LIB_COMPILER_MANIFEST_H

#include "flashc/Compiler/Compiler.h"

namespace flashc {

/// What the `attn` level knows: dims, scale, mask, and the parameters' kinds
/// and names in the order of the kernel's arguments.
llvm::Expected<Manifest> describeAttn(mlir::ModuleOp module);

/// Adds what the `tile` level knows: schedule, and the parameters' types. Fails
/// if the module does not hold exactly one kernel. `name` gets its symbol.
llvm::Error describeTile(mlir::ModuleOp module, const CompileOptions &options,
                         Manifest &manifest, std::string &name);

/// Adds the shared bytes of the `warp` level.
void describeWarp(mlir::ModuleOp module, Manifest &manifest);

/// What the `attn` level knows of gradients.
llvm::Expected<ProgramManifest> describeBackward(mlir::ModuleOp module);

/// Adds the kernels and workspaces of the `tile` level.
void describeKernels(mlir::ModuleOp module, ProgramManifest &program);

/// Adds the blocks of the `warp` level.
void describeBlocks(mlir::ModuleOp module, const TargetInfo &target,
                    ProgramManifest &program);

/// One kernel of a program as an image has it.
Manifest describeKernel(const ProgramManifest &program,
                        const ProgramKernel &kernel,
                        const CompileOptions &options);

} // namespace flashc

#endif // FLASHC_LIB_COMPILER_MANIFEST_H
