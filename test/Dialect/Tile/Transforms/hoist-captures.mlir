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

// An array that may be empty is looked at first.
// CHECK-LABEL: func.func @may_be_empty(
// CHECK-SAME:    %[[S:.+]]: tensor<64x64xf32>, %[[U:.+]]: memref<?x4xf32>, %[[H:[a-z0-9]+]]: index
// CHECK:         %[[SIZE:.+]] = memref.dim %[[U]], %{{.+}} : memref<?x4xf32>
// CHECK-NEXT:    %[[SOME:.+]] = arith.cmpi sgt, %[[SIZE]], %{{.+}} : index
// CHECK-NEXT:    %[[W:.+]] = scf.if %[[SOME]] -> (f32) {
// CHECK-NEXT:      %[[LOADED:.+]] = memref.load %[[U]][%[[H]], %[[H]]]
// CHECK-NEXT:      scf.yield %[[LOADED]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[NONE:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      scf.yield %[[NONE]]
// CHECK:         scf.for
// CHECK-NOT:       memref.load
// CHECK:             arith.addf %{{.+}}, %[[W]]
func.func @may_be_empty(%s: tensor<64x64xf32>, %u: memref<?x4xf32>, %h: index, %n: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %s) -> tensor<64x64xf32> {
    %b = tile.map ins(%a : tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32):
      %w = memref.load %u[%h, %h] : memref<?x4xf32>
      %y = arith.addf %x, %w : f32
      tile.yield %y : f32
    }
    scf.yield %b : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}

// What depends on the block is read where it was.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT:     memref.load
// CHECK:         scf.for %[[J:[a-z0-9]+]] =
// CHECK-NOT:       memref.load
// CHECK:           tile.map ins(
// CHECK:             memref.load %{{.+}}[%[[J]]] : memref<32xf32>
func.func @stays(%s: tensor<64x64xf32>, %t: memref<32xf32>, %n: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%a = %s) -> tensor<64x64xf32> {
    %b = tile.map ins(%a : tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32):
      %v = memref.load %t[%j] : memref<32xf32>
      %y = arith.addf %x, %v : f32
      tile.yield %y : f32
    }
    scf.yield %b : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
