// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_90a --split-input-file --verify-diagnostics
//
// Kernels with roles: passes that did not run.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// expected-error@+1 {{'warp.kernel' op has groups, so it has a producer and a consumer, or one for each group, but one is missing; add all roles}}
warp.kernel @one_role(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 0 : i64} {
  warp.role producer registers(24) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// expected-error@+1 {{'warp.kernel' op has no place for its queue of tiles; run 'warp-allocate-shared' first}}
warp.kernel @no_queue(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<64x64xf16, 64, depth = 1>

warp.kernel @send_without_stage(%q: !view, %k: !view, %v: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 8224 : i64} {
  %r = warp.ring offset(0) barriers(8192) : !ring
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : index
    // expected-error@+1 {{'warp.send' op has no stage; run 'warp-assign-stages' first}}
    warp.send %q[%c1, %c1, %c1] to %r : !view, !ring
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<64x64xf16, 64, depth = 1>

warp.kernel @receive_without_stage(%q: !view, %k: !view, %v: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 8224 : i64} {
  %r = warp.ring offset(0) barriers(8192) : !ring
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    %c0 = arith.constant 0 : i32
    // expected-error@+1 {{'warp.receive' op has no stage; run 'warp-assign-stages' first}}
    %x = warp.receive %r : !ring -> !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

warp.kernel @no_place(%q: !view, %k: !view, %v: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 0 : i64} {
  // expected-error@+1 {{'warp.ring' op has no place for its slots or barriers; run 'warp-allocate-shared' first}}
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// expected-error@+1 {{'warp.kernel' op counts its tiles by Q, K and V, but they are not its first three arguments; pass these first}}
warp.kernel @no_values(%q: !view, %k: !view, %lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 0 : i64} {
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}
