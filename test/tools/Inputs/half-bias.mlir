// A learned bias in bfloat16, shorter than the keys: those past its end get its last element.
func.func @bias(%q: tensor<?x?x?x32xf32>, %k: tensor<?x?x?x32xf32>, %v: tensor<?x?x?x32xf32>, %bias: tensor<?x?xbf16>)
    -> tensor<?x?x?x32xf32> {
  %o, %lse = attn.forward %q, %k, %v captures(%bias : tensor<?x?xbf16>) mask(#attn.causal)
      : tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32>, tensor<?x?x?x32xf32> -> (tensor<?x?x?x32xf32>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<?x?xbf16>):
    %x = tensor.extract %m[%i, %j] : tensor<?x?xbf16>
    %y = arith.extf %x : bf16 to f32
    %r = arith.addf %s, %y : f32
    attn.yield %r : f32
  }
  return %o : tensor<?x?x?x32xf32>
}
