// RUN: flashc-opt %s --warp-place-puts | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!two = !warp.channel<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!q = !warp.fragment<64x64xf16>
!s = !warp.fragment<64x64xf32>

// With one slot, V's get frees K's slot: it moves up to Q K^T, and K(j + 1) is under way from there. V's own
// slot is free behind the first get of the next iteration.
// CHECK-LABEL: warp.kernel @one_slot(
// CHECK-SAME:    %[[LO:[^:]+]]: index, %[[HI:[^:]+]]: index
warp.kernel @one_slot(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %q = warp.fill 0.0 : f16 -> !q
  %zero = warp.fill 0.0 : f32 -> !s
  // CHECK: %[[K:.+]] = warp.channel
  // CHECK: %[[V:.+]] = warp.channel
  // CHECK-NEXT: warp.put %[[K]][%[[LO]]]
  // CHECK-NOT: warp.put
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  %vc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // CHECK: scf.for %[[J:[^ ]+]] =
  %o = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> (!s) {
    // CHECK-NEXT: warp.get %[[K]][%[[J]]]
    // CHECK-NEXT: warp.put %[[V]][%[[J]]]
    // CHECK-NEXT: warp.mma
    // CHECK-NEXT: warp.get %[[V]][%[[J]]]
    // CHECK-NEXT: arith.constant 1
    // CHECK-NEXT: %[[J1:.+]] = arith.addi %[[J]]
    // CHECK-NEXT: warp.put %[[K]][%[[J1]]]
    // CHECK-NEXT: warp.map
    // CHECK:      warp.mma
    // CHECK-NOT:  warp.put
    %k = warp.get %kc[%j] : !one -> !slot
    %s = warp.mma %q, %k acc(%zero) transpose_b : !q, !slot -> !s
    %p = warp.map ins(%s : !s) -> !q {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      warp.yield %y : f16
    }
    %v = warp.get %vc[%j] : !one -> !slot
    %acc1 = warp.mma %p, %v acc(%acc) : !q, !slot -> !s
    scf.yield %acc1 : !s
  }
  warp.return
}

// With two slots nothing has to move: V's get stays behind the softmax. Both loops of a chain get the same puts, and
// only the first has blocks put before it.
// CHECK-LABEL: warp.kernel @two_slots_two_loops(
// CHECK-SAME:    %[[LO:[^:]+]]: index, %[[MID:[^:]+]]: index, %[[HI:[^:]+]]: index
warp.kernel @two_slots_two_loops(%view: !view, %lo: index, %mid: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %q = warp.fill 0.0 : f16 -> !q
  %zero = warp.fill 0.0 : f32 -> !s
  // CHECK: %[[K:.+]] = warp.channel
  // CHECK: %[[V:.+]] = warp.channel
  // CHECK-NEXT: warp.put %[[K]][%[[LO]]]
  // CHECK-NEXT: warp.put %[[V]][%[[LO]]]
  // CHECK-NEXT: arith.constant 1
  // CHECK-NEXT: %[[LO1:.+]] = arith.addi %[[LO]]
  // CHECK-NEXT: warp.put %[[K]][%[[LO1]]]
  // CHECK-NOT: warp.put
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %vc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  // CHECK: scf.for %[[J:[^ ]+]] =
  // CHECK-NEXT: warp.get %[[K]][%[[J]]]
  // CHECK: %[[J1:.+]] = arith.addi %[[J]]
  // CHECK-NEXT: warp.put %[[V]][%[[J1]]]
  // CHECK-NEXT: warp.mma
  // CHECK-NEXT: warp.map
  // CHECK: warp.get %[[V]][%[[J]]]
  // CHECK-NEXT: arith.constant 2
  // CHECK-NEXT: %[[J2:.+]] = arith.addi %[[J]]
  // CHECK-NEXT: warp.put %[[K]][%[[J2]]]
  %o = scf.for %j = %lo to %mid step %c1 iter_args(%acc = %zero) -> (!s) {
    // V's get stands early and moves to its reader.
    %k = warp.get %kc[%j] : !two -> !slot
    %v = warp.get %vc[%j] : !two -> !slot
    %s = warp.mma %q, %k acc(%zero) transpose_b : !q, !slot -> !s
    %p = warp.map ins(%s : !s) -> !q {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      warp.yield %y : f16
    }
    %acc1 = warp.mma %p, %v acc(%acc) : !q, !slot -> !s
    scf.yield %acc1 : !s
  }
  // CHECK: scf.for %[[I:[^ ]+]] = %[[MID]]
  // CHECK-NEXT: warp.get %[[K]][%[[I]]]
  // CHECK: warp.put %[[V]][
  // CHECK: warp.get %[[V]][%[[I]]]
  // CHECK: warp.put %[[K]][
  // CHECK-NOT: warp.put
  %o2 = scf.for %j = %mid to %hi step %c1 iter_args(%acc = %o) -> (!s) {
    %k = warp.get %kc[%j] : !two -> !slot
    %s = warp.mma %q, %k acc(%zero) transpose_b : !q, !slot -> !s
    %p = warp.map ins(%s : !s) -> !q {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      warp.yield %y : f16
    }
    %v = warp.get %vc[%j] : !two -> !slot
    %acc1 = warp.mma %p, %v acc(%acc) : !q, !slot -> !s
    scf.yield %acc1 : !s
  }
  warp.return
}

