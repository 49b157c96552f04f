// warp to the LLVM and NVVM dialects.
#include "flashc/Pipelines/Pipelines.h"

#include "flashc/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

void flashc::buildNVVMPipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  ConvertWarpToNVVMOptions toNVVM;
  toNVVM.arch = options.arch;
  toNVVM.alignment = options.alignment;
  manager.addPass(createConvertWarpToNVVM(toNVVM));
  manager.addPass(createExpandMath());
  manager.addPass(createSCFToControlFlowPass());
  // Lengths are below 2^31; addresses are i64 by construction.
  ArithToLLVMConversionPassOptions arith;
  arith.indexBitwidth = 32;
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass(arith));
  ConvertControlFlowToLLVMPassOptions controlFlow;
  controlFlow.indexBitwidth = 32;
  manager.addPass(createConvertControlFlowToLLVMPass(controlFlow));
  manager.addPass(createReconcileUnrealizedCastsPass());
}
