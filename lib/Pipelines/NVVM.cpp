// warp to the LLVM and NVVM dialects.
#include "flashc/Pipelines/Pipelines.h"

#include "flashc/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void flashc::buildNVVMPipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  ConvertWarpToNVVMOptions toNVVM;
  toNVVM.arch = options.arch;
  toNVVM.alignment = options.alignment;
  manager.addPass(createConvertWarpToNVVM(toNVVM));
  manager.addPass(createExpandMath());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertScalarsToLLVM());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

namespace {
struct NVVMOptions : PassPipelineOptions<NVVMOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("target"),
                           llvm::cl::init("sm_80")};
  Option<int64_t> alignment{
      *this, "alignment",
      llvm::cl::desc("bytes that bases and strides are multiples of"),
      llvm::cl::init(0)};
};
} // namespace

void flashc::registerNVVMPipeline() {
  PassPipelineRegistration<NVVMOptions>(
      "warp-to-nvvm", "warp ops to the LLVM and NVVM dialects",
      [](OpPassManager &manager, const NVVMOptions &options) {
        PipelineOptions pipeline;
        pipeline.arch = options.arch;
        pipeline.alignment = options.alignment;
        buildNVVMPipeline(manager, pipeline);
      });
}
