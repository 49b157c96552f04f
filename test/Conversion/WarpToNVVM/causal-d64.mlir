// RUN: flashc-opt %s --verify-roundtrip | FileCheck %s
//
// A whole kernel by hand, as the warp level's passes leave it: f16, head dim 64, causal (bottom-right), 128 query
// rows by 64 keys, rings of depth 1, Q read from shared memory, a loop over full blocks and one over masked ones.
// Schedule: K(j + 1) is under way during the softmax and P V, V(j) during Q K^T (FlashAttention-2's order).

!qv = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!lv = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
!ring = !warp.channel<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
!qbuf = !warp.buffer<128x64xf16, 64>
!tile = !warp.fragment<128x64xf32>
!half = !warp.fragment<128x64xf16>
!rows = !warp.fragment<128xf32>
!part = !warp.fragment<128xf32, partial>
!flag = !warp.fragment<128xi1>

// CHECK-LABEL: warp.kernel @causal_d64(
// CHECK-COUNT-2: scf.for
warp.kernel @causal_d64(%q: !qv, %k: !qv, %v: !qv, %o: !qv {tile.output}, %lse: !lv {tile.output})
    attributes {warps = 4, q_block = 128, shared_bytes = 32768} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  %scale = arith.constant 0.180336878 : f32        // log2(e) / sqrt(64)
  %scale_ln2 = arith.constant 0.125 : f32          // ln(2) * scale
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %lazy = arith.constant 8.0 : f32
  %big = arith.constant 4194304.0 : f32            // 2^22

  %b, %h, %i = warp.program longest_first
  %hq = memref.dim %q, %c1 : !qv
  %sq = memref.dim %q, %c2 : !qv
  %hkv = memref.dim %k, %c1 : !qv
  %sk = memref.dim %k, %c2 : !qv
  %group = arith.divui %hq, %hkv : index
  %kh = arith.divui %h, %group : index
  %i0 = arith.muli %i, %c128 : index

  // Keys below `full` are seen by every row of the block, keys at or past `end` by none.
  %shift = arith.subi %sk, %sq : index
  %first = arith.addi %i0, %shift : index
  %first1 = arith.addi %first, %c1 : index
  %fullp = arith.maxsi %first1, %c0 : index
  %full = arith.minsi %fullp, %sk : index
  %last1 = arith.addi %first, %c128 : index
  %endp = arith.maxsi %last1, %c0 : index
  %end = arith.minsi %endp, %sk : index
  %mid = arith.divui %full, %c64 : index
  %end63 = arith.addi %end, %c63 : index
  %hi = arith.divui %end63, %c64 : index

  %qb = warp.alloc offset(0) : !qbuf
  warp.copy_in %q[%b, %h, %i0] to %qb : !qv, !qbuf
  %kc = warp.channel %k[%b, %kh] blocks(%c0 to %hi) offset(16384) : !qv -> !ring
  %vc = warp.channel %v[%b, %kh] blocks(%c0 to %hi) offset(24576) : !qv -> !ring
  warp.put %kc[%c0] : !ring

  %acc0 = warp.fill 0.0 : f32 -> !tile
  %m0 = warp.fill 0xFF800000 : f32 -> !rows
  %l0 = warp.fill 0.0 : f32 -> !part

  %full_loop:3 = scf.for %j = %c0 to %mid step %c1 iter_args(%acc = %acc0, %m = %m0, %l = %l0) -> (!tile, !rows, !part) {
    %kb = warp.get %kc[%j] pending(0) : !ring -> !slot
    warp.put %vc[%j] : !ring
    %s0 = warp.fill 0.0 : f32 -> !tile
    %s = warp.mma %qb, %kb acc(%s0) transpose_b : !qbuf, !slot -> !tile
    %vb = warp.get %vc[%j] pending(0) : !ring -> !slot
    %j1 = arith.addi %j, %c1 : index
    warp.put %kc[%j1] : !ring

    %mc = warp.reduce max %s init(%m) : !tile, !rows
    %m1, %g, %alpha, %stale, %large = warp.map ins(%m, %mc : !rows, !rows) -> !rows, !rows, !rows, !flag, !flag {
    ^bb0(%x: f32, %y: f32):
      %d = arith.subf %y, %x : f32
      %e = arith.mulf %d, %scale : f32
      %near = arith.cmpf ole, %e, %lazy : f32
      %new = arith.select %near, %x, %y : f32
      %none = arith.cmpf oeq, %new, %ninf : f32
      %base = arith.select %none, %zero, %new : f32
      %xd = arith.subf %x, %base : f32
      %xe = arith.mulf %xd, %scale : f32
      %a = math.exp2 %xe : f32
      %st = arith.cmpf une, %a, %one : f32
      %be = arith.mulf %base, %scale : f32
      %ab = math.absf %be : f32
      %lg = arith.cmpf oge, %ab, %big : f32
      warp.yield %new, %base, %a, %st, %lg : f32, f32, f32, i1, i1
    }
    %any_large = warp.any %large : !flag
    %p = scf.if %any_large -> (!tile) {
      %pl = warp.map ins(%s, %g : !tile, !rows) -> !tile {
      ^bb0(%x: f32, %y: f32):
        %d = arith.subf %x, %y : f32
        %e = arith.mulf %d, %scale : f32
        %r = math.exp2 %e : f32
        warp.yield %r : f32
      }
      scf.yield %pl : !tile
    } else {
      %pn = warp.map ins(%s, %g : !tile, !rows) -> !tile {
      ^bb0(%x: f32, %y: f32):
        %ye = arith.mulf %y, %scale : f32
        %n = arith.negf %ye : f32
        %e = math.fma %x, %scale, %n : f32
        %r = math.exp2 %e : f32
        warp.yield %r : f32
      }
      scf.yield %pn : !tile
    }
    %la = warp.map ins(%l, %alpha : !part, !rows) -> !part {
    ^bb0(%x: f32, %y: f32):
      %r = arith.mulf %x, %y : f32
      warp.yield %r : f32
    }
    %l1 = warp.reduce add %p init(%la) : !tile, !part
    %any_stale = warp.any %stale : !flag
    %acc1 = scf.if %any_stale -> (!tile) {
      %sc = warp.map ins(%acc, %alpha : !tile, !rows) -> !tile {
      ^bb0(%x: f32, %y: f32):
        %r = arith.mulf %x, %y : f32
        warp.yield %r : f32
      }
      scf.yield %sc : !tile
    } else {
      scf.yield %acc : !tile
    }
    %ph = warp.map ins(%p : !tile) -> !half {
    ^bb0(%x: f32):
      %r = arith.truncf %x : f32 to f16
      warp.yield %r : f16
    }
    %acc2 = warp.mma %ph, %vb acc(%acc1) : !half, !slot -> !tile
    scf.yield %acc2, %m1, %l1 : !tile, !rows, !part
  }

  %masked_loop:3 = scf.for %j = %mid to %hi step %c1
      iter_args(%acc = %full_loop#0, %m = %full_loop#1, %l = %full_loop#2) -> (!tile, !rows, !part) {
    %kb = warp.get %kc[%j] pending(0) : !ring -> !slot
    warp.put %vc[%j] : !ring
    %s0 = warp.fill 0.0 : f32 -> !tile
    %su = warp.mma %qb, %kb acc(%s0) transpose_b : !qbuf, !slot -> !tile
    %vb = warp.get %vc[%j] pending(0) : !ring -> !slot
    %j1 = arith.addi %j, %c1 : index
    warp.put %kc[%j1] : !ring

    %j0 = arith.muli %j, %c64 : index
    %s = warp.map ins(%su : !tile) at(%i0, %j0) -> !tile {
    ^bb0(%x: f32, %row: index, %col: index):
      %lim = arith.addi %row, %shift : index
      %causal = arith.cmpi sle, %col, %lim : index
      %inside = arith.cmpi slt, %col, %sk : index
      %seen = arith.andi %causal, %inside : i1
      %r = arith.select %seen, %x, %ninf : f32
      warp.yield %r : f32
    }
    %mc = warp.reduce max %s init(%m) : !tile, !rows
    %m1, %g, %alpha, %stale, %large = warp.map ins(%m, %mc : !rows, !rows) -> !rows, !rows, !rows, !flag, !flag {
    ^bb0(%x: f32, %y: f32):
      %d = arith.subf %y, %x : f32
      %e = arith.mulf %d, %scale : f32
      %near = arith.cmpf ole, %e, %lazy : f32
      %new = arith.select %near, %x, %y : f32
      %none = arith.cmpf oeq, %new, %ninf : f32
      %base = arith.select %none, %zero, %new : f32
      %xd = arith.subf %x, %base : f32
      %xe = arith.mulf %xd, %scale : f32
      %a = math.exp2 %xe : f32
      %st = arith.cmpf une, %a, %one : f32
      %be = arith.mulf %base, %scale : f32
      %ab = math.absf %be : f32
      %lg = arith.cmpf oge, %ab, %big : f32
      warp.yield %new, %base, %a, %st, %lg : f32, f32, f32, i1, i1
    }
    %any_large = warp.any %large : !flag
    %p = scf.if %any_large -> (!tile) {
      %pl = warp.map ins(%s, %g : !tile, !rows) -> !tile {
      ^bb0(%x: f32, %y: f32):
        %d = arith.subf %x, %y : f32
        %e = arith.mulf %d, %scale : f32
        %r = math.exp2 %e : f32
        warp.yield %r : f32
      }
      scf.yield %pl : !tile
    } else {
      %pn = warp.map ins(%s, %g : !tile, !rows) -> !tile {
      ^bb0(%x: f32, %y: f32):
        %ye = arith.mulf %y, %scale : f32
        %n = arith.negf %ye : f32
        %e = math.fma %x, %scale, %n : f32
        %r = math.exp2 %e : f32
        warp.yield %r : f32
      }
      scf.yield %pn : !tile
    }
    %la = warp.map ins(%l, %alpha : !part, !rows) -> !part {
    ^bb0(%x: f32, %y: f32):
      %r = arith.mulf %x, %y : f32
      warp.yield %r : f32
    }
    %l1 = warp.reduce add %p init(%la) : !tile, !part
    %any_stale = warp.any %stale : !flag
    %acc1 = scf.if %any_stale -> (!tile) {
      %sc = warp.map ins(%acc, %alpha : !tile, !rows) -> !tile {
      ^bb0(%x: f32, %y: f32):
        %r = arith.mulf %x, %y : f32
        warp.yield %r : f32
      }
      scf.yield %sc : !tile
    } else {
      scf.yield %acc : !tile
    }
    %ph = warp.map ins(%p : !tile) -> !half {
    ^bb0(%x: f32):
      %r = arith.truncf %x : f32 to f16
      warp.yield %r : f16
    }
    %acc2 = warp.mma %ph, %vb acc(%acc1) : !half, !slot -> !tile
    scf.yield %acc2, %m1, %l1 : !tile, !rows, !part
  }

  %sum = warp.collect %masked_loop#2 : !part -> !rows
  %inv, %rlse = warp.map ins(%masked_loop#1, %sum : !rows, !rows) -> !rows, !rows {
  ^bb0(%x: f32, %y: f32):
    %empty = arith.cmpf oeq, %y, %zero : f32
    %rcp = arith.divf %one, %y : f32
    %r = arith.select %empty, %zero, %rcp : f32
    %ln = math.log %y : f32
    %sum_ln = math.fma %x, %scale_ln2, %ln : f32
    %e = arith.select %empty, %ninf, %sum_ln : f32
    warp.yield %r, %e : f32, f32
  }
  %oh = warp.map ins(%masked_loop#0, %inv : !tile, !rows) -> !half {
  ^bb0(%x: f32, %y: f32):
    %e = arith.mulf %x, %y : f32
    %r = arith.truncf %e : f32 to f16
    warp.yield %r : f16
  }
  // Empty groups may still be under way, and other warps may still read K, V and Q.
  %ob = warp.alloc offset(0) : !qbuf
  warp.wait pending(0)
  warp.store %oh to %ob : !half, !qbuf
  warp.barrier
  warp.copy_out %ob to %o[%b, %h, %i0] : !qbuf, !qv
  warp.store_rows %rlse to %lse[%b, %h, %i0] : !rows, !lv
  warp.return
}
