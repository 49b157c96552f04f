// RUN: flashc-opt %s --tile-split-loops --canonicalize --cse --split-input-file | FileCheck %s
//
// A key block is fixed (j0 .. j0 + 32), query blocks of 16 go by: which loops there are, their bounds, and which keep the mask.

#s = #tile.schedule<q = 16, kv = 32, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// Causal, top-left: queries from the key block's first key on see some key of it, from its last key on all of them, if they are all
// there; the last queries may be past the end. Guards stay where the mask does.
// CHECK-LABEL: tile.kernel @causal(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[J0:.+]] = arith.muli %{{.+}}, %[[C32]]
// CHECK-DAG:     %[[SQ:.+]] = memref.dim %arg0
// CHECK-DAG:     %[[SK:.+]] = memref.dim %arg1
// CHECK:         %[[FIRST:.+]] = arith.divui %[[J0]], %[[C16]]
// CHECK:         %[[INSIDE:.+]] = arith.cmpi sge, %{{.+}}, %[[C0]]
// CHECK:         scf.for %{{.+}} = %[[LO:.+]] to %[[FULL:.+]] step
// CHECK:           tile.mask %{{.+}} at(%{{.+}}, %[[J0]]) transposed
// CHECK:           tile.probs_gradient {{.+}} guarded
// CHECK:           tile.dot {{.+}} guarded
// CHECK:         scf.for %{{.+}} = %[[FULL]] to %[[END:.+]] step
// CHECK-NOT:       tile.mask
// CHECK-NOT:       guarded
// CHECK:         scf.for %{{.+}} = %[[END]] to %{{.+}} step
// CHECK:           tile.mask
// CHECK:           tile.dot {{.+}} guarded
// CHECK-NOT:     scf.for
tile.kernel @causal(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>, %o: memref<?x?x?x16xf32> {tile.output}) attributes {
    grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 32>, schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %rows = arith.constant dense<1.0> : tensor<32xf32>
  %b, %h, %j = tile.program
  %j0 = arith.muli %j, %c32 : index
  %sq = memref.dim %q, %c2 : memref<?x?x?x16xf32>
  %sk = memref.dim %k, %c2 : memref<?x?x?x16xf32>
  %up = arith.addi %sq, %c15 : index
  %n = arith.divui %up, %c16 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %i0 = arith.muli %i, %c16 : index
    %s1 = tile.mask %s at(%i0, %j0) transposed symbols(%sq, %sk)
        sets([affine_set<(i, j)[sq, sk] : (i - j >= 0, sk - 1 - j >= 0, sq - 1 - i >= 0)>]) : tensor<32x16xf32>
    %g = tile.probs_gradient %s1, %s, %rows guarded : tensor<32x16xf32>, tensor<32xf32>
    %d = tile.dot %g, %x acc(%s) guarded : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    scf.yield %d : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %j0] : tensor<32x16xf32>, memref<?x?x?x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 16, kv = 32, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// The range of queries in numbers: a window of 3 to the left and keys 0 to 31 of 64 keys and queries. Query i sees keys i - 3 to i, so that
// queries 0 to 34 see some key of the block: query blocks 0 to 2, the last of which stands alone; none sees all 32. The bound %c0 of the
// loop is the first key too, and stays that.
// CHECK-LABEL: tile.kernel @window(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK:         scf.for %{{.+}} = %[[C0]] to %[[C2]] step
// CHECK:           tile.mask %{{.+}} at(%{{.+}}, %[[C0]]) transposed
// CHECK:         tile.mask %{{.+}} at(%[[C32]], %[[C0]]) transposed
// CHECK-NOT:     tile.mask
tile.kernel @window(%q: memref<1x1x64x16xf32>, %o: memref<1x1x64x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %b, %h, %j = tile.program
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %i0 = arith.muli %i, %c16 : index
    %s1 = tile.mask %s at(%i0, %c0) transposed symbols()
        sets([affine_set<(i, j) : (i - j >= 0, j - i + 3 >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %c0] : tensor<32x16xf32>, memref<1x1x64x16xf32>
  tile.return
}
