// RUN: flashc-opt %s --convert-tile-to-cpu=vector-bits=512 --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x32xf32, strided<[?, ?, ?, 1], offset: ?>>

// K goes into panels of 4 vectors x 32 (one panel, 64 keys), transposed on the way; 4 x 4 sums are in registers for all k. The
// zero accumulator is no buffer.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    %[[B:.+]]: index, %[[H:.+]]: index, %[[I:.+]]: index, %[[SCRATCH:.+]]: memref<?xi8>, %[[Q:.+]]: memref<?x?x?x32xf32
// CHECK-SAME:    attributes {llvm.emit_c_interface, tile.cpu_kernel = {arguments = [memref<
// CHECK-SAME:    batch = array<i64: 0, 0>, blocks = array<i64: 0, 2>, heads = array<i64: 0, 1>, in_order = false, one_by_one = false, rows = 16 : i64, scratch_bytes = {{[0-9]+}} : i64}}
// CHECK-DAG:     %[[PLAIN:.+]] = memref.view %[[SCRATCH]]{{.*}} to memref<64x32xf32>
// CHECK-DAG:     %[[PACKED:.+]] = memref.view %[[SCRATCH]]{{.*}} to memref<1x32x64xf32>
// CHECK-DAG:     %[[S:.+]] = memref.view %[[SCRATCH]]{{.*}} to memref<16x64xf32>
// CHECK:         vector.load %[[PLAIN]]{{.*}} : memref<64x32xf32>, vector<16xf32>
// CHECK-COUNT-64: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK:         vector.store {{.*}}, %[[PACKED]]
// CHECK:         scf.for %[[ROW:.+]] =
// CHECK:           %[[SUMS:.+]]:16 = scf.for %[[K:.+]] = {{.*}} iter_args(
// CHECK-COUNT-4:     vector.load %[[PACKED]]
// CHECK:             memref.load %{{.+}}[%[[ROW]], %[[K]]] : memref<16x32xf32>
// CHECK-NEXT:        vector.broadcast
// CHECK-COUNT-4:     vector.fma
// CHECK:           vector.store %[[SUMS]]#0, %[[S]]
tile.kernel @transposed(%q: !view, %k: !view, %o: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %b, %h, %i = tile.program
  %a = tile.load %q[%b, %h, %c0] : !view -> tensor<16x32xf32>
  %c = tile.load %k[%b, %h, %c0] : !view -> tensor<64x32xf32>
  %s = tile.dot %a, %c acc(%zero) transpose_b : tensor<16x32xf32>, tensor<64x32xf32> -> tensor<16x64xf32>
  tile.store %s, %o[%b, %h, %c0] : tensor<16x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
  tile.return
}

// V is packed as it is read; the accumulator is updated where it is. Where some V is not finite, a weight of zero adds nothing.
// CHECK-LABEL: func.func @in_place(
// CHECK-DAG:     %[[ACC:.+]] = memref.view {{.*}} to memref<16x32xf32>
// CHECK-DAG:     %[[PACKED:.+]] = memref.view {{.*}} to memref<1x16x32xf32>
// CHECK-NOT:     vector.shuffle
// CHECK:         vector.store %{{.+}}, %[[PACKED]]
// CHECK:         scf.for
// CHECK-NOT:     memref.copy
// CHECK:           %[[SUM:.+]] = arith.cmpf uno
// CHECK:           %[[BAD:.+]] = vector.reduction <or>, %[[SUM]]
// CHECK:           scf.if %[[BAD]]
// CHECK:             vector.load %[[ACC]]
// CHECK:             %[[ZERO:.+]] = arith.cmpf oeq
// CHECK:             %[[NEXT:.+]] = vector.fma
// CHECK:             arith.select %[[ZERO]], %{{.+}}, %[[NEXT]]
// CHECK:           else
// CHECK:             vector.load %[[ACC]]
// CHECK:             vector.fma
// CHECK-NOT:         arith.select
// CHECK:             vector.store %{{.+}}, %[[ACC]]
// CHECK-NOT:     memref.copy
tile.kernel @in_place(%q: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, %v: !view, %n: memref<?xi32>, %o: !view {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %b, %h, %i = tile.program
  %blocks = memref.dim %v, %c2 : !view
  %a = tile.load %q[%b, %h, %c0] : memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>> -> tensor<16x16xf32>
  %start = tile.load %o[%b, %h, %c0] : !view -> tensor<16x32xf32>
  %r = scf.for %j = %c0 to %blocks step %c1 iter_args(%acc = %start) -> (tensor<16x32xf32>) {
    %row = arith.muli %j, %c16 : index
    %c = tile.load %v[%b, %h, %row] : !view -> tensor<16x32xf32>
    %s = tile.dot %a, %c acc(%acc) : tensor<16x16xf32>, tensor<16x32xf32> -> tensor<16x32xf32>
    scf.yield %s : tensor<16x32xf32>
  }
  tile.store %r, %o[%b, %h, %c0] : tensor<16x32xf32>, !view
  tile.return
}

// Read again after the product: then the sum goes elsewhere.
// CHECK-LABEL: func.func @acc_still_needed(
// CHECK-DAG:     %[[START:.+]] = memref.view {{.*}} to memref<16x16xf32>
// CHECK-DAG:     memref.copy %[[START]], %[[ACC:.+]] :
// CHECK:         vector.store %{{.+}}, %[[ACC]]
tile.kernel @acc_still_needed(%q: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>, %o: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>> {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %b, %h, %i = tile.program
  %a = tile.load %q[%b, %h, %c0] : memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>> -> tensor<16x16xf32>
  %s = tile.dot %a, %a acc(%a) : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %a, %o[%b, %h, %c0] : tensor<16x16xf32>, memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
  tile.store %s, %o[%b, %h, %c16] : tensor<16x16xf32>, memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
  tile.return
}
