#ifndef FLASHC_TILE_PASSES
#define FLASHC_TILE_PASSES

include "mlir/Pass/PassBase.td"

def TileHoistCaptures : Pass<"tile-hoist-captures"> {
  let summary = "Compute once what a score function computes alike for every element";
  let description = [{
    What does not depend on a map's element leaves its body, and the loops that it does not depend on: ALiBi's slope is then one load for
    a head. A load moves where the array's sizes are static, since an array of dynamic sizes may be empty where no key is seen.
    Runs after `convert-attn-to-tile` and before `tile-split-loops`.
    ```mlir
    // Before
    scf.for %j = %c0 to %n step %c1
      tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32>
      ^bb0(%x: f32):
        %slope = memref.load %slopes[%h] : memref<32xf32>
    // After
    %slope = memref.load %slopes[%h] : memref<32xf32>
    scf.for %j = %c0 to %n step %c1
      tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32>
    ```
  }];
}

def TileJoinHeads : Pass<"tile-join-heads"> {
  let summary = "One loop over the query heads of a key head and their query blocks";
  let description = [{
    In the backward of kernels whose warps have roles. What a block of keys goes through, query head after query head and block
    after block, becomes one loop over pairs, which carries a pair's place: so blocks can be loaded ahead across heads. Only blocks that some
    key is seen by are left. The mask is not split off into loops of its own, as `tile-split-loops` does, but stands in a branch: a
    copy of the loop's body is three times as long as a forward's, and a branch in front of the exponentials costs nothing. Runs
    before `tile-split-loops`.
    ```mlir
    // Before
    %r = scf.for %g = %c0 to %heads step %c1 iter_args(%dk = %zero)
      %hg = arith.addi %first, %g
      %x = scf.for %i = %c0 to %n step %c1 iter_args(%dk1 = %dk)
        %s1 = tile.mask %s at(%i0, %j0) transposed
    // After
    %r:3 = scf.for %p = %c0 to %pairs step %c1 iter_args(%g = %c0, %i = %lo, %dk = %zero)
      %h = arith.addi %first, %g
      %s1 = scf.if %hides
        %x = tile.mask %s at(%row, %j0) transposed
      %g1 = arith.select %wraps, %g2, %g
      %i1 = arith.select %wraps, %lo, %i2
    ```
  }];
}

