#ifndef FLASHC_ATTN_OPS
#define FLASHC_ATTN_OPS

include "Attn/AttnAttrs.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

def Attn_ForwardOp : Attn_Op<"forward", [Pure, IsolatedFromAbove, AttrSizedOperandSegments]> {
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
    /// Positions of batch, length and heads in the four-dimensional tensors of this op's layout.
    unsigned getLengthDim() { return getLayout() == Layout::BSHD ? 1 : 2; }
    unsigned getHeadsDim() { return getLayout() == Layout::BSHD ? 2 : 1; }
    /// D and Dv: always static.
    int64_t getHeadDim() { return getQuery().getType().getDimSize(3); }
    int64_t getValueHeadDim() { return getValue().getType().getDimSize(3); }
    /// `scale`, or its default 1/sqrt(D).
    double getScaleValue();
    bool hasScore() { return !getScore().empty(); }
    static constexpr int64_t kMaxHeadDim = 256;
    /// The parts of the verifier that are about captures and the score region.
    ::llvm::LogicalResult verifyCaptures();
    ::llvm::LogicalResult verifyScore();
  }];
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"ForwardOp">]> {
  let summary = "The result of a score function";
  let arguments = (ins F32:$score);
  let assemblyFormat = "$score attr-dict `:` type($score)";
}

#endif
