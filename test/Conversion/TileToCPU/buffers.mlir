// RUN: flashc-opt %s --convert-tile-to-cpu --canonicalize --cse | FileCheck %s

!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

// Two tiles that change places in every iteration: one is set aside.
// CHECK-LABEL: func.func @swap(
// CHECK-DAG:     %[[A:.+]] = memref.view %{{.+}}[%c0][] : memref<?xi8> to memref<16xf32>
// CHECK-DAG:     %[[B:.+]] = memref.view %{{.+}}[%c64][]
// CHECK-DAG:     %[[SPARE:.+]] = memref.view %{{.+}}[%c128][]
// CHECK:         scf.for
// CHECK:           memref.copy %[[B]], %[[SPARE]]
// CHECK:           memref.copy %[[A]], %[[B]]
// CHECK:           memref.copy %[[SPARE]], %[[A]]
tile.kernel @swap(%q: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, %lse: !rows {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %ones = arith.constant dense<1.0> : tensor<16xf32>
  %b, %h, %i = tile.program
  %r:2 = scf.for %j = %c0 to %i step %c1 iter_args(%x = %zeros, %y = %ones) -> (tensor<16xf32>, tensor<16xf32>) {
    scf.yield %y, %x : tensor<16xf32>, tensor<16xf32>
  }
  tile.store %r#0, %lse[%b, %h, %c0] : tensor<16xf32>, !rows
  tile.store %r#1, %lse[%b, %h, %i] : tensor<16xf32>, !rows
  tile.return
}

// A branch that changes a tile in place, beside one that leaves it: nothing moves. Scalars are results of the scf.if as before.
// CHECK-LABEL: func.func @branch(
// CHECK:         %[[X:.+]] = memref.view {{.*}} to memref<16xf32>
// CHECK-NOT:     memref.view
// CHECK:         scf.if {{.*}} {
// CHECK:           vector.store %{{.+}}, %[[X]]
// CHECK-NOT:     memref.copy
// CHECK:         memref.load %[[X]]
tile.kernel @branch(%q: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, %lse: !rows {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %zero_tile = arith.constant dense<0.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %x = tile.reduce add %zero_tile init(%zeros) deferred : tensor<16x16xf32>, tensor<16xf32>
  %odd = arith.cmpi eq, %i, %c5 : index
  %y, %n = scf.if %odd -> (tensor<16xf32>, index) {
    %z = tile.map ins(%x : tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%e: f32):
      %d = arith.addf %e, %e : f32
      tile.yield %d : f32
    }
    scf.yield %z, %c5 : tensor<16xf32>, index
  } else {
    scf.yield %x, %c0 : tensor<16xf32>, index
  }
  %s = tile.collect %y : tensor<16xf32>
  tile.store %s, %lse[%b, %h, %n] : tensor<16xf32>, !rows
  tile.return
}
