// RUN: flashc-opt %s --tile-expand-tanh | FileCheck %s

// x P(y) / Q(y) behind a clamp that keeps NaN.
// CHECK-LABEL: func.func @tanh(
// CHECK:         ^bb0(%[[X:.+]]: f32):
// CHECK:           %[[LOW:.+]] = arith.minimumf %[[X]], %{{.+}} : f32
// CHECK:           %[[V:.+]] = arith.maximumf %[[LOW]], %{{.+}} : f32
// CHECK:           %[[Y:.+]] = arith.mulf %[[V]], %[[V]] : f32
// CHECK-COUNT-2:   math.fma %{{.+}}, %[[Y]], %{{.+}} : f32
// CHECK:           %[[P:.+]] = math.fma %{{.+}}, %[[Y]], %{{.+}} : f32
// CHECK:           %[[N:.+]] = arith.mulf %[[P]], %[[V]] : f32
// CHECK-COUNT-3:   math.fma %{{.+}}, %[[Y]], %{{.+}} : f32
// CHECK:           %[[Q:.+]] = math.fma %{{.+}}, %[[Y]], %{{.+}} : f32
// CHECK:           %[[T:.+]] = arith.divf %[[N]], %[[Q]] fastmath<arcp> : f32
// CHECK:           tile.yield %[[T]] : f32
func.func @tanh(%s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    %t = math.tanh %x : f32
    tile.yield %t : f32
  }
  return %r : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @approximate(
// CHECK:         math.tanh %{{.+}} fastmath<afn> : f32
func.func @approximate(%s: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    %t = math.tanh %x fastmath<afn> : f32
    tile.yield %t : f32
  }
  return %r : tensor<64x64xf32>
}
