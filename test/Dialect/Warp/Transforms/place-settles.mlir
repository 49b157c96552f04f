// RUN: flashc-opt %s --warp-place-settles --split-input-file | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!kv = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!p = !warp.fragment<64x64xf16>
!acc = !warp.fragment<64x64xf32>
!row = !warp.fragment<64xf32>

// Overlapped: the scores are waited for alone, K is released behind that; the product with V, started later, settles where it is
// carried on, at the body's end, and V is released there.
// CHECK-LABEL: warp.kernel @overlap(
warp.kernel @overlap(%q: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c1 = arith.constant 1 : index
  %qr = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %kr = warp.ring : !kv
  %vr = warp.ring : !kv
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      %m = warp.fill 0.0 : f32 -> !row
      %p = warp.fill 0.0 : f16 -> !p
      %o0 = warp.fill 0.0 : f32 -> !acc
      // CHECK: %[[Q:.+]] = warp.receive
      %q0 = warp.receive %qr : !warp.ring<64x64xf16, 64, depth = 1> -> !slot
      // CHECK: %[[R:.+]]:2 = scf.for {{.*}} iter_args(%[[O:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}})
      %r:2 = scf.for %j = %lo to %hi step %c1 iter_args(%o = %o0, %m0 = %m) -> (!acc, !row) {
        // CHECK-NEXT: %[[K:.+]] = warp.receive
        %k = warp.receive %kr : !kv -> !slot
        // CHECK-NEXT: %[[S:.+]] = warp.wgmma %{{.+}}, %[[K]] transpose_b depth(64)
        %s = warp.wgmma %q0, %k transpose_b depth(64) : !slot, !slot -> !acc
        // CHECK-NEXT: %[[V:.+]] = warp.receive
        %v = warp.receive %vr : !kv -> !slot
        // CHECK-NEXT: %[[O1:.+]] = warp.wgmma %{{.+}}, %[[V]] acc(%[[O]] : {{.*}}) depth(64)
        %o1 = warp.wgmma %p, %v acc(%o : !acc) depth(64) : !p, !slot -> !acc
        // CHECK-NEXT: %[[S1:.+]] = warp.settle %[[S]] pending(1) : !warp.fragment<64x64xf32>
        // CHECK-NEXT: warp.release %[[K]] : !warp.buffer<64x64xf16, 64>
        // CHECK-NEXT: %[[M1:.+]] = warp.reduce max %[[S1]] init(%[[M]]) : {{.*}}
        %m1 = warp.reduce max %s init(%m0) : !acc, !row
        // CHECK-NEXT: %[[O2:.+]] = warp.settle %[[O1]] pending(0)
        // CHECK-NEXT: warp.release %[[V]]
        // CHECK-NEXT: scf.yield %[[O2]], %[[M1]]
        scf.yield %o1, %m1 : !acc, !row
      }
      // Q is read by the loop: it is released behind it.
      // CHECK: }
      // CHECK-NEXT: warp.release %[[Q]]
      // CHECK-NEXT: }
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!kv = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!acc = !warp.fragment<64x64xf32>
!out = !warp.fragment<64x64xf16>
!row = !warp.fragment<64xf32>

// A settle covers all that is older: two results in one, and both slots behind it. The slot that the output leaves through is released
// behind that. A product that nobody reads settles all the same.
// CHECK-LABEL: warp.kernel @older_and_alias(
warp.kernel @older_and_alias(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %qr = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %kr = warp.ring : !kv
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      %m = warp.fill 0.0 : f32 -> !row
      %out = warp.fill 0.0 : f16 -> !out
      // CHECK: %[[Q:.+]] = warp.receive
      %q0 = warp.receive %qr : !warp.ring<64x64xf16, 64, depth = 1> -> !slot
      // CHECK-NEXT: %[[K0:.+]] = warp.receive
      %k0 = warp.receive %kr : !kv -> !slot
      // CHECK-NEXT: %[[A:.+]] = warp.wgmma
      %a = warp.wgmma %q0, %k0 transpose_b depth(64) : !slot, !slot -> !acc
      // CHECK-NEXT: %[[K1:.+]] = warp.receive
      %k1 = warp.receive %kr : !kv -> !slot
      // CHECK-NEXT: %[[B:.+]] = warp.wgmma
      %b1 = warp.wgmma %q0, %k1 transpose_b depth(64) : !slot, !slot -> !acc
      // CHECK-NEXT: %[[AB:.+]]:2 = warp.settle %[[A]], %[[B]] pending(0)
      // CHECK-NEXT: warp.release %[[K1]]
      // CHECK-NEXT: warp.release %[[K0]]
      // CHECK-NEXT: %[[M1:.+]] = warp.reduce max %[[AB]]#1
      %m1 = warp.reduce max %b1 init(%m) : !acc, !row
      // CHECK-NEXT: warp.reduce max %[[AB]]#0
      %m2 = warp.reduce max %a init(%m1) : !acc, !row
      // CHECK-NEXT: %[[C:.+]] = warp.alias %[[Q]]
      %alias = warp.alias %q0 : !slot -> !slot
      // CHECK-NEXT: warp.emit %{{.+}} via %[[C]]
      // CHECK-NEXT: warp.release %[[Q]]
      warp.emit %out via %alias to %q[%b, %h, %i] : !out, !slot, !view
      // CHECK-NEXT: %[[K2:.+]] = warp.receive
      %k2 = warp.receive %kr : !kv -> !slot
      // CHECK-NEXT: %[[U:.+]] = warp.wgmma
      %unread = warp.wgmma %out, %k2 depth(64) : !out, !slot -> !acc
      // CHECK-NEXT: warp.settle %[[U]] pending(0)
      // CHECK-NEXT: warp.release %[[K2]]
      // CHECK-NEXT: }
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!kv = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!acc = !warp.fragment<64x64xf32>
!p = !warp.fragment<64x64xf16>

// An accumulator is touched by the product that adds to it, and a branch touches what the ops inside it do. Nothing is under way
// when a loop begins. A slot that nobody reads is released at once.
// CHECK-LABEL: warp.kernel @chained(
warp.kernel @chained(%q: !view, %some: i1, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c1 = arith.constant 1 : index
  %kr = warp.ring : !kv
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      %p = warp.fill 0.0 : f16 -> !p
      // CHECK: %[[K:.+]] = warp.receive
      %k = warp.receive %kr : !kv -> !slot
      // CHECK-NEXT: %[[A:.+]] = warp.wgmma
      %a = warp.wgmma %p, %k depth(64) : !p, !slot -> !acc
      // CHECK-NEXT: %[[A1:.+]] = warp.settle %[[A]] pending(0)
      // CHECK-NEXT: %[[B:.+]] = warp.wgmma %{{.+}}, %[[K]] acc(%[[A1]]
      %b1 = warp.wgmma %p, %k acc(%a : !acc) depth(64) : !p, !slot -> !acc
      // CHECK-NEXT: %[[B1:.+]] = warp.settle %[[B]] pending(0)
      // CHECK-NEXT: warp.release %[[K]]
      // CHECK-NEXT: %[[C:.+]] = scf.if
      %c = scf.if %some -> (!acc) {
        %d = warp.map ins(%b1 : !acc) -> !acc {
        ^bb0(%x: f32):
          warp.yield %x : f32
        }
        scf.yield %d : !acc
      } else {
        // CHECK: } else {
        // CHECK-NEXT: scf.yield %[[B1]]
        scf.yield %b1 : !acc
      }
      // CHECK: %[[K2:.+]] = warp.receive
      // CHECK-NEXT: warp.release %[[K2]]
      %k2 = warp.receive %kr : !kv -> !slot
      // CHECK-NEXT: %[[K3:.+]] = warp.receive
      %k3 = warp.receive %kr : !kv -> !slot
      // CHECK-NEXT: %[[E:.+]] = warp.wgmma
      %e = warp.wgmma %p, %k3 depth(64) : !p, !slot -> !acc
      // CHECK-NEXT: warp.settle %[[E]] pending(0)
      // CHECK-NEXT: warp.release %[[K3]]
      // CHECK-NEXT: scf.for
      scf.for %j = %lo to %hi step %c1 {
        %unused = arith.addi %j, %c1 : index
      }
      warp.end_tile
    }
  }
  warp.return
}

