// RUN: flashc-opt %s --warp-count-groups --split-input-file --verify-diagnostics

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @no_put(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  scf.for %j = %lo to %hi step %c1 {
    // expected-error @+1 {{'warp.get' op waits for a block that no 'warp.put' has started; run 'warp-place-puts' first}}
    %k = warp.get %kc[%j] : !one -> !slot
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @unknown_block(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'warp.put' op names a block that cannot be counted; use the channel's 'lo' before its loops and the loop's induction variable in them, plus a constant}}
  warp.put %kc[%hi] : !one
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @more_puts_than_gets(%view: !view, %lo: index, %hi: index) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %c1 = arith.constant 1 : index
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'scf.for' op has more copy groups under way with each iteration; put as many blocks as are got}}
  scf.for %j = %lo to %hi step %c1 {
    warp.put %kc[%j] : !one
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!one = !warp.channel<64x64xf16, 64, depth = 1>
warp.kernel @not_counted(%view: !view, %lo: index, %hi: index, %c: i1) attributes {q_block = 64 : i64, warps = 4 : i64} {
  %kc = warp.channel %view[%lo, %lo] blocks(%lo to %hi) : !view -> !one
  // expected-error @+1 {{'scf.execute_region' op holds copy groups, but they are counted in 'scf.for' and 'scf.if' only; use those}}
  scf.execute_region {
    warp.put %kc[%lo] : !one
    scf.yield
  }
  warp.return
}
