// RUN: flashc-opt %s --attn-derive-backward="gradients=1 dlse deterministic" | FileCheck %s
//
// A gradient of LSE comes in, one of the second capture goes out.

// CHECK-LABEL: func.func @affine_backward(
// CHECK-SAME:    %[[DLSE:[^:]+]]: tensor<?x?x?xf32>) ->
// CHECK-SAME:    tensor<?xf32>)
// CHECK:         %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} = attn.backward {{.+}} dlse(%[[DLSE]] : tensor<?x?x?xf32>) {{.+}} gradients([1]) deterministic
// CHECK:         } gradient {
// CHECK-NEXT:    ^bb0(%{{.+}}: f32, %{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %[[J:.+]]: index, %[[DX:.+]]: f32, %{{.+}}: tensor<4xf16>, %[[U:.+]]: tensor<?xf32>):
// CHECK:           attn.add_gradient %[[DX]] to %[[U]][%[[J]]] : tensor<?xf32>
func.func @affine(%q: tensor<?x?x?x64xf16>, %t: tensor<4xf16>, %u: tensor<?xf32>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %q, %q captures(%t, %u : tensor<4xf16>, tensor<?xf32>)
      : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf16>, %n: tensor<?xf32>):
    %x = tensor.extract %m[%h] : tensor<4xf16>
    %f = arith.extf %x : f16 to f32
    %y = tensor.extract %n[%j] : tensor<?xf32>
    %p = arith.mulf %s, %f : f32
    %r = arith.addf %p, %y : f32
    attn.yield %r : f32
  }
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