// -----

!queries = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!keys = !warp.buffer<128x64xf16, 64, parts = 2>
!p = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>

// Beside a reducer: at most two products are under way, and at the end they settle one by one. The loop carries Q's slot on: it is
// released where the pair that has it ends, and the one that is left behind the loop.
// CHECK-LABEL: warp.kernel @pairs(
warp.kernel @pairs(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %qr = warp.ring : !queries
  %k = warp.alloc : !keys
  warp.role reducer registers(72) {
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !p
    %z = warp.fill 0.0 : f32 -> !acc
    // CHECK: %[[Q0:.+]] = warp.receive
    %q0 = warp.receive %qr : !queries -> !slot
    // CHECK-NEXT: %[[R:.+]]:3 = scf.for {{.+}} iter_args(%[[Q:.+]] = %[[Q0]], %{{.+}}, %{{.+}})
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%qi = %q0, %dv = %z, %dk = %z) -> (!slot, !acc, !acc) {
      // CHECK-NEXT: %[[DV:.+]] = warp.wgmma
      %dv1 = warp.wgmma %p, %qi acc(%dv : !acc) depth(64) : !p, !slot -> !acc
      // CHECK-NEXT: %[[Q1:.+]] = warp.receive
      %q1 = warp.receive %qr : !queries -> !slot
      // CHECK-NEXT: %[[DK:.+]] = warp.wgmma {{.+}}, %[[Q]] acc
      %dk1 = warp.wgmma %p, %qi acc(%dk : !acc) depth(64) : !p, !slot -> !acc
      // CHECK-NEXT: %[[DV1:.+]] = warp.settle %[[DV]] pending(1)
      // CHECK-NEXT: %[[S:.+]] = warp.wgmma {{.+}}, %[[Q1]] transpose_b
      %s = warp.wgmma %k, %q1 transpose_b depth(64) : !keys, !slot -> !acc
      // CHECK-NEXT: %[[DK1:.+]] = warp.settle %[[DK]] pending(1)
      // CHECK-NEXT: warp.release %[[Q]]
      // CHECK-NEXT: warp.settle %[[S]] pending(0)
      // CHECK-NEXT: scf.yield %[[Q1]], %[[DV1]], %[[DK1]]
      scf.yield %q1, %dv1, %dk1 : !slot, !acc, !acc
    }
    // CHECK-NEXT: }
    // CHECK-NEXT: warp.release %[[R]]#0
  }
  warp.return
}

