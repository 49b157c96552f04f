#ifndef FLASHC_TILE_PASSES
#define FLASHC_TILE_PASSES

include "mlir/Pass/PassBase.td"

def TileSplitLoops : Pass<"tile-split-loops"> {
  let summary = "Split the key loop into masked, full and masked ranges, and drop skipped blocks";
  let description = [{
    Interval analysis of the `tile.mask` in a key loop: for the rows of this query block, each affine inequality bounds the key
    index from one side. The blocks that no row can see are left out of the loop range, those that every row sees wholly
    get a copy of the loop without the mask, and the rest keep it. Loops that are statically empty are not made.

    Rows past the end of Q do not widen a range. Of a union of sets the loops cover the hull, and the full range is the largest
    of those of single sets. The bounds are computed once for each query block, from lengths alone: no block mask exists.
    Runs first after `convert-attn-to-tile`.
    ```mlir
    // Before: causal
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
      %s1 = tile.mask %d at(%i0, %j0) symbols(%sq, %sk)
    // After: the first row's diagonal ends the full blocks, the last row's the masked ones
    scf.for %j = %c0 to %full step
    scf.for %j = %full to %any step
      tile.mask
    ```
  }];
}

def TileUseExp2 : Pass<"tile-use-exp2"> {
  let summary = "Compute the running softmax in base two";
  let description = [{
    The GPU has an instruction for 2^x and none for e^x, so log2(e) goes into the scale once instead of into
    every score; `m` and `l` keep their values. Runs between `convert-attn-to-tile` and `tile-expand-softmax`.
    ```mlir
    // Before
    tile.softmax_update %s, %m, %l base(e) scale(0.125)
    // After: 0.125 * log2(e)
    tile.softmax_update %s, %m, %l base(two) scale(0.180336878)
    ```
  }];
}

def TileLazyRescale : Pass<"tile-lazy-rescale"> {
  let summary = "Keep a stale row maximum while it is near enough";
  let description = [{
    Most key blocks raise no row's maximum by much. Keeping the old one until it is short by `threshold` (in powers of
    the base) makes alpha exactly 1 there, so that `tile.rescale` is skipped for whole groups of rows. Exact after the final division.
    ```mlir
    // Before
    tile.softmax_update %s, %m, %l base(two) scale(0.18)
    // After
    tile.softmax_update %s, %m, %l base(two) scale(0.18) lazy(8.0)
    ```
  }];
  let options = [Option<"threshold", "threshold", "double", "8.0", "how far, in powers of the base, the maximum may be short">];
}

def TileStreamLoads : Pass<"tile-stream-loads"> {
  let summary = "Turn the loads of a chain of key loops into streams";
  let description = [{
    `tile.load`s that read block after block of one head in a chain of adjacent key loops become one `tile.stream` before the
    first loop, over the whole range, and a `tile.next` in each loop. Runs after `tile-split-loops`.
    ```mlir
    // Before
    scf.for %j = %c0 to %mid step %c1
      %t = tile.load %k[%b, %h, %j0] limit(%n) : memref<?x?x?x16xf32> -> tensor<16x16xf32>
    scf.for %j = %mid to %hi step %c1
      %t = tile.load %k[%b, %h, %j0] limit(%n) : memref<?x?x?x16xf32> -> tensor<16x16xf32>
    // After
    %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) limit(%n) : memref<?x?x?x16xf32> -> !tile.stream<16x16xf32>
    scf.for %j = %c0 to %mid step
      tile.next %ks[%j] : !tile.stream<16x16xf32> -> tensor<16x16xf32>
    scf.for %j = %mid to %hi step
    ```
  }];
}

def TileExpandSoftmax : Pass<"tile-expand-softmax"> {
  let summary = "Write the running softmax out as maps and reductions";
  let description = [{
    `tile.softmax_update`, `tile.rescale`, `tile.mask` and `tile.finish` become `tile.map`, `tile.reduce`, `tile.any` and
    `scf.if`. No division in the loop; the accumulator is multiplied by alpha only where some alpha is not 1; the exponent is one fused
    multiply-add, except where |c * m| is so large that its rounding would show, where s - m is taken first. Needs
    base two. Runs last on this level.
    ```mlir
    // Before
    %r = tile.rescale %o by %f : tensor<16x32xf32>, tensor<16xf32>
    // After
    tile.map ins(%o, %f : tensor<16x32xf32>, tensor<16xf32>) -> tensor<16x32xf32> {
    ^bb0(%x: f32, %y: f32):
      arith.mulf %x, %y
    ```
  }];
}

#endif
