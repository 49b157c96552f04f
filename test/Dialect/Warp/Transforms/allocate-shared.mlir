// RUN: flashc-opt %s --warp-allocate-shared=budget=40960 --split-input-file --verify-diagnostics | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!two = !warp.channel<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>

// The staged O takes Q's bytes: Q's last reader is in the loop, and the wait is behind it.
// CHECK-LABEL: warp.kernel @staged(
// CHECK-SAME:    shared_bytes = 40960 : i64
warp.kernel @staged(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  // CHECK: warp.alloc offset(0)
  %q = warp.alloc : !slot
  // CHECK: warp.channel {{.*}} offset(8192)
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  // CHECK: warp.channel {{.*}} offset(24576)
  %vc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  scf.for %j = %lo to %hi step %c1 {
    %f = warp.load %q : !slot -> !tile
  }
  // CHECK: warp.wait
  warp.wait pending(0)
  // CHECK: warp.alloc offset(0)
  %o = warp.alloc : !slot
  %zero = warp.fill 0.0 : f16 -> !tile
  warp.store %zero to %o : !tile, !slot
  warp.return
}

// -----

!slot = !warp.buffer<64x64xf16, 64>
!small = !warp.buffer<8x16xf16, 16>
!tile = !warp.fragment<64x64xf16>
!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// No barrier behind the last reader: another warp may still read it. And a buffer of a loop lives in all of it.
// CHECK-LABEL: warp.kernel @no_barrier(
// CHECK-SAME:    shared_bytes = 16640 : i64
warp.kernel @no_barrier(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  // CHECK: warp.alloc offset(0)
  %q = warp.alloc : !slot
  %f = warp.load %q : !slot -> !tile
  // CHECK: scf.for
  scf.for %j = %lo to %hi step %c1 {
    // CHECK: warp.alloc offset(8192)
    %o = warp.alloc : !slot
    warp.store %f to %o : !tile, !slot
    // CHECK: warp.alloc offset(16384)
    %s = warp.alloc : !small
  }
  warp.return
}

// -----

!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// A channel's bytes are free behind a wait for all copies; a barrier alone is not enough.
// CHECK-LABEL: warp.kernel @channel(
// CHECK-SAME:    shared_bytes = 16384 : i64
warp.kernel @channel(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  // CHECK: warp.channel {{.*}} offset(0)
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  warp.put %kc[%lo] : !one
  warp.barrier
  // CHECK: warp.alloc offset(8192)
  %a = warp.alloc : !slot
  warp.wait pending(0)
  // CHECK: warp.alloc offset(0)
  %b = warp.alloc : !slot
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// expected-error @+1 {{'warp.kernel' op needs 49152 bytes of shared memory, but one block may use 40960; choose smaller tiles or rings of fewer stages}}
warp.kernel @over_budget(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !warp.channel<64x64xf16, 64, depth = 6>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!dealt = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!odd = !warp.ring<40x64xf16, 64, depth = 1>
!kv = !warp.ring<48x64xf16, 64, depth = 2>

// Kernels with roles: one behind the other in program order, on multiples of 1024 (40 rows are 5 KiB). Then the barriers, a full and an
// empty one for each part of each slot, and the queue of tiles. Nothing shares bytes, as all live throughout.
// CHECK-LABEL: warp.kernel @roles(
// CHECK-SAME:    queue = 40032 : i64
// CHECK-SAME:    shared_bytes = 40192 : i64
warp.kernel @roles(%q: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  // CHECK: warp.ring offset(0) barriers(39936)
  %qr = warp.ring : !dealt
  // CHECK: warp.ring offset(16384) barriers(39968)
  %kr = warp.ring : !odd
  // CHECK: warp.alloc offset(21504)
  %small = warp.alloc : !warp.buffer<16x64xf16, 64>
  // CHECK: warp.alloc offset(23552)
  %tiny = warp.alloc : !warp.buffer<8x16xf16, 16>
  // CHECK: warp.ring offset(24576) barriers(39984)
  %vr = warp.ring : !kv
  // CHECK: warp.ring offset(36864) barriers(40016)
  %wr = warp.ring : !warp.ring<24x64xf16, 64, depth = 1>
  // CHECK-NOT: offset
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// Barriers and the queue count: 40 KiB of slots are all that the budget has.
// expected-error @+1 {{'warp.kernel' op needs 41216 bytes of shared memory, but one block may use 40960; choose smaller tiles or rings of fewer stages}}
warp.kernel @roles_over_budget(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %kr = warp.ring : !warp.ring<64x64xf16, 64, depth = 5>
  warp.return
}
