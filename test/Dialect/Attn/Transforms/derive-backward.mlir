// RUN: flashc-opt %s --attn-derive-backward --split-input-file | FileCheck %s

// What is no attention stays.
// CHECK-LABEL: func.func private @other(
func.func private @other(%x: f32) -> f32

// Everything that says which attention it is comes along; arguments keep their names.
// CHECK-LABEL: func.func @causal_backward(
// CHECK-SAME:    %[[Q:[^:]+]]: tensor<?x32x?x64xf16> {attn.name = "query"}, %[[K:[^:]+]]: tensor<?x8x?x64xf16>, %[[V:[^:]+]]: tensor<?x8x?x48xf16>,
// CHECK-SAME:    %[[N:[^:]+]]: tensor<?xi32>, %[[O:[^:]+]]: tensor<?x32x?x48xf16>, %[[LSE:[^:]+]]: tensor<?x32x?xf32>, %[[DO:[^:]+]]: tensor<?x32x?x48xf16>)
// CHECK-SAME:    -> (tensor<?x32x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x8x?x48xf16>)
// CHECK:         %[[R:.+]], %[[S:.+]], %[[T:.+]] = attn.backward %[[Q]], %[[K]], %[[V]], %[[O]], %[[LSE]], %[[DO]] kv_lengths(%[[N]] : tensor<?xi32>)
// CHECK-SAME:      mask(#attn.causal) scale(1.250000e-01) layout(bhsd) :
// CHECK:         return %[[R]], %[[S]], %[[T]] :
func.func @causal(%q: tensor<?x32x?x64xf16> {attn.name = "query"}, %k: tensor<?x8x?x64xf16>, %v: tensor<?x8x?x48xf16>, %n: tensor<?xi32>)
    -> tensor<?x32x?x48xf16> {
  %o, %lse = attn.forward %q, %k, %v kv_lengths(%n : tensor<?xi32>) mask(#attn.causal) scale(0.125) layout(bhsd)
      : tensor<?x32x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x8x?x48xf16> -> (tensor<?x32x?x48xf16>, tensor<?x32x?xf32>)
  return %o : tensor<?x32x?x48xf16>
}

// -----

// The shortest one; a function that returns the output alone has no LSE to give, but its gradients need it.
// CHECK-LABEL: func.func @attention_backward(
// CHECK:         attn.backward %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} mask(#attn.causal)
func.func @attention(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.causal)
      : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
  return %o : tensor<?x?x?x64xf16>
}

// -----

// The score function's derivative, simplified: of s * t + u it is t, that of u is 1. Only what is asked for is added.
// CHECK-LABEL: func.func @affine_backward(
// CHECK:         attn.backward
// CHECK-NOT:       gradients
// CHECK:         } gradient {
// CHECK-NEXT:    ^bb0(%{{.+}}: f32, %{{.+}}: index, %[[H:.+]]: index, %[[I:.+]]: index, %[[J:.+]]: index, %[[DX:.+]]: f32, %[[T:.+]]: tensor<4xf16>, %{{.+}}: tensor<?xf32>):
// CHECK-NEXT:      %[[X:.+]] = tensor.extract %[[T]][%[[H]]]
// CHECK-NEXT:      %[[F:.+]] = arith.extf %[[X]]
// CHECK-NEXT:      %[[DS:.+]] = arith.mulf %[[DX]], %[[F]] : f32
// CHECK-NEXT:      attn.yield %[[DS]]
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

// -----

// A score function that does not look at the score: ds is 0.
// CHECK-LABEL: func.func @constant_backward(
// CHECK:         } gradient {
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      attn.yield %[[ZERO]]
func.func @constant(%q: tensor<?x?x?x64xf16>) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %q, %q
      : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.constant 2.0 : f32
    attn.yield %r : f32
  }
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
