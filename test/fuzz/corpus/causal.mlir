module {
  func.func @attention(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x2x64xf16>) -> tensor<?x?x8x64xf16> attributes {note = "x"} {
    %o, %lse = attn.forward %q, %k, %k mask(#attn.causal) : tensor<?x?x8x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x64xf16> -> (tensor<?x?x8x64xf16>, tensor<?x8x?xf32>)
    return %o : tensor<?x?x8x64xf16>
  }
}
