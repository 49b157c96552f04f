// The flags that describe attention and its target, for flashc and flashc-run.
#ifndef FLASHC_TOOLS_COMMON_FLAGS_H
#define FLASHC_TOOLS_COMMON_FLAGS_H

#include "flashc/Compiler/Compiler.h"

#include "llvm/Support/CommandLine.h"

namespace flashc::tools {

/// The one category of our flags: all others are refused.
llvm::cl::OptionCategory &category();

/// Parse the command line. LLVM registers flags of its own in every binary,
/// many of which change generated code; they are taken out first.
void parseFlags(int argc, char **argv, llvm::StringRef overview);

/// Whether the flag of this name stands on the command line.
bool isGiven(llvm::StringRef flag);

/// Input file; empty if flags describe the attention.
llvm::StringRef inputFile();

/// What the flags describe. Fails where a flag and an input file say the same.
llvm::Expected<AttentionSpec> specFromFlags();
CompileOptions optionsFromFlags();

/// Fails if one of `flags` is given without --backward.
llvm::Error checkBackwardFlags(llvm::ArrayRef<llvm::StringRef> flags);

/// The options with the schedule that the file of --tuned has for the module;
/// `gpu` is the GPU's name, empty where there is none: then --gpu says it.
/// Where the file has no entry, a remark on standard error says so. Without
/// --tuned, the options.
llvm::Expected<CompileOptions> withTuned(mlir::ModuleOp module,
                                         const CompileOptions &options,
                                         llvm::StringRef gpu);

/// `program: error: text` on standard error; 1, the exit code.
int fail(llvm::Error error);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_COMMON_FLAGS_H
