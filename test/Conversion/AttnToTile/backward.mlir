// RUN: flashc-opt %s --convert-attn-to-tile="arch=cpu tiles=32x64" --canonicalize --cse --split-input-file | FileCheck %s

// D first, then dK, dV and the sum of dQ, then dQ in its type.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 - s0 + s1 >= 0, -d1 + s1 - 1 >= 0, -d0 + s0 - 1 >= 0)>
// CHECK-LABEL: tile.kernel @bwd_delta(
// CHECK-SAME:    tile.argument = "o"}, %{{.+}} {tile.argument = "do"}, %[[DELTA:.+]]: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {tile.argument = "delta", tile.output, tile.workspace = ["batch", "heads", "queries"]})
// CHECK-SAME:    grid = #tile.grid<batch = [0, 0], heads = [0, 1], blocks = [0, 2], rows = 32>
// CHECK:         arith.mulf
// CHECK:         %[[D:.+]] = tile.reduce add
// CHECK:         tile.store %[[D]], %[[DELTA]]

// Rows of a pair's tiles are keys, columns queries. Four query heads share a key head.
// CHECK-LABEL: tile.kernel @bwd(
// CHECK-SAME:    %[[Q:[^:]+]]: memref<?x32x?x64xf16, {{[^{]+}} {tile.argument = "q"}, %[[K:[^:]+]]: {{[^{]+}} {tile.argument = "k"}, %[[V:[^:]+]]: {{[^{]+}} {tile.argument = "v"},
// CHECK-SAME:    %[[DO:[^:]+]]: {{[^{]+}} {tile.argument = "do"}, %[[LSE:[^:]+]]: {{[^{]+}} {tile.argument = "lse"}, %[[DELTA:[^:]+]]: {{[^{]+}} {tile.argument = "delta",
// CHECK-SAME:    %[[DK:[^:]+]]: {{[^{]+}} {tile.argument = "dk", tile.output}, %[[DV:[^:]+]]: {{[^{]+}} {tile.argument = "dv", tile.output},
// CHECK-SAME:    %[[DQ:[^:]+]]: memref<?x?x?x64xf32, {{[^{]+}} {tile.argument = "dq_sum", tile.fragment_order, tile.output, tile.workspace = ["batch", "heads", "queries", "64"], tile.zeroed})
// CHECK-SAME:    grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 64>
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK:         %[[B:.+]], %[[H:.+]], %[[J:.+]] = tile.program
// CHECK:         %[[J0:.+]] = arith.muli %[[J]]
// CHECK:         %[[KT:.+]] = tile.load %[[K]][%[[B]], %[[H]], %[[J0]]]
// CHECK:         %[[VT:.+]] = tile.load %[[V]][%[[B]], %[[H]], %[[J0]]]
// CHECK:         %[[FIRST:.+]] = arith.muli %[[H]], %[[C4]]
// CHECK:         %[[SUMS:.+]]:2 = scf.for %[[G:.+]] = %{{.+}} to %[[C4]]
// CHECK:           %[[HEAD:.+]] = arith.addi %[[FIRST]], %[[G]]
// CHECK:           scf.for %[[I:.+]] = {{.+}} iter_args(%[[DKA:.+]] = %{{.+}}, %[[DVA:.+]] = %{{.+}})
// CHECK:             %[[I0:.+]] = arith.muli %[[I]]
// CHECK-DAG:         %[[QT:.+]] = tile.load %[[Q]][%[[B]], %[[HEAD]], %[[I0]]]
// CHECK-DAG:         %[[DOT:.+]] = tile.load %[[DO]][%[[B]], %[[HEAD]], %[[I0]]]
// CHECK-DAG:         %[[LSET:.+]] = tile.load %[[LSE]][%[[B]], %[[HEAD]], %[[I0]]] : {{.+}} -> tensor<1x32xf32>
// CHECK-DAG:         %[[DT:.+]] = tile.load %[[DELTA]][%[[B]], %[[HEAD]], %[[I0]]] : {{.+}} -> tensor<1x32xf32>
// CHECK:             %[[S:.+]] = tile.dot %[[KT]], %[[QT]] {{.+}} transpose_b : {{.+}} -> tensor<64x32xf32>
// CHECK:             %[[M:.+]] = tile.mask %[[S]] at(%[[I0]], %[[J0]]) transposed {{.+}} sets([#[[SET]]])
// CHECK:             %[[P:.+]] = tile.probs %[[M]], %[[LSET]] base(e) scale(1.250000e-01)
// CHECK:             %[[DP:.+]] = tile.dot %[[VT]], %[[DOT]] {{.+}} transpose_b
// CHECK:             %[[DS:.+]] = tile.probs_gradient %[[P]], %[[DP]], %[[DT]] guarded
// CHECK:             %[[P16:.+]] = tile.map ins(%[[P]]
// CHECK:             %[[DS16:.+]] = tile.map ins(%[[DS]]
// CHECK:             %[[DV1:.+]] = tile.dot %[[P16]], %[[DOT]] acc(%[[DVA]]) guarded
// CHECK:             %[[DK1:.+]] = tile.dot %[[DS16]], %[[QT]] acc(%[[DKA]]) guarded
// CHECK:             %[[DQT:.+]] = tile.dot %[[DS16]], %[[KT]] acc(%{{.+}}) transpose_a guarded : {{.+}} -> tensor<32x64xf32>
// CHECK:             tile.accumulate %[[DQT]], %[[DQ]][%[[B]], %[[HEAD]], %[[I0]]] :
// CHECK:             scf.yield %[[DK1]], %[[DV1]]
// CHECK:         tile.map ins(%[[SUMS]]#0
// CHECK:         tile.store %{{.+}}, %[[DK]][%[[B]], %[[H]], %[[J0]]]
// CHECK:         tile.store %{{.+}}, %[[DV]][%[[B]], %[[H]], %[[J0]]]

