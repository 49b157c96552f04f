// RUN: flashc-opt %s --tile-stream-loads --split-input-file | FileCheck %s

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// One stream over the chain of two loops; the load in front of them stays.
// CHECK-LABEL: tile.kernel @chain(
// CHECK-SAME:    %[[Q:.+]]: memref<?x?x?x16xf32>, %[[K:.+]]: memref<?x?x?x16xf32>)
// CHECK:         %[[B:.+]], %[[H:.+]], %[[I:.+]] = tile.program
// CHECK:         tile.load %[[Q]]
// CHECK:         %[[KS:.+]] = tile.stream %[[K]][%[[B]], %[[H]]] blocks(%[[LO:.+]] to %[[HI:.+]]) limit(%[[N:.+]]) : {{.*}} -> !tile.stream<16x16xf32>
// CHECK:         scf.for %[[J:.+]] = %[[LO]] to %[[MID:.+]] step
// CHECK:           tile.next %[[KS]][%[[J]]] : !tile.stream<16x16xf32> -> tensor<16x16xf32>
// CHECK:         scf.for %[[J2:.+]] = %[[MID]] to %[[HI]] step
// CHECK:           tile.next %[[KS]][%[[J2]]]
// CHECK-NOT:     tile.load
tile.kernel @chain(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %b, %h, %i = tile.program
  %n = memref.dim %k, %c2 : memref<?x?x?x16xf32>
  %hi = arith.divui %n, %c16 : index
  %mid = arith.divui %hi, %c2 : index
  %qt = tile.load %q[%b, %h, %c0] : memref<?x?x?x16xf32> -> tensor<32x16xf32>
  %r = scf.for %j = %c0 to %mid step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %t = tile.load %k[%b, %h, %j0] limit(%n) : memref<?x?x?x16xf32> -> tensor<16x16xf32>
    %d = tile.dot %qt, %t acc(%s) transpose_b : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    scf.yield %d : tensor<32x16xf32>
  }
  %r2 = scf.for %j = %mid to %hi step %c1 iter_args(%s = %r) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %t = tile.load %k[%b, %h, %j0] limit(%n) : memref<?x?x?x16xf32> -> tensor<16x16xf32>
    %d = tile.dot %qt, %t acc(%s) transpose_b : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    scf.yield %d : tensor<32x16xf32>
  }
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// Two loops that do not join have a stream each.
// CHECK-LABEL: tile.kernel @gap(
// CHECK:         tile.stream %{{.+}} blocks(%[[C0:.+]] to %[[C4:.+]]) :
// CHECK:         scf.for %{{.+}} = %[[C0]] to %[[C4]]
// CHECK:         tile.stream %{{.+}} blocks(%[[C8:.+]] to %[[C16:.+]]) :
// CHECK:         scf.for %{{.+}} = %[[C8]] to %[[C16]]
tile.kernel @gap(%q: memref<?x?x?x16xf32>) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %b, %h, %i = tile.program
  scf.for %j = %c0 to %c4 step %c1 {
    %j0 = arith.muli %j, %c16 : index
    %t = tile.load %q[%b, %h, %j0] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
  }
  scf.for %j = %c8 to %c16 step %c1 {
    %j0 = arith.muli %j, %c16 : index
    %t = tile.load %q[%b, %h, %j0] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
  }
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// Not block after block, or a block twice: these stay loads.
// CHECK-LABEL: tile.kernel @no_series(
// CHECK-NOT:     tile.stream
// CHECK-COUNT-3: tile.load
tile.kernel @no_series(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %b, %h, %i = tile.program
  scf.for %j = %c0 to %c4 step %c1 {
    %skip = tile.load %q[%b, %h, %j] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
    %j0 = arith.muli %j, %c16 : index
    %once = tile.load %k[%b, %h, %j0] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
    %twice = tile.load %k[%b, %h, %j0] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
  }
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// What is computed again is read by each warp for itself, in loops inside of loops, too.
// CHECK-LABEL: tile.kernel @again(
// CHECK-NOT:     tile.stream
// CHECK:         tile.load
tile.kernel @again(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  %b, %h, %i = tile.program
  %sum = tile.load %q[%b, %h, %i] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
  %any = tile.any_not_finite %sum : tensor<16x16xf32>
  scf.if %any {
    scf.for %g = %c0 to %c4 step %c1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %j0 = arith.muli %j, %c16 : index
        %t = tile.load %k[%b, %g, %j0] : memref<?x?x?x16xf32> -> tensor<16x16xf32>
      }
    }
  }
  tile.return
}
