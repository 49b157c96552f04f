// RUN: flashc-opt %s --warp-verify-protocol --split-input-file --verify-diagnostics
//
// A protocol that holds, then each sentence of the pass with a protocol that breaks it.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!two = !warp.channel<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>

// Rings of one and two slots over two loops, Q waited for by the first get, the output in Q's bytes.
warp.kernel @holds(%view: !view, %lo: index, %mid: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
  %q = warp.alloc offset(0) : !slot
  warp.copy_in %view[%lo, %lo, %lo] to %q : !view, !slot
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) offset(8192) : !view -> !one
  %vc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) offset(16384) : !view -> !two
  warp.put %kc[%lo] : !one
  warp.put %vc[%lo] : !two
  scf.for %j = %lo to %mid step %c1 {
    %j1 = arith.addi %j, %c1 : index
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
    warp.put %vc[%j1] : !two
    %s = warp.mma %q, %k acc(%zero) transpose_b : !slot, !slot -> !warp.fragment<64x64xf32>
    %v = warp.get %vc[%j] pending(1) : !two -> !slot
    warp.put %kc[%j1] : !one
    %f = warp.load %v : !slot -> !tile
  }
  scf.for %j = %mid to %hi step %c1 {
    %j1 = arith.addi %j, %c1 : index
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
    warp.put %vc[%j1] : !two
    %s = warp.mma %q, %k acc(%zero) transpose_b : !slot, !slot -> !warp.fragment<64x64xf32>
    %v = warp.get %vc[%j] pending(1) : !two -> !slot
    warp.put %kc[%j1] : !one
    %f = warp.load %v : !slot -> !tile
  }
  warp.wait pending(0)
  %o = warp.alloc offset(0) : !slot
  %half = warp.fill 0.0 : f16 -> !tile
  warp.store %half to %o : !tile, !slot
  warp.barrier
  warp.copy_out %o to %view[%lo, %lo, %lo] : !slot, !view
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @not_put(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  scf.for %j = %lo to %hi step %c1 {
    // expected-error @+1 {{'warp.get' op gets block 0, but its slot holds none; put the block first}}
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// The put is forgotten in the second loop only: found when both run.
// expected-note @+1 {{when the loops run 0, 2 times}}
warp.kernel @not_put_in_one_loop(%view: !view, %lo: index, %mid: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  warp.put %kc[%lo] : !one
  scf.for %j = %lo to %mid step %c1 {
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
    %j1 = arith.addi %j, %c1 : index
    warp.put %kc[%j1] : !one
  }
  scf.for %j = %mid to %hi step %c1 {
    // expected-error @+1 {{'warp.get' op gets block 1, but its slot holds block 0; put the block first}}
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.channel<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @waits_too_little(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %lo1 = arith.addi %lo, %c1 : index
  warp.put %kc[%lo] : !two
  warp.put %kc[%lo1] : !two
  scf.for %j = %lo to %hi step %c1 {
    // expected-error @+1 {{'warp.get' op leaves 2 copy groups under way, but block 0 is one of the last 2; use pending(1)}}
    %k = warp.get %kc[%j] pending(2) : !two -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @put_without_barrier(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  warp.put %kc[%lo] : !one
  scf.for %j = %lo to %hi step %c1 {
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
    // expected-note @+1 {{read here}}
    %f = warp.load %k : !slot -> !tile
    %j1 = arith.addi %j, %c1 : index
    // expected-error @+1 {{'warp.put' op writes bytes that other warps may still read; put a barrier between}}
    warp.put %kc[%j1] : !one
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @read_behind_put(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  warp.put %kc[%lo] : !one
  scf.for %j = %lo to %hi step %c1 {
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
    %j1 = arith.addi %j, %c1 : index
    warp.put %kc[%j1] : !one
    // expected-error @+1 {{'warp.load' op reads block 0, but its slot holds block 1 by now; read it before that put}}
    %f = warp.load %k : !slot -> !tile
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
// expected-note @+1 {{when the loops run 2 times}}
warp.kernel @put_over_unread(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  warp.put %kc[%lo] : !one
  scf.for %j = %lo to %hi step %c1 {
    %j1 = arith.addi %j, %c1 : index
    // expected-error @+1 {{'warp.put' op puts block 1 over block 0, which was not read yet; put it behind that block's get or deepen the ring}}
    warp.put %kc[%j1] : !one
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @put_before_first(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %cm1 = arith.constant -1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  %before = arith.addi %lo, %cm1 : index
  // expected-error @+1 {{'warp.put' op puts block -1, but the channel begins with block 0; put the blocks that are read}}
  warp.put %kc[%before] : !one
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @put_of_unknown(%view: !view, %lo: index, %hi: index, %j: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'warp.put' op names a block that cannot be counted; use the channel's 'lo' or a loop's induction variable, plus a constant}}
  warp.put %kc[%j] : !one
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @get_of_unknown(%view: !view, %lo: index, %hi: index, %j: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'warp.get' op names a block that its channel does not hold; use the loop's induction variable}}
  %k = warp.get %kc[%j] pending(0) : !one -> !slot
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @get_not_counted(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'warp.get' op has no count of groups that may be under way; run 'warp-count-groups' first}}
  %k = warp.get %kc[%lo] : !one -> !slot
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @wait_not_counted(%view: !view) attributes {q_block = 64 : i64, warps = 4 : i64} {
  // expected-error @+1 {{'warp.wait' op has no count of groups that may be under way; run 'warp-count-groups' first}}
  warp.wait
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @copy_not_awaited(%view: !view, %i: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %q = warp.alloc : !slot
  warp.copy_in %view[%i, %i, %i] to %q : !view, !slot
  warp.wait pending(1)
  // expected-error @+1 {{'warp.load' op reads a buffer whose last write is not behind a barrier; put a 'warp.wait' or 'warp.barrier' between}}
  %f = warp.load %q : !slot -> !tile
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @staged_without_barrier(%view: !view, %i: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %f = warp.fill 0.0 : f16 -> !tile
  %o = warp.alloc : !slot
  warp.store %f to %o : !tile, !slot
  // expected-error @+1 {{'warp.copy_out' op reads a buffer whose last write is not behind a barrier; put a 'warp.wait' or 'warp.barrier' between}}
  warp.copy_out %o to %view[%i, %i, %i] : !slot, !view
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @shared_bytes_still_read(%view: !view, %i: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %q = warp.alloc offset(0) : !slot
  warp.copy_in %view[%i, %i, %i] to %q : !view, !slot
  warp.wait pending(0)
  // expected-note @+1 {{read here}}
  %f = warp.load %q : !slot -> !tile
  %o = warp.alloc offset(4096) : !slot
  // expected-error @+1 {{'warp.store' op writes bytes that other warps may still read; put a barrier between}}
  warp.store %f to %o : !tile, !slot
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
// expected-note @+1 {{when the loops run 1 times}}
warp.kernel @shared_bytes_under_way(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %f = warp.fill 0.0 : f16 -> !tile
  // expected-note @+1 {{to this buffer}}
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) offset(0) : !view -> !one
  warp.put %kc[%lo] : !one
  warp.barrier
  %o = warp.alloc offset(0) : !slot
  // expected-error @+1 {{'warp.store' op writes bytes that a copy may still be under way to; wait for its group first}}
  warp.store %f to %o : !tile, !slot
  scf.for %j = %lo to %hi step %c1 {
    %k = warp.get %kc[%j] pending(0) : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!slot = !warp.buffer<64x64xf16, 64>
!tile = !warp.fragment<64x64xf16>
warp.kernel @shared_bytes_overwritten(%view: !view, %i: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %q = warp.alloc offset(0) : !slot
  warp.copy_in %view[%i, %i, %i] to %q : !view, !slot
  warp.wait pending(0)
  %f = warp.fill 0.0 : f16 -> !tile
  %o = warp.alloc offset(0) : !slot
  warp.store %f to %o : !tile, !slot
  warp.barrier
  // expected-error @+1 {{'warp.load' op reads a buffer whose bytes hold nothing of it, or another buffer's tile by now; write it first}}
  %g = warp.load %q : !slot -> !tile
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!flag = !warp.fragment<64xi1>
warp.kernel @barrier_in_one_warp(%view: !view) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %true = arith.constant true
  %flag = warp.fill true -> !flag
  %any = warp.any %flag : !flag
  %none = arith.xori %any, %true : i1
  scf.if %none {
    // expected-error @+1 {{'warp.barrier' op takes all threads of the block, but stands under a condition that differs from warp to warp ('warp.any'); move it out of the 'scf.if'}}
    warp.barrier
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
// Each warp has the values of all columns, so that they give one answer; not so with rows.
warp.kernel @barrier_in_all_warps(%view: !view, %rows: !rows) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %b, %h, %i = warp.program
  %columns = warp.load_values %rows[%b, %h, %i] : !rows -> !warp.fragment<1x64xf32, of 64>
  %any = warp.any_not_finite %columns : !warp.fragment<1x64xf32, of 64>
  scf.if %any {
    warp.barrier
  }
  %own = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
  %some = warp.any_not_finite %own : !warp.fragment<64x64xf32>
  scf.if %some {
    // expected-error @+1 {{'warp.barrier' op takes all threads of the block}}
    warp.barrier
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @channel_of_a_loop(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  %last = scf.for %j = %lo to %hi step %c1 iter_args(%ring = %kc) -> (!one) {
    // expected-error @+1 {{'warp.put' op uses a channel whose blocks are not known here; use the result of 'warp.channel'}}
    warp.put %ring[%j] : !one
    scf.yield %ring : !one
  }
  warp.return
}