def TileSplitLoops : Pass<"tile-split-loops"> {
  let summary = "Split the key loop into masked, full and masked ranges, and drop skipped blocks";
  let description = [{
    Interval analysis of the `tile.mask` in a key loop: for the rows of this query block, each affine inequality bounds the key
    index from one side. The blocks that no row can see are left out of the loop range, those that every row sees wholly
    get a copy of the loop without the mask, and the rest keep it. Loops that are statically empty are not made.

    With a transposed mask a key block is fixed and the loop is over query blocks; it is split in the same way.

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
    Kernels whose roles say `rescale = always` follow the maximum exactly and stay as they are.
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

def TileDropGuards : Pass<"tile-drop-guards"> {
  let summary = "Take `guarded` off the products of kernels whose warps have roles";
  let description = [{
    A guard looks at the block of V with every thread before the product, which a tensor core that reads V by itself has no place
    for. A kernel with `roles` looks at its result at the end instead, and computes it again in another way where that is not finite;
    what stands in that branch keeps its guards. Other kernels stay as they are. Runs after `tile-stream-loads`.
    ```mlir
    // Before
    %r = tile.dot %p, %v acc(%a) guarded : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    // After
    %r = tile.dot %p, %v acc(%a) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    ```
  }];
}

def TileTurnKeys : Pass<"tile-turn-keys"> {
  let summary = "Begin with the nearest key block where a bias rises towards it";
  let description = [{
    ALiBi adds the less to a score the farther the key is, so that in ascending order each block raises all row maxima, and the
    accumulator is rescaled with each. In kernels with `roles` the blocks of the first loop come in descending order: all of them under
    slope * (j - i), which ends at the diagonal; under -slope * |j - i| those up to the last row's own, and the others behind. Only
    the order differs. Loops that begin with a mask (windows) stay as they are. Runs after `tile-stream-loads` and before
    `tile-overlap`.
    ```mlir
    // Before
    scf.for %j = %lo to %hi step %c1
      %k = tile.next %ks[%j]
    // After: %e = %turn + %lo - 1
    scf.for %j = %lo to %hi step %c1
      %b = arith.cmpi slt, %j, %turn : index
      %m = arith.subi %e, %j : index
      %j1 = arith.select %b, %m, %j : index
      %k = tile.next %ks[%j1]
    ```
  }];
}

def TileOverlap : Pass<"tile-overlap"> {
  let summary = "Start a key block's scores before the softmax and the product with V of the block before";
  let description = [{
    Software pipelining of the key loops of kernels whose roles say `overlap`: the tensor cores work on the scores of block j and on
    P V of block j - 1 while the softmax waits for the first of the two alone. The first block's softmax stands before the
    loops and the last block's P V behind them; the loops carry P.

    Block lo is computed even where no row sees a key, in the form that has the mask, and the streams end at max(hi, lo + 1): a
    block past the end is all zeros and all hidden, so that O = 0 and LSE = -inf come out by themselves. A score function that reads
    memory stands under a branch there, as a captured tensor may then be empty. Q is loaded behind the first block of K.

    A chain of loops that is not of this shape is left as it is, with a remark. Runs after `tile-lazy-rescale` and before
    `tile-expand-softmax`, on streams.
    ```mlir
    // Before
    %r:3 = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum)
      %k = tile.next %ks[%j]
      %s = tile.dot %q, %k acc(%none) transpose_b
      %x = tile.mask %s
      %p, %m1, %l1, %alpha = tile.softmax_update %x, %m, %l base(two) scale(0.18)
      %acc1 = tile.rescale %acc by %alpha
      %v = tile.next %vs[%j]
      %acc2 = tile.dot %p, %v acc(%acc1)
      scf.yield %acc2, %m1, %l1
    // After: block lo up to its softmax, then
    %r:4 = scf.for %j = %lo1 to %hi step %c1 iter_args(%acc = %zero, %m = %m0, %l = %l0, %p = %p0)
      %k = tile.next %ks[%j]
      %s = tile.dot %q, %k acc(%none) transpose_b
      %j1 = arith.subi %j, %c1
      %v = tile.next %vs[%j1]
      %acc1 = tile.dot %p, %v acc(%acc)
      %x = tile.mask %s
      %p1, %m1, %l1, %alpha = tile.softmax_update %x, %m, %l base(two) scale(0.18)
      %acc2 = tile.rescale %acc1 by %alpha
      scf.yield %acc2, %m1, %l1, %p1
    // and P V of the last block
    ```
  }];
}

def TileOverlapPairs : Pass<"tile-overlap-pairs"> {
  let summary = "Order the products of a backward, and start a pair's scores in the pair before";
  let description = [{
    Software pipelining of the loop of `tile-join-heads` where the roles say `overlap`. The loop carries a pair's Q, scores and LSE. In an iteration the
    products for dP and dV are started one behind the other, then dS is computed, then the product for dK and the next pair's
    scores are started; dQ's product and its addition come last, since another role makes them. P is kept in 16 bits alone, which dS is computed from,
    too: the product with dO has rounded it in any case, and registers are short. The block behind the last one, whose scores are of no
    use, is one that is there. A loop of another shape is left as it is. Runs after `tile-drop-guards` and before `tile-expand-softmax`.
    ```mlir
    // Before
    %s = tile.dot %k, %q acc(%none) transpose_b
    %p = tile.probs %x, %lse base(two)
    %dp = tile.dot %v, %do acc(%none) transpose_b
    %ds = tile.probs_gradient %p, %dp, %delta
    %dv1 = tile.dot %p16, %do acc(%dv)
    %dk1 = tile.dot %ds16, %q acc(%dk)
    // After
    %p = tile.probs %s, %lse base(two)
    %dp = tile.dot %v, %do acc(%none) transpose_b
    %dv1 = tile.dot %p16, %do acc(%dv)
    %q1 = tile.load %arg0
    %ds = tile.probs_gradient %p32, %dp, %delta
    %dk1 = tile.dot %ds16, %q acc(%dk)
    %s1 = tile.dot %k, %q1 acc(%none) transpose_b
    ```
  }];
}

def TileRelativeBias : Pass<"tile-relative-bias"> {
  let summary = "Count the keys of a bias by distance from the first one of a block";
  let description = [{
    A score function that adds slope * (j - i) (ALiBi), or slope * |j - i|, needs each element's distance as a float. With j0 the
    block's first key, slope * (j - i) = slope * (j - j0) + slope * (j0 - i): the first part has the same columns in every block, and the
    second is one number a row, which goes to the softmax as its `offset`. Where a row's own key is not inside the block, |j - i| is a
    distance with a sign; a branch keeps the function as it is for the others.

    In the key loops of kernels with `roles`. Runs after `tile-overlap` and before `tile-expand-softmax`.
    ```mlir
    // Before: with f = j - i as an f32
    %s = tile.map ins(%d : tensor<64x32xf32>) at(%i0, %j0) -> tensor<64x32xf32> {
      %y = math.fma %slope, %f, %x : f32
    tile.softmax_update %s, %m, %l base(two) scale(0.125)
    // After: with f = j - j0
    %h = tile.map ins(%m : tensor<64xf32>) at(%i0) -> tensor<64xf32> {
      %z = arith.mulf %slope, %e : f32
    %s = tile.map ins(%d : tensor<64x32xf32>) at(%i0, %c0) -> tensor<64x32xf32> {
      %y = math.fma %slope, %f, %x : f32
    tile.softmax_update %s, %m, %l offset(%h : tensor<64xf32>) base(two) scale(0.125)
    ```
  }];
}

def TileFuseCap : Pass<"tile-fuse-cap"> {
  let summary = "Put a soft cap's polynomial into the exponent where scores are small and no maximum rises";
  let description = [{
    tanh(k s) rises with s and is at most k s, so that a test of s itself says that no row's maximum rises; the same test says whether
    all |k s| are at most 13/32, where a polynomial of degree 7 does. Where both hold, which is one look at the scores and one vote,
    p = 2^(s P(s^2) - M): one more multiplication than terms, with nothing between the product and the exponential. The other side of
    the branch has the function, the update and the rescaling as they were.

    In the key loops of kernels with `roles` that say `rescale = test`, for a map of tanh alone. A mask hides exponents there. Runs
    after `tile-overlap` and before `tile-split-tanh`.
    ```mlir
    // Before
    %s = tile.map ins(%d : tensor<64x32xf32>) -> tensor<64x32xf32> {
      %y = math.tanh %z : f32
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(43.25) lazy(8.0)
    %acc1 = tile.rescale %acc by %alpha
    // After
    %c = tile.any_above %d, %limits floor(-1.300000e+01)
    scf.if %c
      tile.softmax_update
    else
      %p = tile.map ins(%d, %shift : tensor<64x32xf32>, tensor<64xf32>) -> tensor<64x32xf32> {
        %e = math.fma %poly, %x, %minus : f32
        %r = math.exp2 %e : f32
    ```
  }];
}

def TileSplitTanh : Pass<"tile-split-tanh"> {
  let summary = "Use a polynomial for tanh where all elements of a group of rows are near zero";
  let description = [{
    Soft caps keep a few large scores in bounds, and most scores are far from the cap: |x| <= 5/8, where an odd polynomial of degree 9
    does for tanh(x). One compare an element decides for a group of rows; the other side of the branch keeps `math.tanh`. Maps with
    one tanh of an input, or of one times a constant, are split; the redo of kernels with roles is not. Not for `afn`.
    Runs after `tile-overlap` and before `tile-expand-tanh`.
    ```mlir
    // Before
    %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32):
      %t = math.tanh %x : f32
    // After
    %w = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xi1>
    %c = tile.any %w : tensor<64x64xi1>
    %r = scf.if %c -> (tensor<64x64xf32>)
      tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32>
      ^bb0(%x: f32):
        %t = math.tanh %x : f32
    else
      tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32>
      ^bb0(%x: f32):
        %y = arith.mulf %x, %x : f32
        %t = arith.mulf %p, %x : f32
    ```
  }];
}

def TileExpandTanh : Pass<"tile-expand-tanh"> {
  let summary = "Write tanh out as a quotient of polynomials";
  let description = [{
    `math.tanh` in a map, in f32, becomes x P(x^2) / Q(x^2) with degrees 3 and 4, x clamped to where tanh is 1 in f32's last places; the relative
    error is below 2^-20.7 everywhere. A constant factor of x goes into the coefficients. The division may be by a reciprocal (`arcp`). `afn`
    stays as it is. Runs after `tile-split-tanh`.
    ```mlir
    // Before
    %t = math.tanh %x : f32
    // After
    %y = arith.mulf %v, %v : f32
    %n = arith.mulf %p, %v : f32
    %t = arith.divf %n, %q fastmath<arcp> : f32
    ```
  }];
}

def TileExpandSoftmax : Pass<"tile-expand-softmax"> {
  let summary = "Write the running softmax out as maps and reductions";
  let description = [{
    `tile.softmax_update`, `tile.rescale`, `tile.mask`, `tile.finish`, `tile.probs` and `tile.probs_gradient` become `tile.map`, `tile.reduce`, `tile.any` and
    `scf.if`. No division in the loop; the accumulator is multiplied by alpha only where some alpha is not 1; the exponent is one fused
    multiply-add, except where |c * m| is so large that its rounding would show, where s - m is taken first. Needs
    base two. Runs last on this level.

    In kernels with `roles` that exception is left out: rows with such a maximum come out as NaN, as do those whose sums
    overflowed, and the result is checked for it. There `rescale` says how the
    accumulator follows the maximum: `lazy` under a branch before the exponentials, as elsewhere; `late` under a branch at the place
    of `tile.rescale`; `always` without one.
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
