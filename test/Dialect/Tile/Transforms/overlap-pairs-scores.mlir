// RUN: flashc-opt %s --convert-attn-to-tile="arch=sm_90a" --tile-join-heads --tile-overlap-pairs --canonicalize --cse | FileCheck %s
//
// A score function whose derivative is not 1: it is computed with the new scores, in the pair before, and carried in 16 bits, to which
// it is rounded where it is made.

// CHECK-LABEL: tile.kernel @bwd(
// CHECK-SAME:    roles = <groups = 2, producer = 56, consumer = 224,
// CHECK:         %[[S0:.+]] = tile.dot {{.+}} transpose_b
// CHECK-NEXT:    %[[X0:.+]]:2 = tile.map ins(%[[S0]] : {{.+}} -> tensor<128x64xf32>, tensor<128x64xf16>
// CHECK:         scf.if
// CHECK:           tile.mask %[[X0]]#0
// CHECK:         scf.for {{.+}} %[[F:[^ ,]+]] = %[[X0]]#1)
// CHECK:           tile.probs
// CHECK:           %[[DS:.+]] = tile.probs_gradient
// CHECK-NEXT:      %[[FDS:.+]] = tile.map ins(%[[DS]], %[[F]] : tensor<128x64xf32>, tensor<128x64xf16>)
// CHECK-NEXT:      ^bb0(%[[A:.+]]: f32, %[[B:.+]]: f16):
// CHECK-NEXT:        %[[BW:.+]] = arith.extf %[[B]]
// CHECK-NEXT:        arith.mulf %[[A]], %[[BW]]
// CHECK:           %[[R:.+]] = tile.map ins(%[[FDS]] : tensor<128x64xf32>) -> tensor<128x64xf16>
// CHECK:           tile.dot %[[R]]
// CHECK:           %[[S1:.+]] = tile.dot {{.+}} transpose_b
// CHECK-NEXT:      %[[X1:.+]]:2 = tile.map ins(%[[S1]] : {{.+}} -> tensor<128x64xf32>, tensor<128x64xf16>
// CHECK:             %[[SS:.+]] = arith.mulf
// CHECK-NEXT:        %[[NEW:.+]] = arith.mulf %[[SS]], %[[SS]]
// CHECK-NEXT:        %[[D:.+]] = arith.mulf %[[SS]], %cst
// CHECK-NEXT:        %[[R1:.+]] = arith.truncf %[[D]]
// CHECK-NEXT:        tile.yield %[[NEW]], %[[R1]]
// CHECK:           scf.yield {{.+}}, %[[X1]]#1 :
!q = tensor<?x?x2x128xf16>
func.func @bwd(%q: !q, %k: !q, %v: !q, %o: !q, %lse: tensor<?x2x?xf32>, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal) scale(0.125)
      : !q, !q, !q, !q, tensor<?x2x?xf32>, !q -> (!q, !q, !q) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %r = arith.mulf %s, %s : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    %c = arith.constant 2.0 : f32
    %t = arith.mulf %s, %c : f32
    %ds = arith.mulf %dx, %t : f32
    attn.yield %ds : f32
  }
  return %dq, %dk, %dv : !q, !q, !q
}
