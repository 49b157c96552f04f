#ifndef FLASHC_ATTN_DIALECT
#define FLASHC_ATTN_DIALECT

include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::flashc::attn";
  let summary = "Level 1: which attention is computed";
  let description = [{
    `attn.forward` on tensors, and `attn.backward` for its gradients. They say what is computed (queries, keys, values, scale,
    mask, score function, outputs) and nothing about how: no tile size, no thread, no architecture.

    Conventions, here and nowhere else:

    * LSE is the natural logarithm, f32, `ln(sum_j exp(x_ij))` over the visible keys `j` of row `i`, where `x` is the
      score after scale and score function.
    * A row with no visible key has `O = 0` and `LSE = -inf`, and a zero gradient.
    * A masked score is a true `-inf`, never a finite stand-in. The score function comes before the mask.
    * K and V of a masked or out-of-range key never reach a result, even when they hold NaN.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

#endif
