#ifndef FLASHC_ATTN_PASSES
#define FLASHC_ATTN_PASSES

include "mlir/Pass/PassBase.td"

def AttnSimplifyMask : Pass<"attn-simplify-mask"> {
  let summary = "Bring masks to a canonical form";
  let description = [{
    One spelling for one mask, so that equal masks get equal kernels and equal cache keys: nested `and`/`or` flattened,
    duplicates dropped, `not` pushed to the leaves, a window unbounded on both sides removed, `window(-1, 0)` written as
    `causal`, windows and causals that imply one another under `and`/`or` merged, `key_length` dropped from a top-level `and` (the
    operand implies it).
    ```mlir
    // Before
    attn.forward %q, %k, %v mask(#attn.and<[#attn.window<left = -1, right = 0>, #attn.causal]>)
    // After
    attn.forward %q, %k, %v mask(#attn.causal)
    ```
  }];
}

def AttnDeriveBackward : Pass<"attn-derive-backward", "::mlir::ModuleOp"> {
  let summary = "From a function that computes attention to one that computes its gradients";
  let description = [{
    A `func.func` that holds one `attn.forward` becomes `NAME_backward`, with the arguments of the old one, then O, LSE, dO and, with
    `dlse`, dLSE, and the results of an `attn.backward`: dQ, dK, dV and the gradients of the captures that `gradients` names by their
    numbers. Mask, scale, layout and score region are those of the forward, so the two cannot disagree; the score region is
    differentiated (reverse mode). Runs first, if at all. Functions without attention stay as they are.
    ```mlir
    // Before
    %o, %lse = attn.forward %q, %k, %v mask(#attn.causal)
    // After
    %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal)
    ```
  }];
  let options = [
    ListOption<"gradients", "gradients", "int64_t", "numbers of the captures whose gradients are wanted, from 0">,
    Option<"dlse", "dlse", "bool", "false", "the loss depends on LSE too">,
    Option<"deterministic", "deterministic", "bool", "false", "two runs give the same bits">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def AttnSimplifyScore : Pass<"attn-simplify-score"> {
  let summary = "Spend fewer operations on a score function";
  let description = [{
    A score region is scalar code that runs on every score, and is taken as a function on real numbers: a division by a constant becomes a
    product, constant factors that follow each other become one, the first of them part of `scale`, and a product that is only
    added becomes a fused multiply-add. Each of these moves the result by a unit in the last place at most. Runs after
    `attn-simplify-mask` and before `convert-attn-to-tile`, which takes a last constant factor into the softmax's scale.
    ```mlir
    // Before: 30 * tanh(s / 30) with s scaled by 0.125
    %x = arith.divf %s, %c30 : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %c30 : f32
    // After: scale(0.0041666668)
    %t = math.tanh %s : f32
    %r = arith.mulf %t, %c30 : f32
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