// -----

!rows = !warp.ring<64x64xf16, 64, depth = 2, values = 64>
!slot = !warp.buffer<64x64xf16, 64>
!acc = !warp.fragment<64x64xf32>
!p = !warp.fragment<64x64xf16>
!values = !warp.fragment<1x64xf32, of 64>

// Values that are read for one op alone are read behind its wait, and the slot is released behind both.
// CHECK-LABEL: warp.kernel @values(
warp.kernel @values(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !rows
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !p
    // CHECK: %[[B:.+]] = warp.receive
    %b = warp.receive %r : !rows -> !slot
    // CHECK-NEXT: warp.read_values %[[B]]
    %first = warp.read_values %b : !slot -> !values
    // CHECK-NEXT: %[[A:.+]] = warp.wgmma %{{.+}}, %[[B]]
    %a = warp.wgmma %p, %b transpose_b depth(64) : !p, !slot -> !acc
    // CHECK-NEXT: %[[C:.+]] = warp.wgmma %{{.+}}, %[[B]]
    %c = warp.wgmma %p, %b depth(64) : !p, !slot -> !acc
    // CHECK-NEXT: %[[A1:.+]] = warp.settle %[[A]] pending(1)
    // CHECK-NEXT: %[[V:.+]] = warp.read_values %[[B]]
    // CHECK-NEXT: warp.map ins(%[[A1]], %{{.+}}, %[[V]]
    %v = warp.read_values %b : !slot -> !values
    %m = warp.map ins(%a, %first, %v : !acc, !values, !values) -> !acc {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %s = arith.addf %y, %z : f32
      %t = arith.addf %x, %s : f32
      warp.yield %t : f32
    }
    // CHECK: warp.settle %[[C]] pending(0)
    // CHECK-NEXT: warp.release %[[B]]
    %n = warp.map ins(%c : !acc) -> !acc {
    ^bb0(%x: f32):
      warp.yield %x : f32
    }
  }
  warp.return
}
