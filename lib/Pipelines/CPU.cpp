// Expanded tile to the LLVM dialect for the host. lib/Target/CPU takes it from
// there.
#include "flashc/Pipelines/Pipelines.h"

#include "flashc/Conversion/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void flashc::buildCPUPipeline(OpPassManager &manager,
                              const PipelineOptions &options) {
  ConvertTileToCPUOptions toCPU;
  toCPU.vectorBits = options.vectorBits;
  manager.addPass(createConvertTileToCPU(toCPU));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createCpuExpandMath());
  manager.addPass(createLowerAffinePass());
  manager.addPass(arith::createArithExpandOpsPass());
  manager.addPass(createSCFToControlFlowPass());
  // What LLVM has an intrinsic for, then what only libm has, which takes
  // vectors apart.
  ConvertMathToLLVMPassOptions math;
  math.approximateLog1p = false;
  manager.addPass(createConvertMathToLLVMPass(math));
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
}

namespace {
struct CPUOptions : PassPipelineOptions<CPUOptions> {
  Option<int64_t> vectorBits{*this, "vector-bits",
                             llvm::cl::desc("width of a vector register"),
                             llvm::cl::init(256)};
};
} // namespace

void flashc::registerCPUPipeline() {
  PassPipelineRegistration<CPUOptions>(
      "tile-to-cpu", "expanded tile ops to the LLVM dialect for the host",
      [](OpPassManager &manager, const CPUOptions &options) {
        PipelineOptions pipeline;
        pipeline.arch = "cpu";
        pipeline.vectorBits = options.vectorBits;
        buildCPUPipeline(manager, pipeline);
      });
}
