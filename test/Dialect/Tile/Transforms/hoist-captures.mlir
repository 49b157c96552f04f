// RUN: flashc-opt %s --tile-hoist-captures | FileCheck %s

// CHECK-LABEL: func.func @slope(
// CHECK-SAME:    %[[S:.+]]: tensor<64x64xf32>, %[[SLOPES:.+]]: memref<32xf32>,
// CHECK:         %[[SLOPE:.+]] = memref.load %[[SLOPES]][%{{.+}}]
// CHECK:         %[[SQUARE:.+]] = arith.mulf %[[SLOPE]], %[[SLOPE]]
// CHECK:         scf.for
// CHECK:           tile.map ins(%{{.+}}) at
// CHECK-NOT:         memref.load
// CHECK:             arith.sitofp
// CHECK:             math.fma %[[SQUARE]]
func.func @slope(%s: tensor<64x64xf32>, %slopes: memref<32xf32>, %h: index, %n: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %s) -> tensor<64x64xf32> {
    %b = tile.map ins(%a : tensor<64x64xf32>) at(%h, %j) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %row: index, %key: index):
      %slope = memref.load %slopes[%h] : memref<32xf32>
      %square = arith.mulf %slope, %slope : f32
      %k = arith.index_cast %key : index to i32
      %f = arith.sitofp %k : i32 to f32
      %y = math.fma %square, %f, %x : f32
      tile.yield %y : f32
    }
    scf.yield %b : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// What depends on the block, and an array that may be empty, are read where they
// were.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT:     memref.load
// CHECK:         scf.for %[[J:[a-z0-9]+]] =
// CHECK-NOT:       memref.load
// CHECK:           tile.map ins(
// CHECK:             memref.load %{{.+}}[%[[J]]] : memref<32xf32>
// CHECK:             memref.load %{{.+}}[%{{.+}}] : memref<?xf32>
func.func @stays(%s: tensor<64x64xf32>, %t: memref<32xf32>, %u: memref<?xf32>, %h: index, %n: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %s) -> tensor<64x64xf32> {
    %b = tile.map ins(%a : tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32):
      %v = memref.load %t[%j] : memref<32xf32>
      %w = memref.load %u[%h] : memref<?xf32>
      %y = arith.addf %x, %v : f32
      %z = arith.addf %y, %w : f32
      tile.yield %z : f32
    }
    scf.yield %b : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