// CHECK-LABEL: tile.kernel @bwd_dq(
// CHECK-SAME:    {tile.argument = "dq_sum", {{.+}} {tile.argument = "dq", tile.output})
// CHECK-SAME:    grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 32>
// CHECK:         arith.mulf
// CHECK:         arith.truncf
// CHECK:         tile.store
// CHECK-NOT:   tile.kernel
func.func @bwd(%q: tensor<?x?x32x64xf16>, %k: tensor<?x?x8x64xf16>, %v: tensor<?x?x8x64xf16>, %o: tensor<?x?x32x64xf16>,
               %lse: tensor<?x32x?xf32>, %do: tensor<?x?x32x64xf16>) -> (tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal)
      : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x32x64xf16>, tensor<?x32x?xf32>,
        tensor<?x?x32x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>)
  return %dq, %dk, %dv : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>
}

// -----

!t = tensor<?x?x?x40xf32>
!rows = tensor<?x?x?xf32>

// The gradient of LSE is taken from D; without a mask no product is guarded; deterministic, dQ has a loop of its own over keys.
// Keys past a batch's length are not read. f32 tiles are not rounded.
// CHECK-LABEL: tile.kernel @plain_delta(
// CHECK-SAME:    {tile.argument = "dlse"}
// CHECK:         %[[D:.+]] = tile.reduce add
// CHECK:         %[[L:.+]] = tile.load %{{.+}} -> tensor<32xf32>
// CHECK:         tile.map ins(%[[D]], %[[L]]
// CHECK:           arith.subf
// CHECK-LABEL: tile.kernel @plain(
// CHECK-SAME:    {tile.argument = "kv_lengths"}
// CHECK:         tile.load %{{.+}} limit(%{{.+}}) : {{.+}} -> tensor<64x48xf32>
// CHECK-NOT:     arith.truncf
// CHECK:         tile.dot %{{.+}} acc(%{{.+}}) : tensor<64x32xf32>, tensor<32x48xf32> -> tensor<64x48xf32>
// CHECK-NOT:     tile.accumulate
// CHECK-LABEL: tile.kernel @plain_dq(
// CHECK-SAME:    {tile.argument = "dq", tile.output}
// CHECK-SAME:    blocks = [0, 2], rows = 64>
// CHECK:         %[[LSE:.+]] = tile.load %{{.+}} -> tensor<64xf32>
// CHECK:         scf.for {{.+}} iter_args(%[[DQ:.+]] = %{{.+}}) -> (tensor<64x48xf32>)
// CHECK:           %[[S:.+]] = tile.dot %{{.+}} transpose_b : tensor<64x48xf32>, tensor<32x48xf32> -> tensor<64x32xf32>
// CHECK:           %[[M:.+]] = tile.mask %[[S]] at({{.+}}) symbols
// CHECK:           tile.probs %[[M]], %[[LSE]] {{.+}} tensor<64xf32>
// CHECK:           tile.dot %{{.+}} acc(%[[DQ]]) : tensor<64x32xf32>, tensor<32x48xf32> -> tensor<64x48xf32>
func.func @plain(%q: !t, %o: !t, %lse: !rows, %do: !t, %dlse: !rows, %n: tensor<?xi32>) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %o, %lse, %do dlse(%dlse : !rows) kv_lengths(%n : tensor<?xi32>) deterministic
      : !t, !t, !t, !t, !rows, !t -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
