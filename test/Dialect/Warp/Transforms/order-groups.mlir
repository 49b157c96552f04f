// RUN: flashc-opt %s --warp-order-groups --split-input-file | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!p = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>

// The products before the first settle are one turn; those outside of the loop, and behind the settle, need none.
// CHECK-LABEL: warp.kernel @turns(
warp.kernel @turns(%q: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, turns} {
  %c1 = arith.constant 1 : index
  %k = warp.alloc : !slot
  warp.role consumer registers(240) {
    // CHECK-NOT: warp.await_turn
    // CHECK: scf.for
    %p = warp.fill 0.0 : f16 -> !p
    %o0 = warp.fill 0.0 : f32 -> !acc
    %before = warp.wgmma %p, %k transpose_b depth(64) : !p, !slot -> !acc
    %before1 = warp.settle %before pending(0) : !acc
    %r = scf.for %j = %lo to %hi step %c1 iter_args(%o = %o0) -> (!acc) {
      // CHECK-NEXT: arith.addi
      %j1 = arith.addi %j, %c1 : index
      // CHECK-NEXT: warp.await_turn
      // CHECK-NEXT: %[[S:.+]] = warp.wgmma %{{.+}}, %{{.+}} transpose_b depth(64) :
      %s = warp.wgmma %p, %k transpose_b depth(64) : !p, !slot -> !acc
      // CHECK-NEXT: %[[O1:.+]] = warp.wgmma %{{.+}}, %{{.+}} acc(%[[O:.+]] : {{.*}}) depth(64) :
      // CHECK-NEXT: warp.pass_turn
      // CHECK-NEXT: warp.settle
      %o1 = warp.wgmma %p, %k acc(%o : !acc) depth(64) : !p, !slot -> !acc
      %s1 = warp.settle %s pending(1) : !acc
      // CHECK-NOT: turn
      %t = warp.wgmma %p, %k transpose_b depth(64) : !p, !slot -> !acc
      %o2:2 = warp.settle %o1, %t pending(0) : !acc, !acc
      scf.yield %o2#0 : !acc
    }
    // CHECK: scf.for
    // CHECK-NEXT: arith.addi
    // CHECK-NEXT: }
    scf.for %j = %lo to %hi step %c1 {
      %unused = arith.addi %j, %c1 : index
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// The other groups wait for this one's turn where it lets blocks pass, too.
// CHECK-LABEL: warp.kernel @skips(
// CHECK:         scf.for
// CHECK-NEXT:      warp.await_turn
// CHECK-NEXT:      warp.pass_turn
// CHECK-NEXT:      warp.skip
// CHECK-NEXT:    }
warp.kernel @skips(%q: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, turns} {
  %c1 = arith.constant 1 : index
  %kr = warp.ring : !warp.ring<64x64xf16, 64, depth = 2>
  warp.role consumer registers(240) {
    scf.for %j = %lo to %hi step %c1 {
      warp.skip %kr : !warp.ring<64x64xf16, 64, depth = 2>
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!p = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>

// CHECK-LABEL: warp.kernel @no_turns(
// CHECK-NOT:     turn
// CHECK:         warp.return
warp.kernel @no_turns(%q: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %c1 = arith.constant 1 : index
  %k = warp.alloc : !slot
  warp.role consumer registers(240) {
    %p = warp.fill 0.0 : f16 -> !p
    scf.for %j = %lo to %hi step %c1 {
      %s = warp.wgmma %p, %k transpose_b depth(64) : !p, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!p = !warp.fragment<64x64xf16>
!acc = !warp.fragment<64x64xf32>

// One group has nobody to take turns with.
// CHECK-LABEL: warp.kernel @one_group(
// CHECK-NOT:     warp.await_turn
// CHECK:         warp.return
warp.kernel @one_group(%q: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, turns} {
  %c1 = arith.constant 1 : index
  %k = warp.alloc : !slot
  warp.role consumer registers(240) {
    %p = warp.fill 0.0 : f16 -> !p
    scf.for %j = %lo to %hi step %c1 {
      %s = warp.wgmma %p, %k transpose_b depth(64) : !p, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
    }
  }
  warp.return
}
