// RUN: flashc-opt %s --warp-verify-protocol --split-input-file --verify-diagnostics
//
// Kernels with roles: a protocol that holds, then each sentence of the pass with a protocol that breaks it.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!dealt = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!parts = !warp.buffer<128x64xf16, 64, parts = 2>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
// Two groups in turns; V is sent one block later than K, Q's parts become the output's bytes.
warp.kernel @holds(%q: !view, %k: !view, %v: !view, %o: !view, %lo: index, %hi: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, queue = 49248 : i64, shared_bytes = 49408 : i64} {
  %c1 = arith.constant 1 : index
  %qr = warp.ring offset(0) barriers(49152) : !dealt
  %kr = warp.ring offset(16384) barriers(49184) : !two
  %vr = warp.ring offset(32768) barriers(49216) : !two
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    %r:6 = warp.tiles inits(%c0, %c0, %c0, %c0, %c0, %c0 : i32, i32, i32, i32, i32, i32) -> i32, i32, i32, i32, i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %qs: i32, %qp: i32, %ks: i32, %kp: i32, %vs: i32, %vp: i32):
      warp.send %k[%b, %h, %lo] to %kr at(%ks, %kp) : !view, !two
      %ks1, %kp1 = warp.advance %ks, %kp depth(2)
      warp.send %q[%b, %h, %i] to %qr at(%qs, %qp) : !view, !dealt
      %qs1, %qp1 = warp.advance %qs, %qp depth(1)
      %x:4 = scf.for %j = %lo to %hi step %c1 iter_args(%a0 = %ks1, %a1 = %kp1, %a2 = %vs, %a3 = %vp) -> (i32, i32, i32, i32) {
        warp.send %k[%b, %h, %j] to %kr at(%a0, %a1) : !view, !two
        %b0, %b1 = warp.advance %a0, %a1 depth(2)
        warp.send %v[%b, %h, %j] to %vr at(%a2, %a3) : !view, !two
        %b2, %b3 = warp.advance %a2, %a3 depth(2)
        scf.yield %b0, %b1, %b2, %b3 : i32, i32, i32, i32
      }
      warp.send %v[%b, %h, %hi] to %vr at(%x#2, %x#3) : !view, !two
      %vs1, %vp1 = warp.advance %x#2, %x#3 depth(2)
      warp.end_tile %qs1, %qp1, %x#0, %x#1, %vs1, %vp1 : i32, i32, i32, i32, i32, i32
    }
  }
  warp.role consumer registers(240) {
    %c0 = arith.constant 0 : i32
    %r:6 = warp.tiles inits(%c0, %c0, %c0, %c0, %c0, %c0 : i32, i32, i32, i32, i32, i32) -> i32, i32, i32, i32, i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %qs: i32, %qp: i32, %ks: i32, %kp: i32, %vs: i32, %vp: i32):
      %p = warp.fill 0.0 : f16 -> !tile
      %o0 = warp.fill 0.0 : f32 -> !acc
      %row = warp.fill 0.0 : f32 -> !warp.fragment<128xf32>
      %k0 = warp.receive %kr at(%ks, %kp) : !two -> !slot
      %ks1, %kp1 = warp.advance %ks, %kp depth(2)
      %qb = warp.receive %qr at(%qs, %qp) : !dealt -> !parts
      %qs1, %qp1 = warp.advance %qs, %qp depth(1)
      %s = warp.wgmma %qb, %k0 transpose_b depth(64) : !parts, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %k0 : !slot
      %m = warp.reduce max %s1 init(%row) : !acc, !warp.fragment<128xf32>
      %x:5 = scf.for %j = %lo to %hi step %c1 iter_args(%a0 = %ks1, %a1 = %kp1, %a2 = %vs, %a3 = %vp, %acc = %o0) -> (i32, i32, i32, i32, !acc) {
        %kb = warp.receive %kr at(%a0, %a1) : !two -> !slot
        %b0, %b1 = warp.advance %a0, %a1 depth(2)
        warp.await_turn
        %t = warp.wgmma %qb, %kb transpose_b depth(64) : !parts, !slot -> !acc
        %vb = warp.receive %vr at(%a2, %a3) : !two -> !slot
        %b2, %b3 = warp.advance %a2, %a3 depth(2)
        %o1 = warp.wgmma %p, %vb acc(%acc : !acc) depth(64) : !tile, !slot -> !acc
        warp.pass_turn
        %t1 = warp.settle %t pending(1) : !acc
        warp.release %kb : !slot
        %m1 = warp.reduce max %t1 init(%row) : !acc, !warp.fragment<128xf32>
        %o2 = warp.settle %o1 pending(0) : !acc
        warp.release %vb : !slot
        // A branch that only computes.
        %any = arith.constant true
        %o3 = scf.if %any -> !acc {
          scf.yield %o2 : !acc
        } else {
          scf.yield %o2 : !acc
        }
        scf.yield %b0, %b1, %b2, %b3, %o3 : i32, i32, i32, i32, !acc
      }
      %vl = warp.receive %vr at(%x#2, %x#3) : !two -> !slot
      %vs1, %vp1 = warp.advance %x#2, %x#3 depth(2)
      %of = warp.wgmma %p, %vl acc(%x#4 : !acc) depth(64) : !tile, !slot -> !acc
      %os = warp.settle %of pending(0) : !acc
      warp.release %vl : !slot
      %ob = warp.alias %qb : !parts -> !parts
      warp.emit %p via %ob to %o[%b, %h, %i] : !tile, !parts, !view
      warp.release %qb : !parts
      warp.end_tile %qs1, %qp1, %x#0, %x#1, %vs1, %vp1 : i32, i32, i32, i32, i32, i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{'warp.kernel' op has groups, so one role loads and one computes, but there is no producer; add a 'warp.role'}}
warp.kernel @no_producer(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @threads(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.barrier
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.barrier' op takes all threads of the block, but the kernel's warps have roles; use 'warp.send', 'warp.receive' and 'warp.emit'}}
    warp.barrier
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @no_stages(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.send' op has no stage and phase; run 'warp-assign-stages' first}}
    warp.send %x[%i, %i, %i] to %r : !view, !one
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @ring_as_value(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    %t = warp.tiles inits(%r : !one) -> !one {
    ^bb0(%n: index, %h: index, %m: index, %other: !one):
    // expected-error @+1 {{'warp.send' op takes a slot of a ring that is handed on as a value, but rings are known by name; use the result of 'warp.ring'}}
    warp.send %x[%i, %i, %i] to %other at(%c0, %c0) : !view, !one
      warp.end_tile %other : !one
    }
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @branch(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %yes = arith.constant true
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    // expected-note @+1 {{under this op}}
    scf.if %yes {
    // expected-error @+1 {{'warp.await_turn' op is part of the roles' protocol, but may be skipped; move it out of the 'scf.if'}}
    warp.await_turn
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @which_buffer(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %yes = arith.constant true
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    warp.send %x[%i, %i, %i] to %r at(%c0, %c1) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %d = warp.receive %r at(%c0, %c1) : !one -> !slot
    // expected-error @+1 {{'arith.select' op hands on a buffer so that it is not known which one; use the results of 'warp.receive' and 'warp.alloc' themselves}}
    %e = arith.select %yes, %b, %d : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @loops(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  // expected-note @+1 {{the other role}}
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.tiles' op takes slots of rings, but the producer has no such loop at its place; give both roles the same loops}}
    warp.tiles {
    ^bb0(%n: index, %h: index, %m: index):
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @nesting(%x: !view, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%n: index, %h: index, %m: index):
    }
    // expected-note @+1 {{the loop at its place}}
    scf.for %j = %i to %hi step %one {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    }
  }
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%n: index, %h: index, %m: index):
    // expected-error @+1 {{'scf.for' op takes slots of rings, but the producer has no such loop at its place; give both roles the same loops}}
    scf.for %j = %i to %hi step %one {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    }
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @producer_loop(%x: !view, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    // expected-error @+1 {{'scf.for' op takes slots of rings, but the consumer has no such loop at its place; give both roles the same loops}}
    scf.for %j = %i to %hi step %one {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    }
  }
  // expected-note @+1 {{the other role}}
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!two = !warp.ring<64x64xf16, 64, depth = 2>
warp.kernel @bytes(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-note @+1 {{the other}}
  %r = warp.ring offset(0) : !two
  // expected-error @+1 {{'warp.ring' op has its slots at bytes 8192 to 16383, but bytes 0 to 16383 are another's slots; run 'warp-allocate-shared'}}
  %s = warp.ring offset(8192) : !one
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @bytes_of_barriers(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.ring' op has its barriers at bytes 8184 to 8215, but bytes 0 to 8191 are another's rows; run 'warp-allocate-shared'}}
  %r = warp.ring barriers(8184) : !two
  // expected-note @+1 {{the other}}
  %s = warp.alloc offset(0) : !slot
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
// expected-error @+1 {{'warp.kernel' op has its queue at bytes 8184 to 8247, but bytes 0 to 8191 are another's slots; run 'warp-allocate-shared'}}
warp.kernel @bytes_of_queue(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 8184 : i64} {
  // expected-note @+1 {{the other}}
  %r = warp.ring offset(0) : !one
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @bytes_past_end(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, shared_bytes = 16000 : i64} {
  // expected-error @+1 {{'warp.ring' op has its slots at bytes 8192 to 16383, but the kernel has 16000 bytes of shared memory; run 'warp-allocate-shared'}}
  %r = warp.ring offset(8192) : !one
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @send_position(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note @+1 {{the ring}}
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    // expected-error @+1 {{'warp.send' op is at stage 0 and phase 0, but use 1 of a ring of 1 slots is at stage 0 and phase 1; carry both through a 'warp.advance' behind each use}}
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @receive_position(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note @+1 {{the ring}}
  %r = warp.ring : !two
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !two
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.receive' op is at stage 1 and phase 0, but use 0 of a ring of 2 slots is at stage 0 and phase 0; carry both through a 'warp.advance' behind each use}}
    %b = warp.receive %r at(%c1, %c0) : !two -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
// The position is right until the loop runs twice: nothing carries it.
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @loop_position(%x: !view, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : index
  // expected-note @+1 {{the ring}}
  %r = warp.ring : !two
  warp.role producer registers(24) {
    scf.for %j = %i to %hi step %one {
    // expected-error @+1 {{'warp.send' op is at stage 0 and phase 0, but use 1 of a ring of 2 slots is at stage 1 and phase 0; carry both through a 'warp.advance' behind each use}}
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !two
    }
  }
  warp.role consumer registers(240) {
    scf.for %j = %i to %hi step %one {
    %b = warp.receive %r at(%c0, %c0) : !two -> !slot
    warp.release %b : !slot
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
// Three slots' worth of advances on a ring of two, seen when the second tile wraps.
warp.kernel @tile_position(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note @+1 {{the ring}}
  %r = warp.ring : !two
  warp.role producer registers(24) {
    %t:2 = warp.tiles inits(%c0, %c0 : i32, i32) -> i32, i32 {
    ^bb0(%n: index, %h: index, %m: index, %s: i32, %p: i32):
    // expected-error @+1 {{'warp.send' op is at stage 2 and phase 0, but use 2 of a ring of 2 slots is at stage 0 and phase 1; carry both through a 'warp.advance' behind each use}}
    warp.send %x[%i, %i, %i] to %r at(%s, %p) : !view, !two
      %s1, %p1 = warp.advance %s, %p depth(3)
      warp.end_tile %s1, %p1 : i32, i32
    }
  }
  warp.role consumer registers(240) {
    %t:2 = warp.tiles inits(%c0, %c0 : i32, i32) -> i32, i32 {
    ^bb0(%n: index, %h: index, %m: index, %s: i32, %p: i32):
    %b = warp.receive %r at(%s, %p) : !two -> !slot
    warp.release %b : !slot
      %s1, %p1 = warp.advance %s, %p depth(2)
      warp.end_tile %s1, %p1 : i32, i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @unknown_position(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-note @+1 {{the ring}}
  %r = warp.ring : !one
  warp.role producer registers(24) {
    %s = arith.addi %c0, %c0 : i32
    // expected-error @+1 {{'warp.send' op has a stage or phase that cannot be followed; use constants, 'warp.advance' and values that loops carry}}
    warp.send %x[%i, %i, %i] to %r at(%s, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// The slot is not released before it is sent again.
warp.kernel @not_released(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    // expected-error @+1 {{'warp.send' op waits for ever, the producer for slot 0 to be released by group 0, and no role can go on; let each take and release slots and turns in the others' order}}
    warp.send %x[%i, %i, %i] to %r at(%c0, %c1) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    // expected-note @+1 {{group 0 waits here for slot 0 to be filled}}
    %d = warp.receive %r at(%c0, %c1) : !one -> !slot
    warp.release %b : !slot
    warp.release %d : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// Each role waits for the other one's other ring.
warp.kernel @crossed(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  %s = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    // expected-error @+1 {{'warp.send' op waits for ever, the producer for slot 0 to be released by group 0, and no role can go on; let each take and release slots and turns in the others' order}}
    warp.send %x[%i, %i, %i] to %r at(%c0, %c1) : !view, !one
    warp.send %x[%i, %i, %i] to %s at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    // expected-note @+1 {{group 0 waits here for slot 0 to be filled}}
    %b = warp.receive %s at(%c0, %c0) : !one -> !slot
    %d = warp.receive %r at(%c0, %c0) : !one -> !slot
    warp.release %d : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// Nothing is sent.
warp.kernel @not_sent(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  // expected-note @+1 {{the producer is at its end}}
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.receive' op waits for ever, group 0 for slot 0 to be filled, and no role can go on; let each take and release slots and turns in the others' order}}
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// The turn is passed behind a wait for a block that the other group must release first.
warp.kernel @turn(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    // expected-error @+1 {{'warp.send' op waits for ever, the producer for slot 0 to be released by group 1, and no role can go on; let each take and release slots and turns in the others' order}}
    warp.send %x[%i, %i, %i] to %r at(%c0, %c1) : !view, !one
  }
  warp.role consumer registers(240) {
    // expected-note @+1 {{group 1 waits here for group 0 to pass its turn}}
    warp.await_turn
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    warp.release %b : !slot
    // expected-note @+1 {{group 0 waits here for slot 0 to be filled}}
    %d = warp.receive %r at(%c0, %c1) : !one -> !slot
    warp.pass_turn
    warp.release %d : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @read_released(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    // expected-note @+1 {{the release}}
    warp.release %b : !slot
    // expected-error @+1 {{'warp.load' op reads a slot that this group has released; move it before the release}}
    %g = warp.load %b : !slot -> !warp.fragment<64x64xf16>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// Through an alias, in a branch.
warp.kernel @read_released_alias(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %yes = arith.constant true
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    // expected-note @+1 {{the release}}
    warp.release %b : !slot
    %a = warp.alias %b : !slot -> !slot
    // expected-error @+1 {{'scf.if' op reads a slot that this group has released; move it before the release}}
    scf.if %yes {
      %g = warp.load %a : !slot -> !warp.fragment<64x64xf16>
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @read_later_block(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    warp.send %x[%i, %i, %i] to %r at(%c0, %c1) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    warp.release %b : !slot
    // expected-note @+1 {{the later block}}
    %d = warp.receive %r at(%c0, %c1) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.wgmma' op reads a slot that holds a later block by now; move it before the slot's release}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    %t = warp.settle %s pending(0) : !warp.fragment<64x64xf32>
    warp.release %d : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @released_twice(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    // expected-note @+1 {{given back here}}
    warp.release %b : !slot
    // expected-error @+1 {{'warp.release' op gives back a slot that this group has given back, but the barrier counts each once; release it once for each receive}}
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// Bounds that are constants are kept.
warp.kernel @released_in_loop(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    scf.for %j = %i to %two step %one {
    // expected-note @+2 {{given back here}}
    // expected-error @+1 {{'warp.release' op gives back a slot that this group has given back, but the barrier counts each once; release it once for each receive}}
    warp.release %b : !slot
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @released_under_way(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-note @+1 {{the product}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{'warp.release' op gives back a slot that a product under way still reads; settle the product first}}
    warp.release %b : !slot
    %t = warp.settle %s pending(0) : !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
// A settle that leaves one product under way covers the older of two.
warp.kernel @released_under_way_of_two(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !two
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !two
    warp.send %x[%i, %i, %i] to %r at(%c1, %c0) : !view, !two
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !two -> !slot
    %d = warp.receive %r at(%c1, %c0) : !two -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    // expected-note @+1 {{the product}}
    %s2 = warp.wgmma %f, %d depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    %t = warp.settle %s pending(1) : !warp.fragment<64x64xf32>
    warp.release %b : !slot
    // expected-error @+1 {{'warp.release' op gives back a slot that a product under way still reads; settle the product first}}
    warp.release %d : !slot
    %t2 = warp.settle %s2 pending(0) : !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @never_released(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.receive' op names a slot that is never released, so it is never sent again; release it behind its last reader}}
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @never_received(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error @+1 {{'warp.ring' op is sent 2 blocks, but each group receives 1; receive each block once}}
  %r = warp.ring : !two
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !two
    // expected-note @+1 {{the last one}}
    warp.send %x[%i, %i, %i] to %r at(%c1, %c0) : !view, !two
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !two -> !slot
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// A received slot as the output's bytes, and an alloc at any time.
warp.kernel @emit_holds(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %own = warp.alloc : !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    warp.emit %f via %own to %x[%i, %i, %i] : !warp.fragment<64x64xf16>, !slot, !view
    %t = warp.settle %s pending(0) : !warp.fragment<64x64xf32>
    %a = warp.alias %b : !slot -> !slot
    warp.emit %f via %a to %x[%i, %i, %i] : !warp.fragment<64x64xf16>, !slot, !view
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @emit_under_way(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %a = warp.alias %b : !slot -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-note @+1 {{the product}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{'warp.emit' op writes a slot that a product under way still reads; settle the product first}}
    warp.emit %f via %a to %x[%i, %i, %i] : !warp.fragment<64x64xf16>, !slot, !view
    %t = warp.settle %s pending(0) : !warp.fragment<64x64xf32>
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @emit_released(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %a = warp.alias %b : !slot -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-note @+1 {{the release}}
    warp.release %b : !slot
    // expected-error @+1 {{'warp.emit' op writes a slot that this group has released; move it before the release}}
    warp.emit %f via %a to %x[%i, %i, %i] : !warp.fragment<64x64xf16>, !slot, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @emit_later_block(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
    warp.send %x[%i, %i, %i] to %r at(%c0, %c1) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    warp.release %b : !slot
    // expected-note @+1 {{the later block}}
    %d = warp.receive %r at(%c0, %c1) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.emit' op writes a slot that holds a later block by now; move it before the slot's release}}
    warp.emit %f via %b to %x[%i, %i, %i] : !warp.fragment<64x64xf16>, !slot, !view
    warp.release %d : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @read_emitted(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-note @+1 {{written over here}}
    warp.emit %f via %b to %x[%i, %i, %i] : !warp.fragment<64x64xf16>, !slot, !view
    // expected-error @+1 {{'warp.wgmma' op reads a slot whose block was written over; move it before that}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    %t = warp.settle %s pending(0) : !warp.fragment<64x64xf32>
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @store_shared(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.store' op writes a slot that the other groups may still read; use a ring with a part for each group, or a 'warp.alloc'}}
    warp.store %f to %b : !warp.fragment<64x64xf16>, !slot
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!parts = !warp.buffer<128x64xf16, 64, parts = 2>
!tile = !warp.fragment<128x64xf16>
// A narrower alias holds: group 1's part of it begins where group 1's part of the slot does.
warp.kernel @emit_narrow_parts(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !warp.ring<128x128xf16, 64, depth = 1, parts = 2>
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !warp.ring<128x128xf16, 64, depth = 1, parts = 2>
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !warp.ring<128x128xf16, 64, depth = 1, parts = 2> -> !warp.buffer<128x128xf16, 64, parts = 2>
    %a = warp.alias %b : !warp.buffer<128x128xf16, 64, parts = 2> -> !parts
    %f = warp.fill 0.0 : f16 -> !tile
    warp.emit %f via %a to %x[%i, %i, %i] : !tile, !parts, !view
    warp.release %b : !warp.buffer<128x128xf16, 64, parts = 2>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @touched(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-note @+1 {{the product}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{'warp.wgmma' op touches the result of a product that may be under way; use the result of a 'warp.settle' that covers it}}
    %s2 = warp.wgmma %f, %b acc(%s : !warp.fragment<64x64xf32>) depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    %t2 = warp.settle %s2 pending(0) : !warp.fragment<64x64xf32>
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @carried(%x: !view, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    %z = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
    %l = scf.for %j = %i to %hi step %one iter_args(%a = %z) -> (!warp.fragment<64x64xf32>) {
    // expected-note @+1 {{the product}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    %t = warp.settle %s pending(0) : !warp.fragment<64x64xf32>
    // expected-error @+1 {{'scf.yield' op touches the result of a product that may be under way; use the result of a 'warp.settle' that covers it}}
      scf.yield %s : !warp.fragment<64x64xf32>
    }
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @pending(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    // expected-note @+1 {{the product}}
    %s2 = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{'warp.settle' op leaves 1 products under way, but its operand is one of the last 1; use pending(0)}}
    %t2 = warp.settle %s2 pending(1) : !warp.fragment<64x64xf32>
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @loop_end(%x: !view, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-note @+1 {{of this op}}
    scf.for %j = %i to %hi step %one {
    // expected-error @+1 {{'warp.wgmma' op is still under way at the end of the loop's body; settle it with pending(0) before that}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
    }
    warp.release %b : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @tile_end(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    %t:2 = warp.tiles inits(%c0, %c0 : i32, i32) -> i32, i32 {
    ^bb0(%n: index, %h: index, %m: index, %u: i32, %p: i32):
    warp.send %x[%i, %i, %i] to %r at(%u, %p) : !view, !one
      %u1, %p1 = warp.advance %u, %p depth(1)
      warp.end_tile %u1, %p1 : i32, i32
    }
  }
  warp.role consumer registers(240) {
    // expected-note @+1 {{of this op}}
    %t:2 = warp.tiles inits(%c0, %c0 : i32, i32) -> i32, i32 {
    ^bb0(%n: index, %h: index, %m: index, %u: i32, %p: i32):
    %b = warp.receive %r at(%u, %p) : !one -> !slot
      %u1, %p1 = warp.advance %u, %p depth(1)
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.wgmma' op is still under way at the end of the tile; settle it with pending(0) before that}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
      warp.end_tile %u1, %p1 : i32, i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @role_end(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !one
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !one
  }
  // expected-note @+1 {{of this op}}
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !one -> !slot
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.wgmma' op is still under way at the end of the role; settle it with pending(0) before that}}
    %s = warp.wgmma %f, %b depth(64) : !warp.fragment<64x64xf16>, !slot -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!dealt = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!parts = !warp.buffer<128x64xf16, 64, parts = 2>
!acc = !warp.fragment<128x64xf32>
warp.kernel @product_of_parts(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = warp.ring : !dealt
  warp.role producer registers(24) {
    warp.send %x[%i, %i, %i] to %r at(%c0, %c0) : !view, !dealt
  }
  warp.role consumer registers(240) {
    %b = warp.receive %r at(%c0, %c0) : !dealt -> !parts
    // expected-error @+1 {{'warp.wgmma' op reads all rows of B, but a warpgroup receives only its own of 2 parts; use a ring without parts}}
    %s = warp.wgmma %b, %b transpose_b depth(64) : !parts, !parts -> !acc
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @turn_twice(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    // expected-note @+1 {{awaited here}}
    warp.await_turn
    // expected-error @+1 {{'warp.await_turn' op awaits a turn that this group has; pass it first}}
    warp.await_turn
    warp.pass_turn
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @turn_not_awaited(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.pass_turn' op passes a turn that this group does not have; await it first}}
    warp.pass_turn
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @turn_passed_twice(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    warp.await_turn
    // expected-note @+1 {{passed here}}
    warp.pass_turn
    // expected-error @+1 {{'warp.pass_turn' op passes a turn that this group does not have; await it first}}
    warp.pass_turn
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// Group 1 waits for the turn that group 0 keeps.
warp.kernel @turn_kept(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  // expected-note @+1 {{the producer is at its end}}
  warp.role producer registers(24) {
  }
  // expected-note @+1 {{group 0 is at its end}}
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.await_turn' op waits for ever, group 1 for group 0 to pass its turn, and no role can go on; let each take and release slots and turns in the others' order}}
    warp.await_turn
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// With one group nobody waits for it.
warp.kernel @turn_never_passed(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
  }
  warp.role consumer registers(240) {
    // expected-error @+1 {{'warp.await_turn' op takes a turn that is never passed; put a 'warp.pass_turn' behind it}}
    warp.await_turn
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!acc = !warp.fragment<128x64xf32>
// Each group lets blocks pass that only the other one reads: how many differs from group to group, and all of them together are what
// is sent. Those in turns pass theirs.
warp.kernel @skips(%x: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %c1 = arith.constant 1 : index
  %r = warp.ring : !one
  warp.role producer registers(24) {
    %s = arith.constant 0 : i32
    %e:2 = scf.for %j = %lo to %hi step %c1 iter_args(%a0 = %s, %a1 = %s) -> (i32, i32) {
      warp.send %x[%j, %j, %j] to %r at(%a0, %a1) : !view, !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
  }
  warp.role consumer registers(240) {
    %s = arith.constant 0 : i32
    %p = warp.fill 0.0 : f16 -> !warp.fragment<128x64xf16>
    %g = warp.group
    %begin:2 = scf.for %j = %lo to %g step %c1 iter_args(%a0 = %s, %a1 = %s) -> (i32, i32) {
      warp.await_turn
      warp.pass_turn
      warp.skip %r at(%a0, %a1) : !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
    %own:2 = scf.for %j = %g to %hi step %c1 iter_args(%a0 = %begin#0, %a1 = %begin#1) -> (i32, i32) {
      %k = warp.receive %r at(%a0, %a1) : !one -> !slot
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      warp.await_turn
      %t = warp.wgmma %p, %k transpose_b depth(64) : !warp.fragment<128x64xf16>, !slot -> !acc
      warp.pass_turn
      %t1 = warp.settle %t pending(0) : !acc
      warp.release %k : !slot
      scf.yield %b0, %b1 : i32, i32
    }
    %end:2 = scf.for %j = %g to %hi step %c1 iter_args(%a0 = %own#0, %a1 = %own#1) -> (i32, i32) {
      warp.await_turn
      warp.pass_turn
      warp.skip %r at(%a0, %a1) : !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!acc = !warp.fragment<128x64xf32>
// expected-note @+1 {{when the loops run}}
warp.kernel @skips_without_turns(%x: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %c1 = arith.constant 1 : index
  %r = warp.ring : !one
  // expected-note @+1 {{the producer is at its end}}
  warp.role producer registers(24) {
    %s = arith.constant 0 : i32
    %e:2 = scf.for %j = %lo to %hi step %c1 iter_args(%a0 = %s, %a1 = %s) -> (i32, i32) {
      warp.send %x[%j, %j, %j] to %r at(%a0, %a1) : !view, !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
  }
  // expected-note @+1 {{group 0 is at its end}}
  warp.role consumer registers(240) {
    %s = arith.constant 0 : i32
    %p = warp.fill 0.0 : f16 -> !warp.fragment<128x64xf16>
    %g = warp.group
    %begin:2 = scf.for %j = %lo to %g step %c1 iter_args(%a0 = %s, %a1 = %s) -> (i32, i32) {
      warp.skip %r at(%a0, %a1) : !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
    %own:2 = scf.for %j = %g to %hi step %c1 iter_args(%a0 = %begin#0, %a1 = %begin#1) -> (i32, i32) {
      %k = warp.receive %r at(%a0, %a1) : !one -> !slot
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      warp.await_turn
      %t = warp.wgmma %p, %k transpose_b depth(64) : !warp.fragment<128x64xf16>, !slot -> !acc
      warp.pass_turn
      %t1 = warp.settle %t pending(0) : !acc
      warp.release %k : !slot
      scf.yield %b0, %b1 : i32, i32
    }
    %end:2 = scf.for %j = %g to %hi step %c1 iter_args(%a0 = %own#0, %a1 = %own#1) -> (i32, i32) {
      // expected-error @+1 {{'warp.await_turn' op waits for ever, group 1 for group 0 to pass its turn, and no role can go on}}
      warp.await_turn
      warp.pass_turn
      warp.skip %r at(%a0, %a1) : !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!acc = !warp.fragment<128x64xf32>
// expected-note @+1 {{when the loops run}}
warp.kernel @skips_too_few(%x: !view, %lo: index, %hi: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %c1 = arith.constant 1 : index
  %r = warp.ring : !one
  // expected-note @+1 {{the producer is at its end}}
  warp.role producer registers(24) {
    %s = arith.constant 0 : i32
    %e:2 = scf.for %j = %lo to %hi step %c1 iter_args(%a0 = %s, %a1 = %s) -> (i32, i32) {
      warp.send %x[%j, %j, %j] to %r at(%a0, %a1) : !view, !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
  }
  // expected-note @+1 {{group 0 is at its end}}
  warp.role consumer registers(240) {
    %s = arith.constant 0 : i32
    %p = warp.fill 0.0 : f16 -> !warp.fragment<128x64xf16>
    %g = warp.group
    %begin:2 = scf.for %j = %lo to %g step %c1 iter_args(%a0 = %s, %a1 = %s) -> (i32, i32) {
      warp.await_turn
      warp.pass_turn
      warp.skip %r at(%a0, %a1) : !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      scf.yield %b0, %b1 : i32, i32
    }
    %own:2 = scf.for %j = %g to %hi step %c1 iter_args(%a0 = %begin#0, %a1 = %begin#1) -> (i32, i32) {
      %k = warp.receive %r at(%a0, %a1) : !one -> !slot
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      warp.await_turn
      %t = warp.wgmma %p, %k transpose_b depth(64) : !warp.fragment<128x64xf16>, !slot -> !acc
      warp.pass_turn
      %t1 = warp.settle %t pending(0) : !acc
      warp.release %k : !slot
      scf.yield %b0, %b1 : i32, i32
    }
    %end:2 = scf.for %j = %g to %hi step %c1 iter_args(%a0 = %own#0, %a1 = %own#1) -> (i32, i32) {
      warp.await_turn
      warp.pass_turn
      warp.skip %r at(%a0, %a1) : !one
      %b0, %b1 = warp.advance %a0, %a1 depth(1)
      // expected-error @+1 {{'warp.skip' op waits for ever, group 1 for slot 0 to be filled, and no role can go on}}
      warp.skip %r at(%b0, %b1) : !one
      %d0, %d1 = warp.advance %b0, %b1 depth(1)
      scf.yield %d0, %d1 : i32, i32
    }
  }
  warp.return
}
