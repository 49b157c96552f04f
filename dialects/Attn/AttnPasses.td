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
