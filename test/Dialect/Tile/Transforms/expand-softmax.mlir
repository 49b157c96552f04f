// RUN: flashc-opt %s --tile-expand-softmax --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// The accumulator is scaled under the branch that raises the maximum; p is one
// fused multiply-add and 2^x; where |c*m| is large, m is subtracted before it.
// CHECK-LABEL: func.func @update(
// CHECK-SAME:    %[[S:.+]]: tensor<16x32xf32>, %[[M:[^:]+]]: tensor<16xf32>, %[[L:[^:]+]]: tensor<16xf32>, %[[ACC:[^:]+]]: tensor<16x16xf32>
// CHECK-DAG:     %[[C:.+]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG:     %[[NEG:.+]] = arith.constant -2.500000e-01 : f32
// CHECK-DAG:     %[[SLACK:.+]] = arith.constant 3.200000e+01 : f32
// CHECK-DAG:     %[[LARGE:.+]] = arith.constant 0x4A800000 : f32
// CHECK:         %[[MB:.+]] = tile.reduce max %[[S]] init(%[[M]])
// CHECK:         %[[RAISED:.+]] = tile.map ins(%[[M]], %[[MB]] :
// CHECK:           %[[D:.+]] = arith.subf
// CHECK:           arith.cmpf ogt, %[[D]], %[[SLACK]]
// CHECK:         %[[ANY:.+]] = tile.any %[[RAISED]]
// CHECK:         %[[IF:.+]]:3 = scf.if %[[ANY]]
// CHECK:           %[[NEW:.+]]:2 = tile.map ins(%[[M]], %[[MB]], %[[RAISED]] :
// CHECK:             math.exp2
// CHECK:           %[[L1:.+]] = tile.map ins(%[[L]], %[[NEW]]#1 :
// CHECK:             arith.mulf
// CHECK:           %[[ACC1:.+]] = tile.map ins(%[[ACC]], %[[NEW]]#1 :
// CHECK:             arith.mulf
// CHECK:           scf.yield %[[NEW]]#0, %[[L1]], %[[ACC1]]
// CHECK:         } else {
// CHECK:           scf.yield %[[M]], %[[L]], %[[ACC]]
// CHECK:         %[[SHIFT:.+]]:2 = tile.map ins(%[[IF]]#0 :
// CHECK:           arith.mulf %{{.+}}, %[[NEG]]
// CHECK:           arith.cmpf oge, %{{.+}}, %[[LARGE]]
// CHECK:         %[[FAR:.+]] = tile.any %[[SHIFT]]#1
// CHECK:         %[[X:.+]]:2 = scf.if %[[FAR]]
// CHECK:           %[[DIFF:.+]] = tile.map ins(%[[S]], %[[IF]]#0 :
// CHECK:             arith.subf
// CHECK:           %[[NONE:.+]] = tile.map
// CHECK:           scf.yield %[[DIFF]], %[[NONE]]
// CHECK:         } else {
// CHECK:           scf.yield %[[S]], %[[SHIFT]]#0
// CHECK:         %[[P:.+]] = tile.map ins(%[[X]]#0, %[[X]]#1 :
// CHECK-NEXT:      ^bb0(%[[Y:.+]]: f32, %[[Z:.+]]: f32):
// CHECK-NEXT:        %[[E:.+]] = math.fma %[[Y]], %[[C]], %[[Z]]
// CHECK-NEXT:        %[[PE:.+]] = math.exp2 %[[E]]
// CHECK-NEXT:        tile.yield %[[PE]]
// CHECK:         %[[SUM:.+]] = tile.reduce add %[[P]] init(%[[IF]]#1) deferred
// CHECK:         %[[TOTAL:.+]] = tile.collect %[[SUM]]
// CHECK:         return %[[P]], %[[IF]]#0, %[[TOTAL]], %[[IF]]#2
func.func @update(%s: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %acc: tensor<16x16xf32>)
    -> (tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>) {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.25) lazy(8.0) : tensor<16x32xf32>, tensor<16xf32>
  %acc1 = tile.rescale %acc by %alpha : tensor<16x16xf32>, tensor<16xf32>
  %sum = tile.collect %l1 : tensor<16xf32>
  return %p, %m1, %sum, %acc1 : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>
}

// -----

// Without lazy a row is raised by any larger score; alpha that is used besides
// is 1 where no row was.
// CHECK-LABEL: func.func @alpha_leaves(
// CHECK-DAG:     %[[ONES:.+]] = arith.constant dense<1.000000e+00> : tensor<16xf32>
// CHECK:         arith.cmpf ogt
// CHECK-NOT:     arith.subf
// CHECK:         %[[IF:.+]]:3 = scf.if
// CHECK:         } else {
// CHECK:           scf.yield %{{.+}}, %{{.+}}, %[[ONES]]
// CHECK:         return %[[IF]]#0, %{{.+}}, %[[IF]]#2
func.func @alpha_leaves(%s: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.25) : tensor<16x32xf32>, tensor<16xf32>
  %sum = tile.collect %l1 : tensor<16xf32>
  return %m1, %sum, %alpha : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: func.func @rescale(
// CHECK-SAME:    %[[O:.+]]: tensor<16x32xf32>, %[[F:.+]]: tensor<16xf32>
// CHECK:         tile.map ins(%[[O]], %[[F]] : tensor<16x32xf32>, tensor<16xf32>) -> tensor<16x32xf32> {
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32):
// CHECK-NEXT:      arith.mulf %[[X]], %[[Y]]
func.func @rescale(%o: tensor<16x32xf32>, %f: tensor<16xf32>) -> tensor<16x32xf32> {
  %r = tile.rescale %o by %f : tensor<16x32xf32>, tensor<16xf32>
  return %r : tensor<16x32xf32>
}

