// RUN: flashc-opt %s --warp-verify-protocol --split-input-file --verify-diagnostics
//
// Kernels where each group has a role: group 0 writes a ring that group 1 reads, and takes K's slot once the others are done with it.
// First a protocol that holds, then what breaks it.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<64x64xf16, 64, depth = 1>
!probs = !warp.ring<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @holds(%k: !view, %out: !view, %n: index)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %kr = warp.ring : !keys
  %pr = warp.ring : !probs
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %r:2 = scf.for %pair = %i to %n step %one iter_args(%s = %zero, %p = %zero) -> (i32, i32) {
      %b = warp.receive %pr at(%s, %p) : !probs -> !slot
      warp.release %b : !slot
      %s1, %p1 = warp.advance %s, %p depth(2)
      scf.yield %s1, %p1 : i32, i32
    }
  }
  warp.role consumer group(0) registers(216) {
    %t = warp.fill 0.0 : f16 -> !tile
    %r:2 = scf.for %pair = %i to %n step %one iter_args(%s = %zero, %p = %zero) -> (i32, i32) {
      %b = warp.acquire %pr at(%s, %p) : !probs -> !slot
      warp.store %t to %b : !tile, !slot
      warp.commit %b : !slot
      %s1, %p1 = warp.advance %s, %p depth(2)
      scf.yield %s1, %p1 : i32, i32
    }
    %room = warp.reclaim %kr : !keys -> !slot
    warp.emit %t via %room to %out[%i, %i, %i] : !tile, !slot, !view
  }
  warp.role consumer group(1) registers(216) {
    %k1 = warp.receive %kr at(%zero, %zero) : !keys -> !slot
    %r:2 = scf.for %pair = %i to %n step %one iter_args(%s = %zero, %p = %zero) -> (i32, i32) {
      %b = warp.receive %pr at(%s, %p) : !probs -> !slot
      %t = warp.load %b : !slot -> !tile
      warp.release %b : !slot
      %s1, %p1 = warp.advance %s, %p depth(2)
      scf.yield %s1, %p1 : i32, i32
    }
    warp.release %k1 : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @never_given_back(%k: !view)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %kr = warp.ring : !keys
  // expected-note @+1 {{the reducer is at its end}}
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
  }
  warp.role consumer group(0) registers(216) {
    %k0 = warp.receive %kr at(%zero, %zero) : !keys -> !slot
    // expected-error @+1 {{waits for ever, group 0 for the ring's slot to be released by group 0, and no role can go on}}
    %room = warp.reclaim %kr : !keys -> !slot
    warp.release %k0 : !slot
  }
  // expected-note @+1 {{group 1 is at its end}}
  warp.role consumer group(1) registers(216) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @taken_twice(%k: !view)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %kr = warp.ring : !keys
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %k0 = warp.receive %kr at(%zero, %zero) : !keys -> !slot
    warp.release %k0 : !slot
  }
  warp.role consumer group(0) registers(216) {
    // expected-note @+1 {{by this group}}
    %room = warp.reclaim %kr : !keys -> !slot
  }
  warp.role consumer group(1) registers(216) {
    // expected-error @+1 {{takes a slot that a group has taken for itself; use another ring}}
    %room = warp.reclaim %kr : !keys -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @written_while_read(%k: !view, %out: !view)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %kr = warp.ring : !keys
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
  }
  warp.role consumer group(0) registers(216) {
    %t = warp.fill 0.0 : f16 -> !tile
    %k0 = warp.receive %kr at(%zero, %zero) : !keys -> !slot
    // expected-error @+1 {{writes a slot that the other groups may still read; use a ring with a part for each group, or a 'warp.alloc'}}
    warp.emit %t via %k0 to %out[%i, %i, %i] : !tile, !slot, !view
    warp.release %k0 : !slot
  }
  warp.role consumer group(1) registers(216) {
    %k1 = warp.receive %kr at(%zero, %zero) : !keys -> !slot
    warp.release %k1 : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @emitted_twice(%k: !view, %out: !view)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %kr = warp.ring : !keys
  warp.role reducer registers(72) {
    warp.send %k[%i, %i, %i] to %kr at(%zero, %zero) : !view, !keys
    %k0 = warp.receive %kr at(%zero, %zero) : !keys -> !slot
    warp.release %k0 : !slot
  }
  warp.role consumer group(0) registers(216) {
    %t = warp.fill 0.0 : f16 -> !tile
    %room = warp.reclaim %kr : !keys -> !slot
    // expected-note @+1 {{written for that here}}
    warp.emit %t via %room to %out[%i, %i, %i] : !tile, !slot, !view
    // expected-error @+1 {{writes a slot that may still be copied out; take back one of another ring}}
    warp.emit %t via %room to %out[%i, %i, %i] : !tile, !slot, !view
  }
  warp.role consumer group(1) registers(216) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @one_group(%k: !view)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role reducer registers(72) {
  }
  // expected-error @+1 {{is of one group, so each of 2 groups has a role, but there are 1; add the others}}
  warp.role consumer group(0) registers(216) {
  }
  warp.return
}
