// RUN: flashc --backward --gradients=bias %s --arch=sm_90a --emit=tile | FileCheck %s
// RUN: flashc --backward --gradients=bias %s --arch=sm_90a --emit=warp | FileCheck %s --check-prefix=WARP
// RUN: flashc --backward --gradients=bias %s --arch=sm_90a --emit=manifest | FileCheck %s --check-prefix=MANIFEST
// RUN: flashc --backward --deterministic --gradients=bias %s --arch=sm_90a --emit=tile | FileCheck %s --check-prefix=ORDERED
//
// The gradient of a 16-bit bias that all heads and batches share: the main kernel with roles adds the tile that dK is computed from to tiles
// in memory, of which a kernel behind it makes the gradient. Where the bias has other sizes there are none, and where something is not
// finite they are of no use: then the kernel that gathers does it, as it does where the order of additions is fixed. LSE is read
// behind the loads of the bias, which take the registers beside the scores.

func.func @attention(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %bias: tensor<?x?xbf16>) -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  %o, %l = attn.forward %q, %k, %v captures(%bias : tensor<?x?xbf16>) : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?x?xbf16>):
    %x = tensor.extract %t[%i, %j] : tensor<?x?xbf16>
    %y = arith.extf %x : bf16 to f32
    %r = arith.addf %s, %y : f32
    attn.yield %r : f32
  }
  return %o, %l : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}

// CHECK-LABEL: tile.kernel @attention_backward(
// CHECK-SAME:    %[[TILES:[a-z0-9]+]]: memref<?x?x?x64xf32, {{.+}}> {tile.argument = "dcapture0_tiles", tile.output, tile.packed, tile.workspace = ["1", "1", "tiles 64 128 of capture 0 queries 0 keys 1", "64"], tile.zeroed}
// CHECK-NOT:     "dcapture0"
// CHECK:         %[[UP:.+]] = arith.addi %{{.+}}, %c127 : index
// CHECK-NEXT:    %[[BLOCKS:.+]] = arith.divui %[[UP]], %c128 : index
// CHECK-NEXT:    %[[BELOW:.+]] = arith.muli %[[BLOCKS]], %c128 : index
// CHECK-NEXT:    scf.for
// CHECK:           tile.dot %{{[0-9]+}}, %{{.+}} acc(%{{.+}}) : tensor<128x64xbf16>, tensor<64x128xbf16>
// CHECK:           tile.dot %[[DS:[0-9]+]], %{{.+}} acc(%{{.+}}) : tensor<128x64xbf16>, tensor<64x128xbf16>
// CHECK:           %[[WIDE:.+]] = tile.map ins(%[[DS]] : tensor<128x64xbf16>) -> tensor<128x64xf32>
// CHECK:           %[[BLOCK:.+]] = arith.divui %{{.+}}, %c64
// CHECK:           %[[FIRST:.+]] = arith.muli %[[BLOCK]], %[[BELOW]]
// CHECK:           %[[ROW:.+]] = arith.addi %[[FIRST]],
// CHECK:           tile.accumulate %[[WIDE]], %[[TILES]][%c0, %c0, %[[ROW]]]
// CHECK:           %[[S:.+]] = tile.dot %{{.+}} transpose_b
// CHECK-NOT:       tile.load
// CHECK:           tile.map ins(%[[S]] :
// CHECK:             memref.load
// CHECK:           tile.load {{.*}} -> tensor<1x64xf32>
// CHECK:           tile.accumulate {{.*}} : tensor<64x128xf32>

// CHECK-LABEL: tile.kernel @attention_backward_dcapture0_tiles(
// CHECK:         %[[REDO:.+]] = memref.load
// CHECK:         %[[FINITE:.+]] = arith.cmpf oeq, %[[REDO]],
// CHECK:         tile.scatter set {{.*}} exclusive

// CHECK-LABEL: tile.kernel @attention_backward_dcapture0(
// CHECK:         memref.load
// CHECK:         arith.andi
// CHECK:         scf.for

// WARP-LABEL: warp.kernel @attention_backward(
// WARP:         warp.role consumer
// WARP:           %[[ROWS:.+]] = memref.dim %[[TILES:[a-z0-9]+]], %c2 : memref<?x?x?x64xf32
// WARP:           %[[INSIDE:.+]] = arith.cmpi slt, %[[ROW:.+]], %[[ROWS]]
// WARP:           scf.if %[[INSIDE]] {
// WARP-NEXT:        warp.add_packed %{{.+}} to %[[TILES]][%c0, %c0, %[[ROW]]] first(0) : !warp.fragment<128x64xf32>
// WARP-LABEL: warp.kernel @attention_backward_dcapture0_tiles(
// WARP:         warp.load_sums {{.*}}packed

// MANIFEST:     "name": "attention_backward_dcapture0_tiles"
// MANIFEST:     "tiles 64 128 of capture 0 queries 0 keys 1"

// ORDERED-NOT: dcapture0_tiles
// ORDERED:     tile.kernel @attention_backward_dcapture0(
