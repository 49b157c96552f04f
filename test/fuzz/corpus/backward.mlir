func.func @backward(%q: tensor<?x?x4x64xf16>, %k: tensor<?x?x2x64xf16>, %v: tensor<?x?x2x40xf16>, %o: tensor<?x?x4x40xf16>,
                    %lse: tensor<?x4x?xf32>, %do: tensor<?x?x4x40xf16>, %t: tensor<4xf32>, %u: tensor<?x?xf16>)
    -> (tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x40xf16>, tensor<4xf32>, tensor<?x?xf16>) {
  %dq, %dk, %dv, %dt, %du = attn.backward %q, %k, %v, %o, %lse, %do captures(%t, %u : tensor<4xf32>, tensor<?x?xf16>) gradients([0, 1])
      mask(#attn.and<[#attn.causal, #attn.window<left = 9, right = 3>]>) deterministic
      : tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x40xf16>, tensor<?x?x4x40xf16>, tensor<?x4x?xf32>, tensor<?x?x4x40xf16>
      -> (tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x40xf16>, tensor<4xf32>, tensor<?x?xf16>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>, %n: tensor<?x?xf16>):
    %x = tensor.extract %m[%h] : tensor<4xf32>
    %y = tensor.extract %n[%i, %j] : tensor<?x?xf16>
    %z = arith.extf %y : f16 to f32
    %r = math.fma %s, %x, %z : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>, %n: tensor<?x?xf16>):
    %x = tensor.extract %m[%h] : tensor<4xf32>
    %p = arith.mulf %dx, %s : f32
    attn.add_gradient %p to %m[%h] : tensor<4xf32>
    attn.add_gradient %dx to %n[%i, %j] : tensor<?x?xf16>
    %ds = arith.mulf %dx, %x : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv, %dt, %du : tensor<?x?x4x64xf16>, tensor<?x?x2x64xf16>, tensor<?x?x2x40xf16>, tensor<4xf32>, tensor<?x?xf16>
}
