// A causal forward kernel (f16, d = 64) as the tile level leaves it: split loops,
// streams, and the running softmax written out. Both conversions start from this form.
// RUN: flashc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: tile.kernel @causal(
// CHECK:         %[[QUARTERS:.+]]:3 = scf.for
// CHECK:         scf.for {{.*}}iter_args({{.*}} = %[[QUARTERS]]#0, {{.*}} = %[[QUARTERS]]#1, {{.*}} = %[[QUARTERS]]#2)
tile.kernel @causal(
    %q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>,
    %k: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>,
    %v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>,
    %o: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.output},
    %lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {tile.output}) attributes {
    schedule = #tile.schedule<q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero_s = arith.constant dense<0.0> : tensor<128x64xf32>
  %zero_o = arith.constant dense<0.0> : tensor<128x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<128xf32>
  %no_sum = arith.constant dense<0.0> : tensor<128xf32>
  %scale = arith.constant 0.180336878 : f32        // log2(e) / sqrt(64)
  %neg_scale = arith.constant -0.180336878 : f32
  %nats = arith.constant 0.125 : f32               // ln(2) * scale
  %ln2 = arith.constant 0.693147182 : f32
  %slack = arith.constant 44.3614197 : f32         // lazy threshold 8 / scale, in raw scores
  %large = arith.constant 4194304.0 : f32          // 2^22
  %ninf = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32

  %b, %h, %i = tile.program longest_first
  %i0 = arith.muli %i, %c128 : index
  %hq = memref.dim %q, %c1 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %hkv = memref.dim %k, %c1 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %group = arith.divui %hq, %hkv : index
  %hk = arith.divui %h, %group : index
  %sq = memref.dim %q, %c2 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %sk = memref.dim %k, %c2 : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<128x64xf16>

  // Row i sees j <= i + sk - sq and j <= sk - 1. Blocks 0 to full are seen by every row, full to end by some row.
  %offset = arith.subi %sk, %sq : index
  %i_end = arith.addi %i0, %c128 : index
  %i_stop = arith.minsi %i_end, %sq : index
  %first_end = arith.addi %i0, %offset : index
  %first_end1 = arith.addi %first_end, %c1 : index
  %last_end = arith.addi %i_stop, %offset : index
  %full_len = arith.minsi %first_end1, %sk : index
  %full_pos = arith.maxsi %full_len, %c0 : index
  %full0 = arith.divui %full_pos, %c64 : index
  %any_len = arith.minsi %last_end, %sk : index
  %any_pos = arith.maxsi %any_len, %c0 : index
  %any_up = arith.addi %any_pos, %c63 : index
  %end = arith.divui %any_up, %c64 : index
  %full = arith.minsi %full0, %end : index

  %ks = tile.stream %k[%b, %hk] blocks(%c0 to %end) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %hk] blocks(%c0 to %end) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.stream<64x64xf16>

  %f:3 = scf.for %j = %c0 to %full step %c1 iter_args(%acc = %zero_o, %m = %no_max, %l = %no_sum)
      -> (tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %qt, %kt acc(%zero_s) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    // softmax_update and the rescale of its accumulator
    %mb = tile.reduce max %s init(%m) : tensor<128x64xf32>, tensor<128xf32>
    %raise = tile.map ins(%m, %mb : tensor<128xf32>, tensor<128xf32>) -> tensor<128xi1> {
    ^bb0(%mo: f32, %mn: f32):
      %d = arith.subf %mn, %mo : f32
      %r = arith.cmpf ogt, %d, %slack : f32
      tile.yield %r : i1
    }
    %any = tile.any %raise : tensor<128xi1>
    %m1, %ls, %accs = scf.if %any -> (tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>) {
      %mx, %alpha = tile.map ins(%m, %mb, %raise : tensor<128xf32>, tensor<128xf32>, tensor<128xi1>) -> tensor<128xf32>, tensor<128xf32> {
      ^bb0(%mo: f32, %mn: f32, %r: i1):
        %max = arith.select %r, %mn, %mo : f32
        %eo = arith.mulf %mo, %scale : f32
        %en = arith.mulf %mn, %scale : f32
        %de = arith.subf %eo, %en : f32
        %ds = arith.subf %mo, %mn : f32
        %dx = arith.mulf %ds, %scale : f32
        %ab = math.absf %en : f32
        %lg = arith.cmpf oge, %ab, %large : f32
        %x = arith.select %lg, %dx, %de : f32
        %a = math.exp2 %x : f32
        %al = arith.select %r, %a, %one : f32
        tile.yield %max, %al : f32, f32
      }
      %l_scaled = tile.map ins(%l, %alpha : tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32> {
      ^bb0(%x: f32, %a: f32):
        %y = arith.mulf %x, %a : f32
        tile.yield %y : f32
      }
      %acc_scaled = tile.map ins(%acc, %alpha : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
      ^bb0(%x: f32, %a: f32):
        %y = arith.mulf %x, %a : f32
        tile.yield %y : f32
      }
      scf.yield %mx, %l_scaled, %acc_scaled : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
    } else {
      scf.yield %m, %l, %acc : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
    }
    %shift, %far = tile.map ins(%m1 : tensor<128xf32>) -> tensor<128xf32>, tensor<128xi1> {
    ^bb0(%x: f32):
      %none = arith.cmpf oeq, %x, %ninf : f32
      %g = arith.select %none, %zero, %x : f32
      %e = arith.mulf %g, %neg_scale : f32
      %ab = math.absf %e : f32
      %lg = arith.cmpf oge, %ab, %large : f32
      tile.yield %e, %lg : f32, i1
    }
    %any_far = tile.any %far : tensor<128xi1>
    %p = scf.if %any_far -> (tensor<128x64xf32>) {
      %pf = tile.map ins(%s, %m1 : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
      ^bb0(%x: f32, %mx: f32):
        %none = arith.cmpf oeq, %mx, %ninf : f32
        %g = arith.select %none, %zero, %mx : f32
        %d = arith.subf %x, %g : f32
        %e = arith.mulf %d, %scale : f32
        %y = math.exp2 %e : f32
        tile.yield %y : f32
      }
      scf.yield %pf : tensor<128x64xf32>
    } else {
      %pn = tile.map ins(%s, %shift : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
      ^bb0(%x: f32, %sh: f32):
        %e = math.fma %x, %scale, %sh : f32
        %y = math.exp2 %e : f32
        tile.yield %y : f32
      }
      scf.yield %pn : tensor<128x64xf32>
    }
    %l1 = tile.reduce add %p init(%ls) deferred : tensor<128x64xf32>, tensor<128xf32>
    %p16 = tile.map ins(%p : tensor<128x64xf32>) -> tensor<128x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc1 = tile.dot %p16, %vt acc(%accs) : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %acc1, %m1, %l1 : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  }

  %g:3 = scf.for %j = %full to %end step %c1 iter_args(%acc = %f#0, %m = %f#1, %l = %f#2)
      -> (tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero_s) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    %j0 = arith.muli %j, %c64 : index
    %last = arith.subi %sk, %c1 : index
    %s = tile.map ins(%s0 : tensor<128x64xf32>) at(%i0, %j0) -> tensor<128x64xf32> {
    ^bb0(%x: f32, %ii: index, %jj: index):
      %u0 = arith.addi %ii, %offset : index
      %u = arith.minsi %u0, %last : index
      %in = arith.cmpi sle, %jj, %u : index
      %y = arith.select %in, %x, %ninf : f32
      tile.yield %y : f32
    }
    %mb = tile.reduce max %s init(%m) : tensor<128x64xf32>, tensor<128xf32>
    %raise = tile.map ins(%m, %mb : tensor<128xf32>, tensor<128xf32>) -> tensor<128xi1> {
    ^bb0(%mo: f32, %mn: f32):
      %d = arith.subf %mn, %mo : f32
      %r = arith.cmpf ogt, %d, %slack : f32
      tile.yield %r : i1
    }
    %any = tile.any %raise : tensor<128xi1>
    %m1, %ls, %accs = scf.if %any -> (tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>) {
      %mx, %alpha = tile.map ins(%m, %mb, %raise : tensor<128xf32>, tensor<128xf32>, tensor<128xi1>) -> tensor<128xf32>, tensor<128xf32> {
      ^bb0(%mo: f32, %mn: f32, %r: i1):
        %max = arith.select %r, %mn, %mo : f32
        %eo = arith.mulf %mo, %scale : f32
        %en = arith.mulf %mn, %scale : f32
        %de = arith.subf %eo, %en : f32
        %ds = arith.subf %mo, %mn : f32
        %dx = arith.mulf %ds, %scale : f32
        %ab = math.absf %en : f32
        %lg = arith.cmpf oge, %ab, %large : f32
        %x = arith.select %lg, %dx, %de : f32
        %a = math.exp2 %x : f32
        %al = arith.select %r, %a, %one : f32
        tile.yield %max, %al : f32, f32
      }
      %l_scaled = tile.map ins(%l, %alpha : tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32> {
      ^bb0(%x: f32, %a: f32):
        %y = arith.mulf %x, %a : f32
        tile.yield %y : f32
      }
      %acc_scaled = tile.map ins(%acc, %alpha : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
      ^bb0(%x: f32, %a: f32):
        %y = arith.mulf %x, %a : f32
        tile.yield %y : f32
      }
      scf.yield %mx, %l_scaled, %acc_scaled : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
    } else {
      scf.yield %m, %l, %acc : tensor<128xf32>, tensor<128xf32>, tensor<128x64xf32>
    }
    %shift, %far = tile.map ins(%m1 : tensor<128xf32>) -> tensor<128xf32>, tensor<128xi1> {
    ^bb0(%x: f32):
      %none = arith.cmpf oeq, %x, %ninf : f32
      %gg = arith.select %none, %zero, %x : f32
      %e = arith.mulf %gg, %neg_scale : f32
      %ab = math.absf %e : f32
      %lg = arith.cmpf oge, %ab, %large : f32
      tile.yield %e, %lg : f32, i1
    }
    %any_far = tile.any %far : tensor<128xi1>
    %p = scf.if %any_far -> (tensor<128x64xf32>) {
      %pf = tile.map ins(%s, %m1 : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
      ^bb0(%x: f32, %mx: f32):
        %none = arith.cmpf oeq, %mx, %ninf : f32
        %gg = arith.select %none, %zero, %mx : f32
        %d = arith.subf %x, %gg : f32
        %e = arith.mulf %d, %scale : f32
        %y = math.exp2 %e : f32
        tile.yield %y : f32
      }
      scf.yield %pf : tensor<128x64xf32>
    } else {
      %pn = tile.map ins(%s, %shift : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
      ^bb0(%x: f32, %sh: f32):
        %e = math.fma %x, %scale, %sh : f32
        %y = math.exp2 %e : f32
        tile.yield %y : f32
      }
      scf.yield %pn : tensor<128x64xf32>
    }
    %l1 = tile.reduce add %p init(%ls) deferred : tensor<128x64xf32>, tensor<128xf32>
    %p16 = tile.map ins(%p : tensor<128x64xf32>) -> tensor<128x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc1 = tile.dot %p16, %vt acc(%accs) : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %acc1, %m1, %l1 : tensor<128x64xf32>, tensor<128xf32>, tensor<128xf32>
  }

  // finish
  %sum = tile.collect %g#2 : tensor<128xf32>
  %inv, %lse_rows = tile.map ins(%g#1, %sum : tensor<128xf32>, tensor<128xf32>) -> tensor<128xf32>, tensor<128xf32> {
  ^bb0(%mx: f32, %l: f32):
    %none = arith.cmpf oeq, %l, %zero : f32
    %r = arith.divf %one, %l : f32
    %rz = arith.select %none, %zero, %r : f32
    %lg = math.log2 %l : f32
    %ln = arith.mulf %lg, %ln2 : f32
    %e = math.fma %mx, %nats, %ln : f32
    %ez = arith.select %none, %ninf, %e : f32
    tile.yield %rz, %ez : f32, f32
  }
  %out = tile.map ins(%g#0, %inv : tensor<128x64xf32>, tensor<128xf32>) -> tensor<128x64xf32> {
  ^bb0(%x: f32, %r: f32):
    %y = arith.mulf %x, %r : f32
    tile.yield %y : f32
  }
  %out16 = tile.map ins(%out : tensor<128x64xf32>) -> tensor<128x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %out16, %o[%b, %h, %i0] : tensor<128x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  tile.store %lse_rows, %lse[%b, %h, %i0] : tensor<128xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  tile.return
}
