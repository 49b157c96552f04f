// RUN: flashc --backward --gradients=bias %s --arch=sm_90a --emit=tile | FileCheck %s
// RUN: flashc --backward --gradients=bias %s --arch=sm_90a --emit=manifest | FileCheck %s --check-prefix=MANIFEST
// RUN: flashc --backward --gradients=bias %s --arch=sm_80 --emit=tile | FileCheck %s --check-prefix=PLAIN
//
// The gradient of a 16-bit bias with an element for each query and key: the main kernel with roles writes it from the tile that dK is
// computed from, where the bias has an element for each head, too, and says in `redo` whether something is not finite; then the kernel
// beside has nothing to do. Pairs that no block visits are zeros.

func.func @attention(%q: tensor<?x?x?x128xf16>, %k: tensor<?x?x?x128xf16>, %v: tensor<?x?x?x128xf16>, %bias: tensor<?x?x?xf16>) -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>) {
  %o, %l = attn.forward %q, %k, %v captures(%bias : tensor<?x?x?xf16>) mask(#attn.causal) : tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16>, tensor<?x?x?x128xf16> -> (tensor<?x?x?x128xf16>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?x?x?xf16>):
    %x = tensor.extract %t[%h, %i, %j] : tensor<?x?x?xf16>
    %y = arith.extf %x : f16 to f32
    %r = arith.addf %s, %y : f32
    attn.yield %r : f32
  }
  return %o, %l : tensor<?x?x?x128xf16>, tensor<?x?x?xf32>
}

// CHECK-LABEL: tile.kernel @attention_backward(
// CHECK-SAME:    %[[DB:[a-z0-9]+]]: memref<?xf16> {tile.argument = "dcapture0", tile.output, tile.zeroed}
// CHECK-SAME:    %[[REDO:[a-z0-9]+]]: memref<?x?x?xf32, {{.+}}> {tile.argument = "redo", tile.output, tile.workspace = ["1", "1", "1"], tile.zeroed}
// CHECK:         scf.for
// CHECK:           tile.scatter set ins(%[[DS:[0-9]+]] : tensor<128x64xf16>) {{.*}}to %[[DB]]
// CHECK:           tile.dot %[[DS]], %{{.+}} transpose_a
// CHECK:           tile.accumulate
// CHECK:         tile.scatter set {{.*}}to %[[REDO]]

// CHECK-LABEL: tile.kernel @attention_backward_dcapture0(
// CHECK:         %[[FLAG:.+]] = memref.load
// CHECK:         arith.cmpf oeq, %[[FLAG]],
// CHECK:         scf.for

// MANIFEST:     "waits": true
// MANIFEST:     "name": "redo"
// MANIFEST:     "zeroed_gradients": [
// MANIFEST-NEXT:  0

// PLAIN-NOT: "redo"
