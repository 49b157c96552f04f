// RUN: flashc-opt %s --tile-lazy-rescale | FileCheck %s
// RUN: flashc-opt %s --tile-lazy-rescale=threshold=4 | FileCheck %s --check-prefix=FOUR
// RUN: not flashc-opt %s --tile-lazy-rescale=threshold=16 2>&1 | FileCheck %s --check-prefix=HIGH
// RUN: not flashc-opt %s --tile-lazy-rescale=threshold=0 2>&1 | FileCheck %s --check-prefix=ZERO

// HIGH: tile-lazy-rescale: threshold 1.600000e+01 is outside 0 to 1.500000e+01, where f16 probabilities overflow; use 8
// ZERO: tile-lazy-rescale: threshold 0.000000e+00 is outside 0 to 1.500000e+01

// CHECK-LABEL: func.func @becomes_lazy(
// CHECK-SAME:    %[[S:.+]]: tensor<64x128xf32>, %[[M:.+]]: tensor<64xf32>, %[[L:.+]]: tensor<64xf32>
// CHECK:         tile.softmax_update %[[S]], %[[M]], %[[L]] base(two) scale({{0.18|1.800000e-01}}) lazy({{8.0.*}})
// FOUR:          lazy(4.000000e+00)
func.func @becomes_lazy(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x128xf32> {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.18) : tensor<64x128xf32>, tensor<64xf32>
  return %p : tensor<64x128xf32>
}

// A threshold that stands already is kept.
// CHECK-LABEL: func.func @stays_lazy(
// CHECK:         lazy(2.000000e+00)
func.func @stays_lazy(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x128xf32> {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.18) lazy(2.0) : tensor<64x128xf32>, tensor<64xf32>
  return %p : tensor<64x128xf32>
}

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = always, apart = true, ahead = false, skip = false>>

// Roles that say `always` have no slack.
// CHECK-LABEL: tile.kernel @stays_exact(
// CHECK:         tile.softmax_update
// CHECK-NOT:     lazy(
tile.kernel @stays_exact(%q: memref<?x?x?x64xf32>) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %m = arith.constant dense<0xFF800000> : tensor<64xf32>
  %l = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %s = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf32> -> tensor<64x64xf32>
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  tile.return
}
