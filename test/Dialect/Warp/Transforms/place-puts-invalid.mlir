// RUN: flashc-opt %s --warp-place-puts --split-input-file --verify-diagnostics

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @not_in_a_loop(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'warp.get' op must stand in a loop beside its channel, but it is in 'warp.kernel'; read the channel in an 'scf.for' of its block}}
  %k = warp.get %kc[%lo] : !one -> !slot
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @step_two(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  %c2 = arith.constant 2 : index
  scf.for %j = %lo to %hi step %c2 {
    // expected-error @+1 {{'warp.get' op reads block after block, but its number is not that of a loop with step 1; use the induction variable}}
    %k = warp.get %kc[%j] : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @kept_for_later(%view: !view, %lo: index, %hi: index, %q: memref<1xf16>) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  %c1 = arith.constant 1 : index
  %first = warp.alloc : !slot
  %last = scf.for %j = %lo to %hi step %c1 iter_args(%before = %first) -> (!slot) {
    // expected-error @+1 {{'warp.get' op names a slot for its own iteration, but the loop yields it; get it again in the next one}}
    %k = warp.get %kc[%j] : !one -> !slot
    scf.yield %k : !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @twice(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  %c1 = arith.constant 1 : index
  scf.for %j = %lo to %hi step %c1 {
    // expected-error @+1 {{'warp.get' op reads a channel twice in one loop, but a block is read once; use the first buffer}}
    %k = warp.get %kc[%j] : !one -> !slot
    %k1 = warp.get %kc[%j] : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @puts_there(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'warp.put' op is there before 'warp-place-puts', which places all puts; run the pass once, on gets only}}
  warp.put %kc[%lo] : !one
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!two = !warp.channel<64x64xf16, 64, depth = 2>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @other_order(%view: !view, %lo: index, %mid: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  %vc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !two
  scf.for %j = %lo to %mid step %c1 {
    %k = warp.get %kc[%j] : !two -> !slot
    %v = warp.get %vc[%j] : !two -> !slot
  }
  scf.for %j = %mid to %hi step %c1 {
    // expected-error @+1 {{'warp.get' op frees its slot behind another barrier than in the loop before: puts run 2 blocks ahead here and 1 there; read the channels in one order in all loops}}
    %v = warp.get %vc[%j] : !two -> !slot
    %k = warp.get %kc[%j] : !two -> !slot
  }
  warp.return
}
