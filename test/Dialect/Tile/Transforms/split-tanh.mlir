// RUN: flashc-opt %s --tile-split-tanh | FileCheck %s

// 5/8 over 0.03125 is 20; the coefficients have the factor's powers in them.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME:    %[[S:.+]]: tensor<64x64xf32>
// CHECK:         %[[W:.+]] = tile.map ins(%[[S]] : tensor<64x64xf32>) -> tensor<64x64xi1> {
// CHECK:           %[[A:.+]] = math.absf
// CHECK:           arith.cmpf ogt, %[[A]], %[[END:.+]] : f32
// CHECK:         %[[C:.+]] = tile.any %[[W]] : tensor<64x64xi1>
// CHECK:         scf.if %[[C]] -> (tensor<64x64xf32>) {
// CHECK:           math.tanh
// CHECK:         } else {
// CHECK:           tile.map ins(%[[S]] : tensor<64x64xf32>)
// CHECK:           ^bb0(%[[X:.+]]: f32):
// CHECK:             %[[Y:.+]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-COUNT-4:     math.fma %{{.+}}, %[[Y]], %{{.+}} : f32
// CHECK:             %[[T:.+]] = arith.mulf %{{.+}}, %[[X]] : f32
// CHECK:             tile.yield %[[T]] : f32
func.func @scaled(%s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    %k = arith.constant 0.03125 : f32
    %y = arith.mulf %x, %k : f32
    %t = math.tanh %y : f32
    tile.yield %t : f32
  }
  return %r : tensor<64x64xf32>
}

// Two of them, one that may be approximate, one of something else than an
// input.
// CHECK-LABEL: func.func @stays(
// CHECK-NOT:     tile.any
func.func @stays(%s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %two = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    %u = math.tanh %t : f32
    tile.yield %u : f32
  }
  %fast = tile.map ins(%two : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    %t = math.tanh %x fastmath<afn> : f32
    tile.yield %t : f32
  }
  %sum = tile.map ins(%fast : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    %y = arith.addf %x, %x : f32
    %t = math.tanh %y : f32
    tile.yield %t : f32
  }
  return %sum : tensor<64x64xf32>
}
