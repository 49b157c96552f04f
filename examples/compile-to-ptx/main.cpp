// Compile causal attention to PTX with flashc as a library, and say what a
// launch of it needs.
#include "flashc/Compiler/Compiler.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

static llvm::Expected<flashc::KernelImage> compile() {
  flashc::AttentionSpec spec;
  spec.headDim = 128;
  spec.dtype = "bf16";
  spec.mask = "causal & window(1023, 0)";

  std::unique_ptr<mlir::MLIRContext> context = flashc::makeContext();
  auto module = flashc::buildAttnModule(spec, *context);
  if (!module)
    return module.takeError();

  flashc::CompileOptions options;
  options.arch = "sm_80";
  return flashc::compileToGPU(**module, options);
}

int main() {
  llvm::Expected<flashc::KernelImage> kernel = compile();
  if (!kernel) {
    llvm::errs() << "error: " << llvm::toString(kernel.takeError()) << "\n";
    return 1;
  }
  const flashc::Manifest &manifest = kernel->manifest;
  llvm::outs() << kernel->name << " for " << kernel->arch << ": blocks of "
               << manifest.qBlock << " queries, " << manifest.threads()
               << " threads, " << manifest.sharedBytes
               << " bytes of shared memory\n"
               << kernel->ptx;
  return 0;
}
