// RUN: flashc-opt %s --attn-derive-backward="gradients=0" --convert-attn-to-tile="arch=cpu tiles=32x64" --canonicalize --cse --split-input-file | FileCheck %s

!t = tensor<?x?x?x64xf16>
!rows = tensor<?x?x?xf32>

// A bias for each head, query and key: nothing is added in the main kernel. A kernel of its own owns a block of the bias' elements, goes
// over all batches, and writes to places that nobody else does: to the gradient, or where it has other sizes than queries and keys, as
// elements past the end are the last one's, to an array of sums.
// CHECK-LABEL: tile.kernel @bias_backward(
// CHECK-NOT:     tile.scatter
// CHECK-LABEL: tile.kernel @bias_backward_dq(
// CHECK-LABEL: tile.kernel @bias_backward_dcapture0(
// CHECK-SAME:    %[[BIAS:[^:]+]]: memref<?x?x?xf32> {attn.name = "bias", tile.argument = "capture0"}
// CHECK-SAME:    %[[SUM:[^:]+]]: memref<?x?x?xf32, {{[^{]+}} {tile.argument = "dcapture0_sum", tile.output, tile.workspace = ["1", "1", "capture 0 unless queries 1 keys 2"], tile.zeroed}
// CHECK-SAME:    %[[GRADIENT:[^:]+]]: memref<?xf32> {tile.argument = "dcapture0", tile.output})
// CHECK-SAME:    grid = #tile.grid<batch = [], heads = [6, 0], blocks = [6, 1], rows = 32>
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             scf.for
// CHECK:               %[[ACC:.+]] = scf.for
// CHECK:                 scf.for
// CHECK:                   tile.probs_gradient
// CHECK:               %[[SUMS:.+]] = memref.dim %[[SUM]], %c2
// CHECK:               %[[DIRECT:.+]] = arith.cmpi eq, %[[SUMS]], %c0
// CHECK:               scf.if %[[DIRECT]]
// CHECK:                 tile.scatter set ins(%[[ACC]] : tensor<64x32xf32>) at(%{{.+}}, %{{.+}}) exclusive to %[[GRADIENT]]
// CHECK:               } else {
// CHECK:                 tile.scatter add ins(%[[ACC]] : tensor<64x32xf32>) at(%{{.+}}, %{{.+}}) exclusive to %[[SUM]]
// CHECK-LABEL: tile.kernel @bias_backward_dcapture0_sum(
// CHECK-SAME:    {tile.argument = "dcapture0", tile.output}
// CHECK:         tile.scatter set
func.func @bias(%q: !t, %bias: tensor<?x?x?xf32> {attn.name = "bias"}) -> !t {
  %o, %lse = attn.forward %q, %q, %q captures(%bias : tensor<?x?x?xf32>) : !t, !t, !t -> (!t, !rows) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<?x?x?xf32>):
    %x = tensor.extract %m[%h, %i, %j] : tensor<?x?x?xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  }
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xf16>
!rows = tensor<?x?x?xf32>

// A slope for each head: rows are summed up over all queries, and added once for each head.
// CHECK-LABEL: tile.kernel @slopes_backward(
// CHECK-SAME:    %[[SUM:[^:]+]]: memref<?x?x?xf32, {{[^{]+}} {tile.argument = "dcapture0_sum", tile.output, tile.workspace = ["batch", "kv_heads", "capture 0"], tile.zeroed})
// CHECK:         scf.for
// CHECK:           %[[R:.+]]:3 = scf.for {{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %[[ROWS:.+]] = %{{.+}}) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64xf32>)
// CHECK-NOT:         tile.scatter
// CHECK:             tile.reduce add %{{.+}} init(%[[ROWS]]) deferred : tensor<64x32xf32>, tensor<64xf32>
// CHECK:           %[[WHOLE:.+]] = tile.collect %[[R]]#2
// CHECK:           tile.scatter add ins(%[[WHOLE]] : tensor<64xf32>) at(%{{.+}}) to %[[SUM]]
// CHECK-LABEL: tile.kernel @slopes_backward_dq(
// CHECK-NOT:   tile.kernel @slopes_backward_dcapture0(
// CHECK-LABEL: tile.kernel @slopes_backward_dcapture0_sum(
// CHECK:         arith.truncf %{{.+}} : f32 to bf16
func.func @slopes(%q: !t, %slopes: tensor<?xbf16>) -> !t {
  %o, %lse = attn.forward %q, %q, %q captures(%slopes : tensor<?xbf16>) : !t, !t, !t -> (!t, !rows) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<?xbf16>):
    %x = tensor.extract %m[%h] : tensor<?xbf16>
    %y = arith.extf %x : bf16 to f32
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %z = arith.mulf %y, %df : f32
    %r = arith.addf %s, %z : f32
    attn.yield %r : f32
  }
  return %o : !t
}

// -----

!t = tensor<?x?x?x64xf16>
!rows = tensor<?x?x?xf32>

// A table by distance: every element of a pair's block is added by itself. Indices outside mean the ends, as they do where it is read.
// CHECK-LABEL: tile.kernel @relative_backward(
// CHECK:         tile.scatter add ins(%{{.+}}, %{{.+}} : tensor<64x32xf32>, tensor<64x32xf32>) at(%{{.+}}, %{{.+}}) to
// CHECK-NEXT:    ^bb0(%[[X:.+]]: f32, %{{.+}}: f32, %[[J:.+]]: index, %[[I:.+]]: index):
// CHECK-DAG:       %[[D:.+]] = arith.subi %[[J]], %[[I]]
// CHECK:           %[[LOW:.+]] = arith.minsi %[[D]]
// CHECK:           %[[AT:.+]] = arith.maxsi %[[LOW]]
// CHECK:           tile.yield %{{.+}}, %[[X]], %{{.+}}, %{{.+}}, %[[AT]] : i1, f32, index, index, index
func.func @relative(%q: !t, %table: tensor<64xf32>) -> !t {
  %o, %lse = attn.forward %q, %q, %q captures(%table : tensor<64xf32>) : !t, !t, !t -> (!t, !rows) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<64xf32>):
    %d = arith.subi %j, %i : index
    %x = tensor.extract %m[%d] : tensor<64xf32>
    %r = arith.addf %s, %x : f32
    attn.yield %r : f32
  }
  return %o : !t
}