// -----

// One division a row; a row without keys gives 0 and -inf.
// CHECK-LABEL: func.func @finish(
// CHECK-SAME:    %[[ACC:.+]]: tensor<16x32xf32>, %[[M:[^:]+]]: tensor<16xf32>, %[[L:[^:]+]]: tensor<16xf32>
// CHECK-DAG:     %[[NATS:.+]] = arith.constant 0.173286796 : f32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[NINF:.+]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[SUM:.+]] = tile.collect %[[L]]
// CHECK:         %[[ENDS:.+]]:2 = tile.map ins(%[[M]], %[[SUM]] :
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32):
// CHECK:           %[[NONE:.+]] = arith.cmpf oeq, %[[Y]], %[[ZERO]]
// CHECK:           %[[INV:.+]] = arith.divf
// CHECK:           %[[LSE:.+]] = math.fma %[[X]], %[[NATS]]
// CHECK:           %[[R0:.+]] = arith.select %[[NONE]], %[[ZERO]], %[[INV]]
// CHECK:           %[[R1:.+]] = arith.select %[[NONE]], %[[NINF]], %[[LSE]]
// CHECK:           tile.yield %[[R0]], %[[R1]]
// CHECK:         %[[O:.+]] = tile.map ins(%[[ACC]], %[[ENDS]]#0 :
// CHECK:           arith.mulf
// CHECK:         return %[[O]], %[[ENDS]]#1
func.func @finish(%acc: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) -> (tensor<16x32xf32>, tensor<16xf32>) {
  %o, %lse = tile.finish %acc, %m, %l base(two) scale(0.25) : tensor<16x32xf32>, tensor<16xf32>
  return %o, %lse : tensor<16x32xf32>, tensor<16xf32>
}

// -----

// A causal mask is one comparison an element: both upper bounds depend on the
// row alone, and what does not depend on it either is outside.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME:    %[[S:.+]]: tensor<16x32xf32>, %[[I0:[^:]+]]: index, %[[J0:[^:]+]]: index, %[[SQ:[^:]+]]: index, %[[SK:[^:]+]]: index
// CHECK:         %[[OFF:.+]] = arith.subi %[[SK]], %[[SQ]]
// CHECK:         %[[LAST:.+]] = arith.addi %[[SK]], %{{.+}}
// CHECK:         tile.map ins(%[[S]] : tensor<16x32xf32>) at(%[[I0]], %[[J0]]) -> tensor<16x32xf32> {
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[I:.+]]: index, %[[J:.+]]: index):
// CHECK-NEXT:      %[[DIAGONAL:.+]] = arith.addi %[[I]], %[[OFF]]
// CHECK-NEXT:      %[[BOUND:.+]] = arith.minsi %[[DIAGONAL]], %[[LAST]]
// CHECK-NEXT:      %[[IN:.+]] = arith.cmpi sle, %[[J]], %[[BOUND]]
// CHECK-NEXT:      %[[Y:.+]] = arith.select %[[IN]], %[[X]], %{{.+}}
// CHECK-NEXT:      tile.yield %[[Y]]
func.func @causal(%s: tensor<16x32xf32>, %i0: index, %j0: index, %sq: index, %sk: index) -> tensor<16x32xf32> {
  %r = tile.mask %s at(%i0, %j0) symbols(%sq, %sk)
      sets([affine_set<(i, j)[sq, sk] : (i + sk - sq - j >= 0, sk - 1 - j >= 0)>]) : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}

// -----

// Bounds on both sides, in two sets; an inequality without j.
// CHECK-LABEL: func.func @union(
// CHECK:         tile.map
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %[[I:.+]]: index, %[[J:.+]]: index):
// CHECK:           arith.cmpi sge, %[[J]]
// CHECK:           arith.cmpi sle, %[[J]]
// CHECK:           %[[A:.+]] = arith.andi
// CHECK:           arith.cmpi sge
// CHECK:           arith.cmpi sle, %[[J]]
// CHECK:           %[[B:.+]] = arith.andi
// CHECK:           %[[IN:.+]] = arith.ori %[[A]], %[[B]]
// CHECK:           arith.select %[[IN]], %[[X]]
func.func @union(%s: tensor<16x32xf32>, %i0: index, %j0: index) -> tensor<16x32xf32> {
  %r = tile.mask %s at(%i0, %j0) symbols()
      sets([affine_set<(i, j) : (j - i + 4 >= 0, i - j >= 0)>, affine_set<(i, j) : (i - 5 >= 0, 7 - j >= 0)>]) : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}

// -----

// CHECK-LABEL: func.func @nothing_visible(
// CHECK-DAG:     %[[NINF:.+]] = arith.constant 0xFF800000 : f32
// CHECK:         tile.yield %[[NINF]]
func.func @nothing_visible(%s: tensor<16x32xf32>, %i0: index, %j0: index) -> tensor<16x32xf32> {
  %r = tile.mask %s at(%i0, %j0) symbols() sets([]) : tensor<16x32xf32>
  return %r : tensor<16x32xf32>
}

// -----

func.func @base_e(%s: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) -> tensor<16x32xf32> {
  // expected-error @+1 {{is in base e, but tile-expand-softmax writes out base two only; run tile-use-exp2 before it}}
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(e) scale(0.25) : tensor<16x32xf32>, tensor<16xf32>
  return %p : tensor<16x32xf32>
}

// -----

func.func @finish_base_e(%s: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) -> tensor<16xf32> {
  // expected-error @+1 {{is in base e, but tile-expand-softmax writes out base two only; run tile-use-exp2 before it}}
  %o, %lse = tile.finish %s, %m, %l base(e) scale(0.25) : tensor<16x32xf32>, tensor<16xf32>
  return %lse : tensor<16xf32>
}
