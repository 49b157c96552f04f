// RUN: flashc-opt %s --tile-join-heads --canonicalize --cse --split-input-file | FileCheck %s
// RUN: flashc-opt %S/Inputs/ordered.mlir --convert-attn-to-tile="arch=sm_90a" --tile-join-heads --canonicalize --cse | FileCheck %s --check-prefix=ORDERED
//
// Query heads of a key head, and query blocks of each: one loop over pairs. A key block is fixed (j0 .. j0 + 128).

// Additions in a fixed order, from the last block of keys on: whether the block behind this one goes over the same query blocks.
// ORDERED-LABEL: tile.kernel @bwd(
// ORDERED-SAME:    %[[TURNS:[^:]+]]: memref<?x?x?xi32, {{[^{]+}} {tile.argument = "dq_turns", tile.output, tile.workspace = ["batch", "heads", "queries up to 128"], tile.zeroed}
// ORDERED:         tile.program longest_first abreast(1024)
// ORDERED:         %[[J0:.+]] = arith.muli %block, %c128
// The last block of keys has none behind it.
// ORDERED:         %[[J1:[^ ]+]] = arith.addi %[[J0]], %c128
// ORDERED:         %[[LEFT:[^ ]+]] = arith.subi %{{.+}}, %[[J1]]
// ORDERED:         %[[LESS:[^ ]+]] = arith.addi %[[LEFT]], %c-1
// ORDERED-NEXT:    %[[SOME:[^ ]+]] = arith.cmpi sge, %[[LESS]], %c0
// ORDERED:         %[[LO0:[^ ]+]] = arith.divui
// ORDERED-NEXT:    %[[HI1:[^ ]+]] = arith.select %[[SOME]], %{{.+}}, %[[LO0]]
// ORDERED-NEXT:    %[[LO1:[^ ]+]] = arith.minsi %[[LO0]], %[[HI1]]
// ORDERED:         scf.for {{.+}} iter_args(%{{[^ ]+}} = %c0, %[[I:[^ ]+]] = %{{.+}},
// ORDERED:           %[[ROW:.+]] = arith.muli %[[I]], %c64
// ORDERED:           %[[A:.+]] = arith.cmpi sge, %[[I]], %[[LO1]]
// ORDERED-NEXT:      %[[B:.+]] = arith.cmpi slt, %[[I]], %[[HI1]]
// ORDERED-NEXT:      %[[C:.+]] = arith.andi %[[A]], %[[B]]
// ORDERED-NEXT:      tile.accumulate {{.+}}, %[[ROW]]] ordered turns(%[[TURNS]] : {{.+}}) follows(%[[C]])

#s = #tile.schedule<q = 64, kv = 128, stages = 3, warps = 8, q_in_registers = false, sram = 232448, roles = <
    groups = 2, producer = 72, consumer = 216, overlap = true, turns = false, rescale = always, apart = false, ahead = false, skip = false>>
#set = affine_set<(i, j)[sq, sk] : (i - j >= 0, sk - 1 - j >= 0, sq - 1 - i >= 0)>

// Causal, top-left: from the block of the key block's first key on. A pair is masked in a branch, where it is in front of the first
// full block or behind the last one; behind the last pair comes one that is there.
// CHECK-LABEL: tile.kernel @causal(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<128x64xf32>
// CHECK:         %[[R:.+]]:3 = scf.for %[[P:.+]] = %[[C0]] to %{{.+}} step %[[C1]] iter_args(%[[G:.+]] = %[[C0]], %[[I:.+]] = %[[LO:.+]], %[[DK:.+]] = %[[ZERO]])
// CHECK-NEXT:      %[[H:.+]] = arith.addi %{{.+}}, %[[G]]
// CHECK-NEXT:      %[[ROW:.+]] = arith.muli %[[I]], %[[C64]]
// CHECK-NEXT:      %[[Q:.+]] = tile.load %{{.+}}[%{{.+}}, %[[H]], %[[ROW]]]
// CHECK-NEXT:      %[[S:.+]] = tile.dot %{{.+}}, %[[Q]]
// CHECK-NEXT:      %[[BEFORE:.+]] = arith.cmpi slt, %[[I]], %{{.+}}
// CHECK-NEXT:      %[[BEHIND:.+]] = arith.cmpi sge, %[[I]], %{{.+}}
// CHECK-NEXT:      %[[HIDES:.+]] = arith.ori %[[BEFORE]], %[[BEHIND]]
// CHECK-NEXT:      %[[S1:.+]] = scf.if %[[HIDES]]
// CHECK-NEXT:        %[[X:.+]] = tile.mask %[[S]] at(%[[ROW]], %{{.+}}) transposed
// CHECK-NEXT:        scf.yield %[[X]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        scf.yield %[[S]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[SUM:.+]] = tile.map ins(%[[S1]], %[[DK]]
// CHECK:           %[[I1:.+]] = arith.addi %[[I]], %[[C1]]
// CHECK-NEXT:      %[[WRAPS:.+]] = arith.cmpi sge, %[[I1]], %{{.+}}
// CHECK-NEXT:      %[[G1:.+]] = arith.addi %[[G]], %[[C1]]
// CHECK-NEXT:      %[[G2:.+]] = arith.minsi %[[G1]], %{{.+}}
// CHECK-NEXT:      %[[GN:.+]] = arith.select %[[WRAPS]], %[[G2]], %[[G]]
// CHECK-NEXT:      %[[IN:.+]] = arith.select %[[WRAPS]], %[[LO]], %[[I1]]
// CHECK-NEXT:      scf.yield %[[GN]], %[[IN]], %[[SUM]]
// CHECK:         tile.store %[[R]]#2
tile.kernel @causal(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf32> {tile.output}) attributes {
    grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 128>, schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %b, %h, %j = tile.program
  %j0 = arith.muli %j, %c128 : index
  %kt = tile.load %k[%b, %h, %j0] : memref<?x?x?x64xf16> -> tensor<128x64xf16>
  %sq = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %sk = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %hq = memref.dim %q, %c1 : memref<?x?x?x64xf16>
  %hk = memref.dim %k, %c1 : memref<?x?x?x64xf16>
  %heads = arith.divui %hq, %hk : index
  %first = arith.muli %h, %heads : index
  %r = scf.for %g = %c0 to %heads step %c1 iter_args(%dk = %zero) -> tensor<128x64xf32> {
    %hg = arith.addi %first, %g : index
    %up = arith.addi %sq, %c63 : index
    %n = arith.divui %up, %c64 : index
    %x = scf.for %i = %c0 to %n step %c1 iter_args(%dk1 = %dk) -> tensor<128x64xf32> {
      %i0 = arith.muli %i, %c64 : index
      %qt = tile.load %q[%b, %hg, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
      %s = tile.dot %kt, %qt acc(%zero) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
      %s1 = tile.mask %s at(%i0, %j0) transposed symbols(%sq, %sk) sets([#set]) : tensor<128x64xf32>
      %sum = tile.map ins(%s1, %dk1 : tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32> {
      ^bb0(%u: f32, %v: f32):
        %w = arith.addf %u, %v : f32
        tile.yield %w : f32
      }
      scf.yield %sum : tensor<128x64xf32>
    }
    scf.yield %x : tensor<128x64xf32>
  }
  tile.store %r, %o[%b, %h, %j0] : tensor<128x64xf32>, memref<?x?x?x64xf32>
  tile.return
}
