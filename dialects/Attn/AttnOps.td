#ifndef FLASHC_ATTN_OPS
#define FLASHC_ATTN_OPS

include "Attn/AttnAttrs.td"
include "Attn/AttnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

def Attn_ForwardOp : Attn_Op<"forward", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    Attn_AttentionInterface]> {
  let summary = "Exact attention: O = softmax(mask(score(scale * Q K^T))) V, and its log-sum-exp";
  let description = [{
    For each batch `b`, query head `h` and query row `i`, with `g = Hq / Hkv` query heads sharing one key head:

        x_j   = score(scale * sum_d Q[b,i,h,d] K[b,j,h/g,d], b, h, i, j)   for every visible key j
        LSE_i = ln(sum_j exp(x_j))
        O_i   = sum_j exp(x_j - LSE_i) V[b,j,h/g,:]

    Shapes, in layout `bshd` (the default): Q is B x Sq x Hq x D, K is B x Sk x Hkv x D, V is B x Sk x Hkv x Dv,
    O is B x Sq x Hq x Dv; in layout `bhsd` the two middle dimensions change places. LSE is B x Hq x Sq, f32, in nats.
    B, Sq, Sk and the heads may be dynamic; D and Dv are static and at most 256. Q, K, V and O share one element type: f16,
    bf16 or f32.

    `scale` is above 0 and defaults to 1/sqrt(D). `kv_lengths` (B x i32) hides keys at and past the given length of each batch.
    The score region maps one scaled score to another and has the arguments (score: f32, batch, head, query index, key
    index: index, captured tensors...); it holds scalar `arith`, `math` and `tensor.extract` ops and ends in
    `attn.yield`. Captured tensors are read by `tensor.extract` only; an index below 0 or past the end reads the nearest element,
    so that no score function reads out of bounds. Integers are divided by constants only, for the same reason. Source of the formula: FlashAttention-2 (arXiv 2307.08691), section 2.
    ```mlir
    %o, %lse = attn.forward %q, %k, %v mask(#attn.causal) scale(0.125)
        : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>)
    ```
    With ALiBi as a score function over captured slopes:
    ```mlir
    %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<32xf32>) layout(bhsd)
        : tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16> -> (tensor<?x32x?x64xf16>, tensor<?x32x?xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<32xf32>):
      %slope = tensor.extract %m[%h] : tensor<32xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value,
                       Optional<AnyRankedTensor>:$kvLengths,
                       Variadic<AnyRankedTensor>:$captures,
                       OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<Attn_MaskAttr>:$mask,
                       DefaultValuedAttr<Attn_LayoutAttr, "::flashc::attn::Layout::BSHD">:$layout);
  let results = (outs AnyRankedTensor:$output, AnyRankedTensor:$lse);
  let regions = (region MaxSizedRegion<1>:$score);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kMaxHeadDim = 256;
  }];
}

def Attn_BackwardOp : Attn_Op<"backward", [Pure, IsolatedFromAbove, AttrSizedOperandSegments,
    Attn_AttentionInterface]> {
  let summary = "The gradients of attn.forward with respect to Q, K, V and captured tensors";
  let description = [{
    Let `loss` be a number that depends on O and LSE of an `attn.forward` with the same inputs, mask, scale, layout and score
    region. Given `dO = d loss / d O` and, with `dlse`, `dLSE = d loss / d LSE` (else it is 0), with the letters of `attn.forward`
    and sums over visible keys (rows) alone:

        P_ij = exp(x_ij - LSE_i)              D_i  = sum_d dO_id O_id - dLSE_i
        dV_j = sum_i P_ij dO_i                dx_ij = P_ij (sum_d dO_id V_jd - D_i)
        dQ_i = scale * sum_j ds_ij K_j        dK_j = scale * sum_i ds_ij Q_i

    `ds` is the gradient of the scaled score: `dx` itself, or what the gradient region makes of it. Sums over rows run over
    the `Hq / Hkv` query heads of a key head too. A row with no visible key has a zero gradient, as has a key that no row
    sees; Q, K, V and dO of pairs that are not visible never reach a result, even when they hold NaN. O and LSE are the results of
    the forward; a row with `LSE = -inf` is one with no visible key.

    Shapes: O and dO as O of the forward, dLSE as LSE, dQ, dK and dV as Q, K and V, in the same element type. `gradients([...])`
    lists the captures, in ascending order, whose gradients follow dV; they are of f16, bf16 or f32 and a gradient has its
    capture's type. With `deterministic` two runs on one machine give the same bits.

    The gradient region is there iff the score region is. Its arguments are (scaled score: f32, batch, head, query index, key
    index: index, dx: f32, captured tensors...); it yields ds, and says by `attn.add_gradient` what goes to elements of captured
    tensors. `attn-derive-backward` makes it from the score region; one that is written by hand may say something else
    (a straight-through gradient). Source of the formulas: FlashAttention (arXiv 2205.14135), appendix B.4.
    ```mlir
    %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal) scale(0.125)
        : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x32x64xf16>, tensor<?x32x?xf32>,
          tensor<?x?x32x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>)
    ```
    With a temperature for each head and its gradient:
    ```mlir
    %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0]) deterministic
        : tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x4x9xf32>,
          tensor<1x9x4x64xf16> -> (tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<4xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
      %x = tensor.extract %m[%h] : tensor<4xf32>
      %r = arith.mulf %s, %x : f32
      attn.yield %r : f32
    } gradient {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
      %x = tensor.extract %m[%h] : tensor<4xf32>
      %dt = arith.mulf %dx, %s : f32
      attn.add_gradient %dt to %m[%h] : tensor<4xf32>
      %ds = arith.mulf %dx, %x : f32
      attn.yield %ds : f32
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key, AnyRankedTensor:$value, AnyRankedTensor:$output,
                       AnyRankedTensor:$lse, AnyRankedTensor:$outputGradient,
                       Optional<AnyRankedTensor>:$lseGradient,
                       Optional<AnyRankedTensor>:$kvLengths,
                       Variadic<AnyRankedTensor>:$captures,
                       OptionalAttr<F64Attr>:$scale,
                       OptionalAttr<Attn_MaskAttr>:$mask,
                       DefaultValuedAttr<Attn_LayoutAttr, "::flashc::attn::Layout::BSHD">:$layout,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$gradients,
                       UnitAttr:$deterministic);
  let results = (outs AnyRankedTensor:$queryGradient, AnyRankedTensor:$keyGradient, AnyRankedTensor:$valueGradient,
                      Variadic<AnyRankedTensor>:$captureGradients);
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$scoreGradient);
  let extraClassDeclaration = [{
    /// Whether ds is dx: where the score function adds something to the score.
    bool hasPlainScoreGradient();
    /// Whether ds is dx times a factor that dx is no part of: always, unless
    /// the gradient region was written by hand.
    bool hasGradientFactor();
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Attn_AddGradientOp : Attn_Op<"add_gradient", [HasParent<"BackwardOp">, MemoryEffects<[MemWrite]>]> {
  let summary = "Add a number to the gradient of one element of a captured tensor";
  let description = [{
    `capture` is an argument of the gradient region that `gradients` lists. Indices below 0 or past the end mean the nearest element,
    as for `tensor.extract` in a score region. Sums are in f32, whatever the capture's type.
    ```mlir
    attn.add_gradient %dt to %m[%h] : tensor<4xf32>
    ```
  }];
  let arguments = (ins F32:$value, AnyRankedTensor:$capture, Variadic<Index>:$indices);
  let assemblyFormat = "$value `to` $capture `[` $indices `]` attr-dict `:` type($capture)";
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, ParentOneOf<["ForwardOp", "BackwardOp"]>]> {
  let summary = "The result of a score function or of its gradient";
  let arguments = (ins F32:$score);
  let assemblyFormat = "$score attr-dict `:` type($score)";
}

#endif
