// RUN: flashc-opt %s --tile-use-exp2 --tile-expand-softmax --canonicalize --cse | FileCheck %s
// RUN: not flashc-opt %s --tile-expand-softmax 2>&1 | FileCheck %s --check-prefix=BASE
// BASE: 'tile.probs' op is in base e, but tile-expand-softmax writes out base two only; run tile-use-exp2 before it

// p = 2^(log2(e) * (0.125 * s - lse)): the difference first, which is exact where it is small. A row without keys is infinitely far.
// CHECK-LABEL: func.func @probs(
// CHECK-SAME:    %[[S:.+]]: tensor<64x32xf32>, %[[LSE:.+]]: tensor<1x32xf32>)
// CHECK-DAG:     %[[NATS:.+]] = arith.constant 1.250000e-01 : f32
// CHECK-DAG:     %[[NONE:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[FAR:.+]] = arith.constant 0x7F800000 : f32
// CHECK-DAG:     %[[LOG2E:.+]] = arith.constant 1.44269502 : f32
// CHECK:         %[[LIMIT:.+]] = tile.map ins(%[[LSE]] : tensor<1x32xf32>) -> tensor<1x32xf32>
// CHECK-NEXT:    ^bb0(%[[L:.+]]: f32):
// CHECK-NEXT:      %[[EMPTY:.+]] = arith.cmpf oeq, %[[L]], %[[NONE]]
// CHECK-NEXT:      arith.select %[[EMPTY]], %[[FAR]], %[[L]]
// CHECK:         tile.map ins(%[[S]], %[[LIMIT]] : tensor<64x32xf32>, tensor<1x32xf32>)
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[L:.+]]: f32):
// CHECK-NEXT:      %[[M:.+]] = arith.mulf %[[X]], %[[NATS]]
// CHECK-NEXT:      %[[D:.+]] = arith.subf %[[M]], %[[L]]
// CHECK-NEXT:      %[[E:.+]] = arith.mulf %[[D]], %[[LOG2E]]
// CHECK-NEXT:      math.exp2 %[[E]]
func.func @probs(%s: tensor<64x32xf32>, %lse: tensor<1x32xf32>) -> tensor<64x32xf32> {
  %p = tile.probs %s, %lse base(e) scale(0.125) : tensor<64x32xf32>, tensor<1x32xf32>
  return %p : tensor<64x32xf32>
}

// Values that an exponent starts from: one operation.
// CHECK-LABEL: func.func @from_exponent(
// CHECK-SAME:    %[[S:.+]]: tensor<64x32xf32>, %[[START:.+]]: tensor<1x32xf32>)
// CHECK:         %[[SCALE:.+]] = arith.constant 0.180336878 : f32
// CHECK-NEXT:    tile.map ins(%[[S]], %[[START]] : tensor<64x32xf32>, tensor<1x32xf32>)
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[L:.+]]: f32):
// CHECK-NEXT:      %[[E:.+]] = math.fma %[[X]], %[[SCALE]], %[[L]]
// CHECK-NEXT:      math.exp2 %[[E]]
func.func @from_exponent(%s: tensor<64x32xf32>, %start: tensor<1x32xf32>) -> tensor<64x32xf32> {
  %p = tile.probs %s, %start base(e) scale(0.125) as_exponent : tensor<64x32xf32>, tensor<1x32xf32>
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

// A product that starts at zero starts at -delta instead.
// CHECK-LABEL: func.func @from_product(
// CHECK-SAME:    %[[P:.+]]: tensor<64x32xf32>, %[[V:.+]]: tensor<64x16xf16>, %[[DO:.+]]: tensor<32x16xf16>, %[[DELTA:.+]]: tensor<1x32xf32>)
// CHECK:         %[[START:.+]] = tile.map ins(%{{.+}}, %[[DELTA]] : tensor<64x32xf32>, tensor<1x32xf32>)
// CHECK:           arith.negf
// CHECK:         %[[DP:.+]] = tile.dot %[[V]], %[[DO]] acc(%[[START]]) transpose_b
// CHECK:         tile.map ins(%[[P]], %[[DP]] : tensor<64x32xf32>, tensor<64x32xf32>)
// CHECK-NOT:       arith.subf
func.func @from_product(%p: tensor<64x32xf32>, %v: tensor<64x16xf16>, %do: tensor<32x16xf16>, %delta: tensor<1x32xf32>) -> tensor<64x32xf32> {
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %dp = tile.dot %v, %do acc(%zero) transpose_b : tensor<64x16xf16>, tensor<32x16xf16> -> tensor<64x32xf32>
  %ds = tile.probs_gradient %p, %dp, %delta : tensor<64x32xf32>, tensor<1x32xf32>
  return %ds : tensor<64x32xf32>
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