// A lone ring of one slot has no other get to free it: the only case that adds a barrier.
// CHECK-LABEL: warp.kernel @alone_one_slot(
warp.kernel @alone_one_slot(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %q = warp.fill 0.0 : f16 -> !q
  %zero = warp.fill 0.0 : f32 -> !s
  // CHECK: %[[K:.+]] = warp.channel
  // CHECK-NEXT: warp.put %[[K]]
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // CHECK: scf.for
  // CHECK-NEXT: warp.get
  // CHECK-NEXT: warp.mma
  // CHECK-NEXT: warp.barrier
  // CHECK: warp.put %[[K]]
  // CHECK: scf.yield
  %o = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> (!s) {
    %k = warp.get %kc[%j] : !one -> !slot
    %acc1 = warp.mma %q, %k acc(%acc) transpose_b : !q, !slot -> !s
    scf.yield %acc1 : !s
  }
  warp.return
}

// With two slots the next get frees the slot before it.
// CHECK-LABEL: warp.kernel @alone_two_slots(
warp.kernel @alone_two_slots(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %q = warp.fill 0.0 : f16 -> !q
  %zero = warp.fill 0.0 : f32 -> !s
  // CHECK: %[[K:.+]] = warp.channel
  // CHECK-NEXT: warp.put %[[K]]
  // CHECK-NOT: warp.put
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  // CHECK: scf.for %[[J:[^ ]+]] =
  // CHECK-NEXT: warp.get %[[K]][%[[J]]]
  // CHECK: %[[J1:.+]] = arith.addi %[[J]]
  // CHECK-NEXT: warp.put %[[K]][%[[J1]]]
  // CHECK-NEXT: warp.mma
  // CHECK-NOT: warp.barrier
  %o = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> (!s) {
    %k = warp.get %kc[%j] : !two -> !slot
    %acc1 = warp.mma %q, %k acc(%acc) transpose_b : !q, !slot -> !s
    scf.yield %acc1 : !s
  }
  warp.return
}

// A channel that nobody reads stays as it is.
// CHECK-LABEL: warp.kernel @unread(
// CHECK-NOT: warp.put
warp.kernel @unread(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  warp.return
}

// Two rings of two slots that are read to the end, as in a backward: their gets are joined, and the puts stand behind both.
// CHECK-LABEL: warp.kernel @joined(
// CHECK:         %[[Q:.+]] = warp.channel
// CHECK:         %[[DO:.+]] = warp.channel
// CHECK:         scf.for %[[J:[^ ]+]] =
// CHECK-NEXT:      warp.get %[[Q]][%[[J]]]
// CHECK-NEXT:      warp.get %[[DO]][%[[J]]]
// CHECK:           warp.put %[[Q]]
// CHECK:           warp.put %[[DO]]
// CHECK-COUNT-4:   warp.mma
// CHECK-NOT:       warp.put
warp.kernel @joined(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %k = warp.fill 0.0 : f16 -> !q
  %zero = warp.fill 0.0 : f32 -> !s
  %qc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %doc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %sums:2 = scf.for %j = %lo to %hi step %c1 iter_args(%dk = %zero, %dv = %zero) -> (!s, !s) {
    %q = warp.get %qc[%j] : !two -> !slot
    %s = warp.mma %k, %q acc(%zero) transpose_b : !q, !slot -> !s
    %p = warp.map ins(%s : !s) -> !q {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      warp.yield %y : f16
    }
    %do = warp.get %doc[%j] : !two -> !slot
    %dp = warp.mma %k, %do acc(%s) transpose_b : !q, !slot -> !s
    %ds = warp.map ins(%dp : !s) -> !q {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      warp.yield %y : f16
    }
    %dv1 = warp.mma %p, %do acc(%dv) : !q, !slot -> !s
    %dk1 = warp.mma %ds, %q acc(%dk) : !q, !slot -> !s
    scf.yield %dk1, %dv1 : !s, !s
  }
  warp.return
}
