func.func @masks(%q: tensor<2x9x4x40xbf16>, %k: tensor<2x?x2x40xbf16>, %v: tensor<2x?x2x24xbf16>, %n: tensor<2xi32>) -> (tensor<2x9x4x24xbf16>, tensor<2x4x9xf32>) {
  %o, %lse = attn.forward %q, %k, %v kv_lengths(%n : tensor<2xi32>)
      mask(#attn.and<[#attn.or<[#attn.causal<top_left>, #attn.prefix<7>]>, #attn.not<#attn.window<left = 3, right = -1, align = top_left>>, #attn.key_length]>) scale(0.125)
      : tensor<2x9x4x40xbf16>, tensor<2x?x2x40xbf16>, tensor<2x?x2x24xbf16> -> (tensor<2x9x4x24xbf16>, tensor<2x4x9xf32>)
  return %o, %lse : tensor<2x9x4x24xbf16>, tensor<2x4x9xf32>
}
