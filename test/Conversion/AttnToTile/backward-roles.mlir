// RUN: flashc-opt %s --convert-attn-to-tile="arch=sm_90a" --canonicalize --cse | FileCheck %s

// Of a target whose warps have roles. LSE is what an exponent starts from: -inf for rows without a key and past the end, NaN where
// it is so large that its last place shows.
// CHECK-LABEL: tile.kernel @bwd_delta(
// CHECK-SAME:    %[[LSE:[^:]+]]: memref<?x4x?xf32, {{[^{]+}} {tile.argument = "lse"}, {{.+}} %[[ROWS:[^:]+]]: {{[^{]+}} {tile.argument = "lse_rows", tile.output, tile.workspace = ["batch", "heads", "queries up to 128"]}
// CHECK-SAME:    %[[SUM:[^:]+]]: memref<?x?x?x64xf32, {{[^{]+}} {tile.argument = "dq_sum", tile.output, tile.packed, tile.workspace = ["batch", "heads", "queries up to 128", "64"]}
// CHECK-DAG:     %[[NAN:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-DAG:     %[[NONE:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[MOST:.+]] = arith.constant 2.048000e+03 : f32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
// CHECK:         tile.program descending
// CHECK:         tile.load
// CHECK:         tile.load
// CHECK:         tile.store %[[ZERO]], %[[SUM]]
// CHECK:         %[[L:.+]] = tile.load %[[LSE]]
// CHECK:         tile.map ins(%[[L]] :
// CHECK:           %[[SIZE:.+]] = math.absf
// CHECK:           %[[FAR:.+]] = arith.cmpf ogt, %[[SIZE]], %[[MOST]]
// CHECK:           %[[START:.+]] = arith.select %[[FAR]], %[[NAN]]
// CHECK:           arith.select %{{.+}}, %[[NONE]], %[[START]]
// CHECK:         tile.store %{{.+}}, %[[ROWS]]

// A sum of each row of dK says whether something in it is not finite.
// CHECK-LABEL: tile.kernel @bwd(
// CHECK-NOT:     tile.argument = "lse"}
// CHECK-SAME:    %[[DKROWS:[^:]+]]: {{[^{]+}} {tile.argument = "dk_rows", tile.output, tile.workspace = ["batch", "kv_heads", "keys"]}
// CHECK:         %[[SUMS:.+]]:2 = scf.for
// CHECK:           tile.probs %{{.+}} as_exponent
// CHECK:         %[[R:.+]] = tile.reduce add %[[SUMS]]#0
// CHECK:         tile.store %[[R]], %[[DKROWS]]

// dQ again, in blocks of 16 keys, from LSE as the forward left it.
// CHECK-LABEL: tile.kernel @bwd_dq(
// CHECK-SAME:    %[[SUM:[^:]+]]: memref<?x?x?x64xf32, {{[^{]+}} {tile.argument = "dq_sum", {{.+}} %[[LSE:[^:]+]]: memref<?x4x?xf32, {{[^{]+}} {tile.argument = "lse"}
// CHECK:         %[[B:.+]], %[[H:.+]], %[[I:.+]] = tile.program descending
// CHECK:         %[[S:.+]] = tile.load %[[SUM]]
// CHECK:         %[[ANY:.+]] = tile.any_not_finite %[[S]] : tensor<64x64xf32>
// CHECK:         %[[DQ:.+]] = scf.if %[[ANY]]
// CHECK:           tile.load %[[LSE]]
// CHECK:           scf.for
// CHECK:             tile.probs %{{.+}} base(e) scale(1.250000e-01) : tensor<64x16xf32>, tensor<64xf32>
// CHECK:             tile.dot %{{.+}} guarded : tensor<64x16xf16>, tensor<16x64xf16> -> tensor<64x64xf32>
// CHECK:         } else {
// CHECK:           scf.yield %[[S]]
// CHECK:         tile.map ins(%[[DQ]] :
// dV and dK again, of a key head's blocks, dealt to the programs of its first query head.
// CHECK:         %[[FIRST:.+]] = arith.cmpi eq, %[[H]]
// CHECK:         %[[LO:.+]] = arith.select %[[FIRST]], %[[I]], %[[BLOCKS:.+]] : index
// CHECK:         scf.for %{{.+}} = %[[LO]] to %[[BLOCKS]] step
// CHECK:           %[[R:.+]] = tile.load {{.+}} -> tensor<1x64xf32>
// CHECK:           %[[ANY:.+]] = tile.any_not_finite %[[R]] : tensor<1x64xf32>
// CHECK:           scf.if %[[ANY]] {
// CHECK:             tile.dot %{{.+}} guarded
// CHECK:             tile.store
// CHECK:             tile.probs_gradient
// CHECK:             tile.dot %{{.+}} guarded
// CHECK:             tile.store
!q = tensor<?x?x4x64xf16>
!k = tensor<?x?x2x64xf16>
func.func @bwd(%q: !q, %k: !k, %v: !k, %o: !q, %lse: tensor<?x4x?xf32>, %do: !q) -> (!q, !k, !k) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal)
      : !q, !k, !k, !q, tensor<?x4x?xf32>, !q -> (!q, !k, !k)
  return %dq, %dk, %dv : !q, !k, !k
}
