// RUN: flashc-opt %s --attn-to-tile | FileCheck %s
//
// The whole way through the tile level: two loops that read one stream each of K
// and V, the mask in the second alone, and nothing left of the whole softmax ops.

// CHECK-LABEL: tile.kernel @causal(
// CHECK-SAME:    schedule = #tile.schedule<q = {{[0-9]+}}, kv = {{[0-9]+}}, stages = 1, warps = 4, q_in_registers = false, sram = 166912>
// CHECK-DAG:     %[[KS:.+]] = tile.stream %arg1[%{{.+}}] blocks(%[[LO:.+]] to %[[HI:.+]])
// CHECK-DAG:     %[[VS:.+]] = tile.stream %arg2[%{{.+}}] blocks(%[[LO]] to %[[HI]])
// CHECK:         %[[FULL:.+]]:3 = scf.for %{{.+}} = %[[LO]] to %[[MID:.+]] step
// CHECK:           tile.next %[[KS]]
// CHECK-NOT:       arith.minsi
// CHECK:           tile.next %[[VS]]
// CHECK:         scf.for %{{.+}} = %[[MID]] to %[[HI]] step %{{.+}} iter_args(%{{.+}} = %[[FULL]]#0, %{{.+}} = %[[FULL]]#1, %{{.+}} = %[[FULL]]#2)
// CHECK:           tile.next %[[KS]]
// CHECK:           arith.minsi
// CHECK:           tile.next %[[VS]]
// CHECK:         tile.collect
// CHECK-NOT:     tile.{{load|mask|softmax_update|rescale|finish}}
// CHECK:         tile.return
func.func @causal(%q: tensor<?x?x32x64xf16>, %k: tensor<?x?x8x64xf16>, %v: tensor<?x?x8x64xf16>) -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.causal)
      : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x64xf16>, tensor<?x32x?xf32>
}
