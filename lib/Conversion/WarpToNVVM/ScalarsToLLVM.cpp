// convert-scalars-to-llvm: after the kernel's loops and branches have become a
// control-flow graph. One conversion for three dialects: a walk over some
// 10,000 ops for each of them would be a tenth of the whole compilation.
#include "flashc/Conversion/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTSCALARSTOLLVM
#include "Conversion/ConversionPasses.h.inc"

namespace {
struct ConvertScalarsToLLVM
    : impl::ConvertScalarsToLLVMBase<ConvertScalarsToLLVM> {
  using Base::Base;
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    // Lengths are below 2^31; addresses are i64 by construction.
    options.overrideIndexBitwidth(32);
    LLVMTypeConverter types(context, options);
    RewritePatternSet patterns(context);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(*context);
    target.addLegalDialect<NVVM::NVVMDialect>();
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace flashc
