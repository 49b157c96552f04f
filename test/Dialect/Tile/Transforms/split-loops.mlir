// RUN: flashc-opt %s --tile-split-loops --canonicalize --cse --split-input-file | FileCheck %s
//
// Row block i0 .. i0 + 32, key blocks of 16. The loop bodies are no
// attention: what counts is which loops there are, their bounds, and which keep the mask.

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// No mask but the key bound: all whole blocks, then the tail.
// CHECK-LABEL: tile.kernel @full(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C15:.+]] = arith.constant 15 : index
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK:         %[[SK:.+]] = memref.dim %{{.+}}, %{{.+}}
// CHECK:         %[[UP:.+]] = arith.addi %[[SK]], %[[C15]]
// CHECK:         %[[END:.+]] = arith.divui %[[UP]], %[[C16]]
// CHECK:         %[[FULL:.+]] = arith.divui %[[SK]], %[[C16]]
// CHECK:         %[[R:.+]] = scf.for %{{.+}} = %[[C0]] to %[[FULL]] step
// CHECK-NOT:       tile.mask
// CHECK:         scf.for %{{.+}} = %[[FULL]] to %[[END]] step %{{.+}} iter_args(%{{.+}} = %[[R]])
// CHECK:           tile.mask
// CHECK-NOT:     scf.for
tile.kernel @full(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>, %o: memref<?x?x?x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c32 : index
  %sk = memref.dim %k, %c2 : memref<?x?x?x16xf32>
  %up = arith.addi %sk, %c15 : index
  %n = arith.divui %up, %c16 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%i0, %j0) symbols(%sk) sets([affine_set<(i, j)[sk] : (sk - 1 - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %i0] : tensor<32x16xf32>, memref<?x?x?x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// Causal, bottom-right: full up to the first row's diagonal, masked up to the
// last existing row's; both may be below 0 where there are more rows than keys.
// CHECK-LABEL: tile.kernel @causal(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C15:.+]] = arith.constant 15 : index
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK:         %[[I0:.+]] = arith.muli %{{.+}}, %[[C32]]
// CHECK-DAG:     %[[SQ:.+]] = memref.dim %arg0
// CHECK-DAG:     %[[SK:.+]] = memref.dim %arg1
// CHECK:         %[[IQ:.+]] = arith.addi %[[I0]], %[[C32]]
// CHECK:         %[[IEND:.+]] = arith.minsi %[[IQ]], %[[SQ]]
// CHECK:         %[[A0:.+]] = arith.addi %[[IEND]], %[[SK]]
// CHECK:         %[[A1:.+]] = arith.subi %[[A0]], %[[SQ]]
// CHECK:         %[[A2:.+]] = arith.minsi %[[A1]], %[[SK]]
// CHECK:         %[[A3:.+]] = arith.maxsi %[[A2]], %[[C0]]
// CHECK:         %[[A4:.+]] = arith.addi %[[A3]], %[[C15]]
// CHECK:         %[[ANY:.+]] = arith.divui %[[A4]], %[[C16]]
// CHECK:         %[[F0:.+]] = arith.addi %[[I0]], %[[SK]]
// CHECK:         %[[F1:.+]] = arith.subi %[[F0]], %[[SQ]]
// CHECK:         %[[F2:.+]] = arith.addi %[[F1]], %[[C1]]
// CHECK:         %[[F3:.+]] = arith.minsi %[[F2]], %[[SK]]
// CHECK:         %[[F4:.+]] = arith.maxsi %[[F3]], %[[C0]]
// CHECK:         %[[FULL:.+]] = arith.divui %[[F4]], %[[C16]]
// CHECK:         scf.for %{{.+}} = %[[C0]] to %[[FULL]] step
// CHECK-NOT:       {{tile.mask|guarded}}
// CHECK:         scf.for %{{.+}} = %[[FULL]] to %[[ANY]] step
// CHECK:           tile.dot {{.*}} guarded
// CHECK:           tile.mask
// CHECK-NOT:     scf.for
tile.kernel @causal(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>, %o: memref<?x?x?x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c32 : index
  %sq = memref.dim %q, %c2 : memref<?x?x?x16xf32>
  %sk = memref.dim %k, %c2 : memref<?x?x?x16xf32>
  %up = arith.addi %sk, %c15 : index
  %n = arith.divui %up, %c16 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) guarded : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%i0, %j0) symbols(%sq, %sk)
        sets([affine_set<(i, j)[sq, sk] : (i + sk - sq - j >= 0, sk - 1 - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %i0] : tensor<32x16xf32>, memref<?x?x?x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// A window, static lengths of 256: for block 0 of the rows (i0 = 0) and left =
// right = 40, keys 0 .. 71 are seen by some row and 0 .. 40 by all (no left
// loop); all folds to constants: full 0 .. 2, masked 2 .. 5.
// CHECK-LABEL: tile.kernel @window_folds(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C5:.+]] = arith.constant 5 : index
// CHECK:         scf.for %{{.+}} = %[[C0]] to %[[C2]] step
// CHECK-NOT:       tile.mask
// CHECK:         scf.for %{{.+}} = %[[C2]] to %[[C5]] step
// CHECK:           tile.mask
// CHECK-NOT:     scf.for
tile.kernel @window_folds(%q: memref<1x1x256x16xf32>, %o: memref<1x1x256x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %r = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%c0, %j0) symbols()
        sets([affine_set<(i, j) : (j - i + 40 >= 0, i + 40 - j >= 0, 255 - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %c0] : tensor<32x16xf32>, memref<1x1x256x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// The same at i0 = 128: keys 88 .. 199 by some, 119 .. 168 by all, so all three
// loops: masked 5 .. 8, full 8 .. 10, masked 10 .. 13.
// CHECK-LABEL: tile.kernel @three_loops(
// CHECK-DAG:     %[[C5:.+]] = arith.constant 5 : index
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK-DAG:     %[[C10:.+]] = arith.constant 10 : index
// CHECK-DAG:     %[[C13:.+]] = arith.constant 13 : index
// CHECK:         %[[A:.+]] = scf.for %{{.+}} = %[[C5]] to %[[C8]] step
// CHECK:           tile.mask
// CHECK:         %[[B:.+]] = scf.for %{{.+}} = %[[C8]] to %[[C10]] step %{{.+}} iter_args(%{{.+}} = %[[A]])
// CHECK-NOT:       tile.mask
// CHECK:         scf.for %{{.+}} = %[[C10]] to %[[C13]] step %{{.+}} iter_args(%{{.+}} = %[[B]])
// CHECK:           tile.mask
// CHECK-NOT:     scf.for
tile.kernel @three_loops(%q: memref<1x1x256x16xf32>, %o: memref<1x1x256x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %r = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%c128, %j0) symbols()
        sets([affine_set<(i, j) : (j - i + 40 >= 0, i + 40 - j >= 0, 255 - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %c128] : tensor<32x16xf32>, memref<1x1x256x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// A union (i0 = 128): keys 0 .. 31 or, under a window of 16, 112 .. 159. The
// loops run over the hull 0 .. 10; the largest range that all rows see wholly is
// the prefix, 0 .. 2.
// CHECK-LABEL: tile.kernel @union(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C10:.+]] = arith.constant 10 : index
// CHECK:         scf.for %{{.+}} = %[[C0]] to %[[C2]] step
// CHECK-NOT:       tile.mask
// CHECK:         scf.for %{{.+}} = %[[C2]] to %[[C10]] step
// CHECK:           tile.mask
// CHECK-NOT:     scf.for
tile.kernel @union(%q: memref<1x1x256x16xf32>, %o: memref<1x1x256x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %r = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%c128, %j0) symbols()
        sets([affine_set<(i, j) : (31 - j >= 0)>, affine_set<(i, j) : (j - i + 16 >= 0, i - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %c128] : tensor<32x16xf32>, memref<1x1x256x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// No set: no key is seen, and no loop is left.
// CHECK-LABEL: tile.kernel @nothing(
// CHECK-NOT:     scf.for
// CHECK:         tile.store %[[ZERO:.+]], %{{.+}}
tile.kernel @nothing(%q: memref<1x1x256x16xf32>, %o: memref<1x1x256x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %r = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%c0, %j0) symbols() sets([]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %c0] : tensor<32x16xf32>, memref<1x1x256x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// A mask whose keys are not those of the loop's block stays as it is.
// CHECK-LABEL: tile.kernel @other_keys(
// CHECK:         scf.for
// CHECK:           tile.mask
// CHECK-NOT:     scf.for
tile.kernel @other_keys(%q: memref<1x1x256x16xf32>, %o: memref<1x1x256x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %r = scf.for %j = %c0 to %c16 step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c8 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %s1 = tile.mask %d at(%c0, %j0) symbols() sets([affine_set<(i, j) : (100 - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %c0] : tensor<32x16xf32>, memref<1x1x256x16xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 32, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 65536>

// What the bodies read stays, though it is the old loop's bound.
// CHECK-LABEL: tile.kernel @reads_its_bounds(
// CHECK:         %[[UP:.+]] = arith.addi
// CHECK:         %[[END:.+]] = arith.divui %[[UP]], %{{.+}}
// CHECK-COUNT-2: memref.load %{{.+}}[%[[END]]] : memref<?xf32>
tile.kernel @reads_its_bounds(%q: memref<?x?x?x16xf32>, %k: memref<?x?x?x16xf32>, %t: memref<?xf32>, %o: memref<?x?x?x16xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c15 = arith.constant 15 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %x = arith.constant dense<2.0> : tensor<16x16xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c32 : index
  %sk = memref.dim %k, %c2 : memref<?x?x?x16xf32>
  %up = arith.addi %sk, %c15 : index
  %n = arith.divui %up, %c16 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<32x16xf32> {
    %j0 = arith.muli %j, %c16 : index
    %d = tile.dot %s, %x acc(%s) : tensor<32x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
    %d1 = tile.map ins(%d : tensor<32x16xf32>) -> tensor<32x16xf32> {
    ^bb0(%y: f32):
      %last = memref.load %t[%n] : memref<?xf32>
      %z = arith.addf %y, %last : f32
      tile.yield %z : f32
    }
    %s1 = tile.mask %d1 at(%i0, %j0) symbols(%sk) sets([affine_set<(i, j)[sk] : (sk - 1 - j >= 0)>]) : tensor<32x16xf32>
    scf.yield %s1 : tensor<32x16xf32>
  }
  tile.store %r, %o[%b, %h, %i0] : tensor<32x16xf32>, memref<?x?x?x16xf32>
  tile.return
}

// -----

#roles = #tile.roles<groups = 2, producer = 32, consumer = 232, overlap = false, turns = false, rescale = test, apart = true, ahead = false, skip = true>
#s = #tile.schedule<q = 128, kv = 64, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = #roles>

// Groups that skip: the loops are those of each group's own rows, kept inside of the blocks that the tile's rows see. Without keys for
// its rows a group has none of the tile's last block.
// CHECK-LABEL: tile.kernel @own_blocks(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C128:.+]] = arith.constant 128 : index
// CHECK:         %[[I0:.+]] = arith.muli %{{.+}}, %[[C128]]
// CHECK-DAG:     %[[SQ:.+]] = memref.dim %arg0
// CHECK:         %[[ALL:.+]] = arith.addi %[[I0]], %[[C128]]
// CHECK:         arith.minsi %[[ALL]], %[[SQ]]
// CHECK:         %[[FIRST:.+]], %[[END:.+]] = tile.own_rows %[[I0]]
// CHECK:         %[[EXISTS:.+]] = arith.minsi %[[END]], %[[SQ]]
// CHECK:         arith.addi %[[EXISTS]], %{{.+}}
// CHECK:         arith.addi %[[FIRST]], %{{.+}}
// CHECK:         %[[KEYS:.+]] = arith.maxsi %{{.+}}, %[[C0]]
// CHECK-NEXT:    %[[BLOCKS:.+]] = arith.divui %[[KEYS]], %{{.+}}
// CHECK-NEXT:    %[[TO:.+]] = arith.maxsi %[[BLOCKS]], %[[C0]]
// CHECK-NEXT:    %[[FULL:.+]] = arith.minsi %[[TO]], %[[HI:.+]] : index
// CHECK-NEXT:    %[[KEPT:.+]] = arith.maxsi %{{.+}}, %[[C0]]
// CHECK-NEXT:    %[[OWN:.+]] = arith.minsi %[[KEPT]], %[[HI]] : index
// CHECK:         scf.for %{{.+}} = %[[C0]] to %[[FULL]] step
// CHECK:         scf.for %{{.+}} = %[[FULL]] to %[[OWN]] step
// CHECK-NOT:     scf.for
tile.kernel @own_blocks(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %x = arith.constant dense<2.0> : tensor<64x64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c128 : index
  %sq = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %sk = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %up = arith.addi %sk, %c63 : index
  %n = arith.divui %up, %c64 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<128x64xf32> {
    %j0 = arith.muli %j, %c64 : index
    %d = tile.dot %s, %x acc(%s) : tensor<128x64xf32>, tensor<64x64xf32> -> tensor<128x64xf32>
    %s1 = tile.mask %d at(%i0, %j0) symbols(%sq, %sk)
        sets([affine_set<(i, j)[sq, sk] : (i + sk - sq - j >= 0, sk - 1 - j >= 0)>]) : tensor<128x64xf32>
    scf.yield %s1 : tensor<128x64xf32>
  }
  tile.store %r, %o[%b, %h, %i0] : tensor<128x64xf32>, memref<?x?x?x64xf32>
  tile.return
}

// -----

#roles = #tile.roles<groups = 2, producer = 32, consumer = 232, overlap = false, turns = false, rescale = test, apart = true, ahead = false, skip = true>
#s = #tile.schedule<q = 128, kv = 64, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = #roles>

// All rows see the same blocks, so there is nothing to skip.
// CHECK-LABEL: tile.kernel @same_blocks(
// CHECK-NOT:     tile.own_rows
// CHECK:         tile.return
tile.kernel @same_blocks(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %o: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c128 : index
  %sk = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %up = arith.addi %sk, %c63 : index
  %n = arith.divui %up, %c64 : index
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%s = %zero) -> tensor<128x64xf32> {
    %j0 = arith.muli %j, %c64 : index
    %s1 = tile.mask %s at(%i0, %j0) symbols(%sk)
        sets([affine_set<(i, j)[sk] : (sk - 1 - j >= 0)>]) : tensor<128x64xf32>
    scf.yield %s1 : tensor<128x64xf32>
  }
  tile.store %r, %o[%b, %h, %i0] : tensor<128x64xf32>, memref<?x?x?x64xf32>
  tile.return
}
