// RUN: flashc-opt %s --convert-tile-to-cpu=vector-bits=256 --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x20xf32, strided<[?, ?, ?, 1], offset: ?>>
!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
#s = #tile.schedule<q = 16, kv = 32, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>

// The transposed factor is read where it lies, columns for rows. Sums that others add to make programs of one head run in order.
// CHECK-LABEL: func.func @transposed(
// CHECK-SAME:    batch = array<i64: 0, 0>, blocks = array<i64: 0, 2>, heads = array<i64: 0, 1>, in_order = true, one_by_one = false, rows = 32 : i64
// CHECK:           %{{.+}}:8 = scf.for %[[K:[^ ]+]] =
// CHECK:             memref.load %{{.+}}[%[[K]], %{{.+}}] : memref<32x16xf32>
// CHECK:             vector.fma
// dq += tile, the last columns by a mask.
// CHECK:         scf.for %[[R:.+]] =
// CHECK:           %[[OLD:.+]] = vector.load %[[DQ:.+]][%{{.+}}, %{{.+}}, %[[AT:.+]], %{{.+}}] : memref<?x?x?x20xf32
// CHECK:           %[[NEW:.+]] = arith.addf %[[OLD]], %{{.+}} : vector<8xf32>
// CHECK:           vector.store %[[NEW]], %[[DQ]]
// CHECK:           vector.maskedload %[[DQ]]
// CHECK:           vector.maskedstore %[[DQ]]
tile.kernel @transposed(%k: !view, %dq: !view {tile.output}) attributes {
    grid = #tile.grid<batch = [0, 0], heads = [0, 1], blocks = [0, 2], rows = 32>, schedule = #s} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16x32xf32>
  %ds = arith.constant dense<1.0> : tensor<32x16xf32>
  %b, %h, %j = tile.program
  %kt = tile.load %k[%b, %h, %j] : !view -> tensor<32x32xf32>
  %x = tile.dot %ds, %kt acc(%zero) transpose_a : tensor<32x16xf32>, tensor<32x32xf32> -> tensor<16x32xf32>
  tile.accumulate %x, %dq[%b, %h, %c0] ordered : tensor<16x32xf32>, !view
  tile.return
}

// Values of rows are read up to the limit; a tile of one row is the same for all rows of a map. A scatter goes lane by lane. Its places
// are its own, so programs may run in any order.
// CHECK-LABEL: func.func @values(
// CHECK-SAME:    batch = array<i64>, blocks = array<i64: 0, 2>, heads = array<i64>, in_order = false, one_by_one = false, rows = 16 : i64
// CHECK:         %[[MASK:.+]] = vector.create_mask %{{.+}} : vector<8xi1>
// CHECK:         %[[V:.+]] = vector.maskedload %{{.+}}, %[[MASK]]
// CHECK:         vector.store %[[V]], %[[ROW:.+]][%{{.+}}, %{{.+}}] : memref<1x16xf32>
// CHECK:         scf.for %[[R:.+]] =
// CHECK:           scf.for %[[C:.+]] =
// CHECK:             vector.load %[[ROW]][%{{.+}}, %[[C]]] : memref<1x16xf32>
// CHECK-COUNT-8: scf.if
tile.kernel @values(%lse: !rows, %out: memref<?xf32> {tile.output}) attributes {
    grid = #tile.grid<batch = [], heads = [], blocks = [0, 2], rows = 16>, schedule = #s} {
  %b, %h, %i = tile.program
  %x = arith.constant dense<1.0> : tensor<32x16xf32>
  %l = tile.load %lse[%b, %h, %i] : !rows -> tensor<1x16xf32>
  %y = tile.map ins(%x, %l : tensor<32x16xf32>, tensor<1x16xf32>) -> tensor<32x16xf32> {
  ^bb0(%a: f32, %c: f32):
    %d = arith.subf %a, %c : f32
    tile.yield %d : f32
  }
  tile.scatter add ins(%y : tensor<32x16xf32>) at(%i, %i) exclusive to %out : memref<?xf32> {
  ^bb0(%v: f32, %r: index, %c: index):
    %inside = arith.cmpi slt, %r, %c : index
    tile.yield %inside, %v, %r : i1, f32, index
  }
  tile.return
}
