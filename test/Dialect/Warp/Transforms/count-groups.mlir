// RUN: flashc-opt %s --warp-count-groups | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!two = !warp.channel<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>

// Behind each get of a full pair of two-slot rings, two younger groups are under way: the other channel's and the
// next one of its own.
// CHECK-LABEL: warp.kernel @two_slots(
warp.kernel @two_slots(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %q = warp.alloc : !slot
  warp.copy_in %view[%lo, %lo, %lo] to %q : !view, !slot
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %vc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %lo1 = arith.addi %lo, %c1 : index
  warp.put %kc[%lo] : !two
  warp.put %vc[%lo] : !two
  warp.put %kc[%lo1] : !two
  // The wait is for Q alone.
  // CHECK: warp.wait pending(3)
  warp.wait
  // CHECK: scf.for
  scf.for %j = %lo to %hi step %c1 {
    // CHECK: warp.get {{.*}} pending(2)
    %k = warp.get %kc[%j] : !two -> !slot
    %j1 = arith.addi %j, %c1 : index
    warp.put %vc[%j1] : !two
    // CHECK: warp.get {{.*}} pending(2)
    %v = warp.get %vc[%j] : !two -> !slot
    %j2 = arith.addi %j, %c2 : index
    warp.put %kc[%j2] : !two
  }
  // A count that is there stays: all groups end here.
  // CHECK: warp.wait pending(0)
  warp.wait pending(0)
  warp.return
}

// A copy_in behind the first puts is waited for by the first get too, so that Q needs no wait of its own; later gets
// are counted in the same loop, and the smallest count holds.
// CHECK-LABEL: warp.kernel @copy_behind_puts(
warp.kernel @copy_behind_puts(%view: !view, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %kc = warp.channel %view[%c0, %c0] blocks(%c0 to %hi) : !view -> !two
  warp.put %kc[%c0] : !two
  %q = warp.alloc : !slot
  warp.copy_in %view[%c0, %c0, %c0] to %q : !view, !slot
  warp.put %kc[%c1] : !two
  scf.for %j = %c0 to %hi step %c1 {
    // CHECK: warp.get {{.*}} pending(1)
    %k = warp.get %kc[%j] : !two -> !slot
    warp.barrier
    %j2 = arith.addi %j, %c2 : index
    warp.put %kc[%j2] : !two
  }
  warp.return
}

// A copy on one path only: its wait on the other path is for nothing, the get behind both counts the shorter queue.
// CHECK-LABEL: warp.kernel @branch(
warp.kernel @branch(%view: !view, %hi: index, %c: i1) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = warp.alloc : !slot
  %kc = warp.channel %view[%c0, %c0] blocks(%c0 to %hi) : !view -> !two
  %vc = warp.channel %view[%c0, %c0] blocks(%c0 to %hi) : !view -> !two
  warp.put %kc[%c0] : !two
  scf.if %c {
    warp.put %vc[%c0] : !two
  }
  scf.for %j = %c0 to %c1 step %c1 {
    // CHECK: warp.get {{.*}} pending(0)
    %k = warp.get %kc[%j] : !two -> !slot
    %j1 = arith.addi %j, %c1 : index
    warp.put %kc[%j1] : !two
  }
  warp.return
}
