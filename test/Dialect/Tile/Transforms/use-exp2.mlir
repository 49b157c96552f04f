// RUN: flashc-opt %s --tile-use-exp2 --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @folds_log2e(
// CHECK-SAME:    %[[S:.+]]: tensor<64x128xf32>, %[[M:.+]]: tensor<64xf32>, %[[L:.+]]: tensor<64xf32>
// CHECK:         tile.softmax_update %[[S]], %[[M]], %[[L]] base(two) scale(0.180336878)
func.func @folds_log2e(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x128xf32> {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(e) scale(0.125) : tensor<64x128xf32>, tensor<64xf32>
  return %p : tensor<64x128xf32>
}

// -----

// CHECK-LABEL: func.func @folds_log2e_into_finish(
// CHECK:         tile.finish %{{.+}}, %{{.+}}, %{{.+}} base(two) scale(0.180336878)
func.func @folds_log2e_into_finish(%acc: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64xf32> {
  %o, %lse = tile.finish %acc, %m, %l base(e) scale(0.125) : tensor<64x128xf32>, tensor<64xf32>
  return %lse : tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @base_two_stays(
// CHECK:         tile.softmax_update %{{.+}}, %{{.+}}, %{{.+}} base(two) scale(1.250000e-01)
func.func @base_two_stays(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64x128xf32> {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.125) : tensor<64x128xf32>, tensor<64xf32>
  return %p : tensor<64x128xf32>
}
