// RUN: flashc-opt %s --tile-use-exp2 --tile-expand-softmax --canonicalize --cse | FileCheck %s
// RUN: not flashc-opt %s --tile-expand-softmax 2>&1 | FileCheck %s --check-prefix=BASE
// BASE: 'tile.probs' op is in base e, but tile-expand-softmax writes out base two only; run tile-use-exp2 before it

// p = 2^fma(s, 0.125 * log2(e), -log2(e) * lse), with the shift made once for each query; a row without keys has the shift -inf. From
// |log2(e) * lse| = 2^22 on the scaled score's distance to lse is taken first.
// CHECK-LABEL: func.func @probs(
// CHECK-SAME:    %[[S:.+]]: tensor<64x32xf32>, %[[LSE:.+]]: tensor<1x32xf32>)
// CHECK-DAG:     %[[C:.+]] = arith.constant 0.180336878 : f32
// CHECK-DAG:     %[[NATS:.+]] = arith.constant 1.250000e-01 : f32
// CHECK-DAG:     %[[NONE:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[LARGE:.+]] = arith.constant 0x4A800000 : f32
// CHECK-DAG:     %[[LOG2E:.+]] = arith.constant 1.44269502 : f32
// CHECK:         %[[SHIFT:.+]]:2 = tile.map ins(%[[LSE]] : tensor<1x32xf32>) -> tensor<1x32xf32>, tensor<1x32xi1>
// CHECK:           ^bb0(%[[L:.+]]: f32):
// CHECK:           %[[N:.+]] = arith.mulf %[[L]]
// CHECK:           %[[EMPTY:.+]] = arith.cmpf oeq, %[[L]], %[[NONE]]
// CHECK:           arith.cmpf oge, %{{.+}}, %[[LARGE]]
// CHECK:           arith.select %[[EMPTY]], %[[NONE]], %[[N]]
// CHECK:         tile.map ins(%[[S]], %[[LSE]], %[[SHIFT]]#0, %[[SHIFT]]#1 : tensor<64x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x32xi1>)
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[L:.+]]: f32, %[[A:.+]]: f32, %[[FAR:.+]]: i1):
// CHECK:           %[[NEAR:.+]] = math.fma %[[X]], %[[C]], %[[A]]
// CHECK:           %[[M:.+]] = arith.mulf %[[X]], %[[NATS]]
// CHECK:           %[[D:.+]] = arith.subf %[[M]], %[[L]]
// CHECK:           %[[E:.+]] = arith.mulf %[[D]], %[[LOG2E]]
// CHECK:           %[[Z:.+]] = arith.select %[[FAR]], %[[E]], %[[NEAR]]
// CHECK:           math.exp2 %[[Z]]
func.func @probs(%s: tensor<64x32xf32>, %lse: tensor<1x32xf32>) -> tensor<64x32xf32> {
  %p = tile.probs %s, %lse base(e) scale(0.125) : tensor<64x32xf32>, tensor<1x32xf32>
  return %p : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @gradient(
// CHECK-SAME:    %[[P:.+]]: tensor<64x32xf32>, %[[DP:.+]]: tensor<64x32xf32>, %[[DELTA:.+]]: tensor<1x32xf32>)
// CHECK:         tile.map ins(%[[P]], %[[DP]], %[[DELTA]] : tensor<64x32xf32>, tensor<64x32xf32>, tensor<1x32xf32>)
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32, %[[Z:.+]]: f32):
// CHECK-NEXT:      %[[D:.+]] = arith.subf %[[Y]], %[[Z]]
// CHECK-NEXT:      %[[R:.+]] = arith.mulf %[[X]], %[[D]]
// CHECK-NEXT:      tile.yield %[[R]]
// CHECK:         tile.map ins(%[[P]], %[[DP]], %[[DELTA]]
// CHECK:           %[[NONE:.+]] = arith.cmpf oeq, %[[X:.+]], %{{.+}} : f32
// CHECK:           arith.select %[[NONE]]
func.func @gradient(%p: tensor<64x32xf32>, %dp: tensor<64x32xf32>, %delta: tensor<1x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %a = tile.probs_gradient %p, %dp, %delta : tensor<64x32xf32>, tensor<1x32xf32>
  %b = tile.probs_gradient %p, %dp, %delta guarded : tensor<64x32xf32>, tensor<1x32xf32>
  return %a, %b : tensor<64x32xf32>, tensor<64x32xf32>
}

// Rows are keys: i is compared with a bound that is the same for the whole row, i >= j + 3 and i <= sq - 1.
// CHECK-LABEL: func.func @transposed_mask(
// CHECK-SAME:    %[[S:.+]]: tensor<64x32xf32>, %[[I0:.+]]: index, %[[J0:.+]]: index, %[[SQ:.+]]: index)
// CHECK-DAG:     %[[C3:.+]] = arith.constant 3 : index
// CHECK:         %[[LAST:.+]] = arith.addi %[[SQ]], %{{.+}}
// CHECK:         tile.map ins(%[[S]] : tensor<64x32xf32>) at(%[[J0]], %[[I0]])
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[J:.+]]: index, %[[I:.+]]: index):
// CHECK-DAG:       %[[LOW:.+]] = arith.addi %[[J]], %[[C3]]
// CHECK-DAG:       %[[A:.+]] = arith.cmpi sge, %[[I]], %[[LOW]]
// CHECK-DAG:       %[[B:.+]] = arith.cmpi sle, %[[I]], %[[LAST]]
// CHECK:           %[[V:.+]] = arith.andi %[[A]], %[[B]]
// CHECK:           arith.select %[[V]], %[[X]]
func.func @transposed_mask(%s: tensor<64x32xf32>, %i0: index, %j0: index, %sq: index) -> tensor<64x32xf32> {
  %m = tile.mask %s at(%i0, %j0) transposed symbols(%sq) sets([affine_set<(i, j)[sq] : (i - j - 3 >= 0, sq - 1 - i >= 0)>]) : tensor<64x32xf32>
  return %m : tensor<64x32xf32>
}
