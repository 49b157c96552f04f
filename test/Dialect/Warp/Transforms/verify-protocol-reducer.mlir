// RUN: flashc-opt %s --warp-verify-protocol --split-input-file --verify-diagnostics
//
// Kernels with a reducer: a protocol that holds, then what breaks it. The groups write a ring that the reducer reads; the reducer's
// first thread sends queries two pairs ahead, under conditions on the trip count, which are computed.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
warp.kernel @holds(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @sends_too_many(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  // expected-error @+1 {{'warp.ring' op is sent 3 blocks, but each group receives 2; receive each block once}}
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi sle, %ahead, %n : index
      scf.if %more {
        // expected-note @+1 {{the last one}}
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @waits_for_itself(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  // expected-error @+1 {{'warp.ring' op is sent 3 blocks, but each group receives 2; receive each block once}}
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
      // expected-note @+1 {{the last one}}
      warp.send %q[%i, %i, %row0] to %qr at(%zero, %first) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
warp.kernel @unknown_condition(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %odd = arith.remui %pair, %lead : index
      %more = arith.cmpi eq, %odd, %i : index
      // expected-note @+1 {{under this op}}
      scf.if %more {
        // expected-error @+1 {{'warp.send' op is part of the roles' protocol, but may be skipped; move it out of the 'scf.if'}}
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @never_committed(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      // expected-error @+1 {{'warp.receive' op waits for ever, the reducer for slot 0 to be filled, and no role can go on; let each take and release slots and turns in the others' order}}
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  // expected-note @+2 {{group 0 is at its end}}
  // expected-note @+1 {{group 1 is at its end}}
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @commits_nothing(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      // expected-error @+1 {{'warp.commit' op hands over a slot that was not written; put a 'warp.store' before it}}
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @writes_behind_commit(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      // expected-note @+1 {{the release}}
      warp.commit %ds : !dealt
      // expected-error @+1 {{'warp.store' op writes a slot that this group has released; move it before the release}}
      warp.store %p to %ds : !tile, !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @reads_acquired(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      // expected-error @+1 {{'warp.load' op reads a slot that was acquired to be written; receive it in the reducer}}
      %f = warp.load %ds : !dealt -> !tile
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @released_too_early(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      // expected-note @+1 {{the product}}
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      // expected-error @+1 {{'warp.release' op gives back a slot that a product under way still reads; settle the product first}}
      warp.release %ds : !dealt
      %d1 = warp.settle %d pending(0) : !part
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @never_released(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      // expected-error @+1 {{'warp.receive' op names a slot that is never released, so it is never sent again; release it behind its last reader}}
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @never_sent(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      // expected-error @+1 {{'warp.stage_sums' op stages sums that are never sent; put a 'warp.send_sums' behind it}}
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 1>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @sent_twice(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      // expected-error @+1 {{'warp.send_sums' op sends a slot without sums; stage them first}}
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!queries = !warp.ring<64x64xf16, 64, depth = 2>
!scores = !warp.ring<128x64xf16, 64, depth = 2, parts = 2>
!dealt = !warp.buffer<128x64xf16, 64, parts = 2>
!slot = !warp.buffer<64x64xf16, 64>
!room = !warp.staging<64x64xf32, depth = 2>
!tile = !warp.fragment<128x64xf16>
!acc = !warp.fragment<128x64xf32>
!part = !warp.fragment<64x64xf32>
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @turns_of_slots(%k: !view, %q: !view, %dq: !sums, %n: index)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lead = arith.constant 2 : index
  %row0 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %first = arith.constant 1 : i32
  %kr = warp.ring : !keys
  %qr = warp.ring : !queries
  %dsr = warp.ring : !scores
  %room = warp.staging : !room
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %any = arith.cmpi sgt, %n, %i : index
    scf.if %any {
      warp.send %q[%i, %i, %i] to %qr at(%zero, %zero) : !view, !queries
    }
    %two = arith.cmpi sgt, %n, %one : index
    scf.if %two {
      warp.send %q[%i, %i, %row0] to %qr at(%first, %zero) : !view, !queries
    }
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %first, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %row = arith.muli %pair, %row0 : index
      %ds = warp.receive %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      %d = warp.wgmma %ds, %keys transpose_a depth(128) : !dealt, !dealt -> !part
      %ahead = arith.addi %pair, %lead : index
      %more = arith.cmpi slt, %ahead, %n : index
      scf.if %more {
        warp.send %q[%i, %i, %row] to %qr at(%c1, %c2) : !view, !queries
      }
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %d1 = warp.settle %d pending(0) : !part
      warp.release %ds : !dealt
      // expected-error @+1 {{'warp.stage_sums' op writes a slot whose copy may be under way: 0 slots were sent behind it, but 1 copies are not waited for; let the slots take turns}}
      warp.stage_sums %d1 to %room slot(0) : !part, !room
      warp.send_sums %room slot(0) to %dq[%i, %i, %row] columns(0, 64) : !room, !sums
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.role consumer registers(216) {
    %p = warp.fill 0.0 : f16 -> !tile
    %keys = warp.receive %kr at(%zero, %zero) : !keys -> !dealt
    %r:4 = scf.for %pair = %i to %n step %one iter_args(%c1 = %zero, %c2 = %zero, %c3 = %zero, %c4 = %zero) -> (i32, i32, i32, i32) {
      %rows = warp.receive %qr at(%c1, %c2) : !queries -> !slot
      %b1, %b2 = warp.advance %c1, %c2 depth(2)
      %s = warp.wgmma %keys, %rows transpose_b depth(64) : !dealt, !slot -> !acc
      %s1 = warp.settle %s pending(0) : !acc
      warp.release %rows : !slot
      %ds = warp.acquire %dsr at(%c3, %c4) : !scores -> !dealt
      %b3, %b4 = warp.advance %c3, %c4 depth(2)
      warp.store %p to %ds : !tile, !dealt
      warp.commit %ds : !dealt
      scf.yield %b1, %b2, %b3, %b4 : i32, i32, i32, i32
    }
    warp.release %keys : !dealt
  }
  warp.return
}
