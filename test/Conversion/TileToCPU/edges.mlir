// RUN: flashc-opt %s --convert-tile-to-cpu=vector-bits=256 --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x20xbf16, strided<[?, ?, ?, 1], offset: ?>>

// Head dim 20 in a tile of 32 columns: two vectors, half of a third by mask, zeros. Rows past the limit are zeros, too. bf16 is widened by a
// shift. The block is rows 16 j and on.
// CHECK-LABEL: func.func @read_and_write(
// CHECK-DAG:     %[[HALF:.+]] = arith.constant dense<[true, true, true, true, false, false, false, false]> : vector<8xi1>
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK:         %[[ROW:.+]] = arith.muli %{{.+}}, %c16
// CHECK:         %[[LEFT:.+]] = arith.subi %{{.+}}, %[[ROW]]
// CHECK:         %[[SOME:.+]] = arith.maxsi %[[LEFT]], %c0
// CHECK:         %[[COUNT:.+]] = arith.minsi %[[SOME]], %c16
// CHECK:         scf.for %{{.+}} = %c0 to %[[COUNT]]
// CHECK:           %[[RAW:.+]] = vector.load %{{.+}} : memref<{{.*}}>, vector<8xbf16>
// CHECK:           %[[BITS:.+]] = arith.bitcast %[[RAW]] : vector<8xbf16> to vector<8xi16>
// CHECK:           %[[WIDE:.+]] = arith.extui %[[BITS]]
// CHECK:           arith.shli %[[WIDE]]
// CHECK:           vector.load
// CHECK:           vector.maskedload %{{.+}}, %[[HALF]]
// CHECK:           vector.store %[[ZERO]]
// CHECK:         %[[MISSING:.+]] = arith.subi %c16, %[[COUNT]]
// CHECK:         scf.for %{{.+}} = %c0 to %[[MISSING]]
// CHECK-COUNT-4:   vector.store %[[ZERO]]
// CHECK:         scf.for
// CHECK:           arith.trunci %{{.+}} : vector<8xi32> to vector<8xi16>
// CHECK:           vector.store
// CHECK:           vector.maskedstore %{{.+}}, %[[HALF]]
tile.kernel @read_and_write(%k: !view, %o: !view {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  %b, %h, %i = tile.program
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %c5) limit(%c5) : !view -> !tile.stream<16x32xbf16>
  %t = tile.next %ks[%i] : !tile.stream<16x32xbf16> -> tensor<16x32xbf16>
  tile.store %t, %o[%b, %h, %c0] : tensor<16x32xbf16>, !view
  tile.return
}

// The last block first.
// CHECK-LABEL: func.func @longest_first(
// CHECK-SAME:    %[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: memref<?xi8>, %[[Q:[a-z0-9]+]]: memref
// CHECK:         %[[ROWS:.+]] = memref.dim %[[Q]], %c2
// CHECK:         %[[BLOCKS:.+]] = arith.ceildivui %[[ROWS]], %c16
// CHECK:         %[[LAST:.+]] = arith.subi %[[BLOCKS]], %c1
// CHECK:         %[[BLOCK:.+]] = arith.subi %[[LAST]], %[[I]]
// CHECK:         memref.store %{{.+}}, %{{.+}}[%[[B]], %[[H]], %
tile.kernel @longest_first(%q: !view, %lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %b, %h, %i = tile.program longest_first
  tile.store %zeros, %lse[%b, %h, %i] : tensor<16xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  tile.return
}
