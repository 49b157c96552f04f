// ALiBi over captured slopes; --capture slopes=FILE.npy gives them.
func.func @alibi(%q: tensor<?x4x?x64xf16>, %k: tensor<?x4x?x64xf16>, %v: tensor<?x4x?x64xf16>, %slopes: tensor<4xf32>)
    -> (tensor<?x4x?x64xf16>, tensor<?x4x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<4xf32>) layout(bhsd)
      : tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16>, tensor<?x4x?x64xf16> -> (tensor<?x4x?x64xf16>, tensor<?x4x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    %slope = tensor.extract %m[%h] : tensor<4xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %bias = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  }
  return %o, %lse : tensor<?x4x?x64xf16>, tensor<?x4x?xf32>
}
