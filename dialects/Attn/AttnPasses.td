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

#endif
