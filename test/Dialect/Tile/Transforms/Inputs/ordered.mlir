!q = tensor<?x?x4x128xf16>
func.func @bwd(%q: !q, %k: !q, %v: !q, %o: !q, %lse: tensor<?x4x?xf32>, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal) deterministic
      : !q, !q, !q, !q, tensor<?x4x?xf32>, !q -> (!q, !q, !q)
  return %dq, %dk, %dv : !q, !q, !q
}
