func.func @attention(%q: tensor<?x?x32x64xf16>, %k: tensor<?x?x8x64xf16>, %v: tensor<?x?x8x64xf16>)
    -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.causal)
      : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x64xf16>, tensor<?x32x?xf32>
}
