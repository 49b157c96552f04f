// RUN: flashc-opt %s --tile-fuse-cap --split-input-file | FileCheck %s

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// 8 / 43.25 above m, in units of s at most 13/32 over 0.03125; coefficients with
// the scale and the factor's powers in them.
// CHECK-LABEL: tile.kernel @cap(
// CHECK:         scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}) ->
// CHECK:           %[[S:.+]] = tile.dot
// CHECK:           %[[LIMITS:.+]] = tile.map ins(%[[M]] : tensor<64xf32>)
// CHECK:             arith.constant 0.184971
// CHECK:             %[[LIMIT:.+]] = arith.addf
// CHECK:             %[[BELOW:.+]] = arith.cmpf olt, %[[LIMIT]], %{{.+}} : f32
// CHECK:             arith.constant 3.200000e+01
// CHECK:             arith.constant 1.300000e+01
// CHECK:             arith.minnumf
// CHECK:             arith.select %[[BELOW]],
// CHECK:           %[[OUT:.+]] = tile.any_above %[[S]], %[[LIMITS]] floor(-1.300000e+01)
// CHECK-NEXT:      %[[IF:.+]]:4 = scf.if %[[OUT]]
// CHECK:             %[[T:.+]] = tile.map ins(%[[S]] :
// CHECK:               math.exp2
// CHECK:               arith.divf
// CHECK:               math.fma
// CHECK:             %[[P:.+]], %[[M1:.+]], %[[L1:.+]], %[[ALPHA:.+]] = tile.softmax_update %[[T]], %[[M]], %[[L]]
// CHECK-NEXT:        %[[ACC1:.+]] = tile.rescale %[[ACC]] by %[[ALPHA]]
// CHECK-NEXT:        %[[H:.+]] = tile.map ins(%[[P]] :
// CHECK:             scf.yield %[[ACC1]], %[[M1]], %[[L1]], %[[H]]
// CHECK:           } else {
// CHECK:             %[[SHIFT:.+]] = tile.map ins(%[[M]] :
// CHECK:             %[[SHORT:.+]] = tile.map ins(%[[S]], %[[SHIFT]] :
// CHECK-NEXT:        ^bb0(%[[X:.+]]: f32, %[[MINUS:.+]]: f32):
// CHECK-NEXT:          %[[Y:.+]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT:          %[[C3:.+]] = arith.constant -5.96254365E-11 : f32
// CHECK-NEXT:          %[[C2:.+]] = arith.constant 1.71007912E-7 : f32
// CHECK-NEXT:          %[[P2:.+]] = math.fma %[[C3]], %[[Y]], %[[C2]] : f32
// CHECK-NEXT:          %[[C1:.+]] = arith.constant -4.39933327E-4 : f32
// CHECK-NEXT:          %[[P1:.+]] = math.fma %[[P2]], %[[Y]], %[[C1]] : f32
// CHECK-NEXT:          %[[C0:.+]] = arith.constant 1.35156238 : f32
// CHECK-NEXT:          %[[P0:.+]] = math.fma %[[P1]], %[[Y]], %[[C0]] : f32
// CHECK-NEXT:          %[[E:.+]] = math.fma %[[P0]], %[[X]], %[[MINUS]] : f32
// CHECK-NEXT:          math.exp2 %[[E]] : f32
// CHECK:             %[[SUM:.+]] = tile.reduce add %[[SHORT]] init(%[[L]]) deferred
// CHECK:             %[[ROUNDED:.+]] = tile.map ins(%[[SHORT]] :
// CHECK:             scf.yield %[[ACC]], %[[M]], %[[SUM]], %[[ROUNDED]]
// CHECK:           tile.dot %[[IF]]#3, %{{.+}} acc(%[[IF]]#0)
// CHECK:           scf.yield %{{.+}}, %[[IF]]#1, %[[IF]]#2
tile.kernel @cap(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %block = tile.program
  %i0 = arith.muli %block, %c64 : index
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) -> tensor<64x32xf32> {
    ^bb0(%x: f32):
      %small = arith.constant 0.03125 : f32
      %z = arith.mulf %x, %small : f32
      %y = math.tanh %z : f32
      tile.yield %y : f32
    }
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(43.25) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x32xf32>) -> tensor<64x32xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %v = tile.next %vs[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %acc2 = tile.dot %ph, %v acc(%acc1) : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(43.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// The mask hides exponents, not scores: tanh would make -1 of the least one.
// CHECK-LABEL: tile.kernel @masked(
// CHECK:           tile.any_above
// CHECK:             tile.mask
// CHECK-NEXT:        tile.softmax_update
// CHECK:           } else {
// CHECK-COUNT-4:       math.fma
// CHECK-NEXT:          tile.yield
// CHECK-NEXT:        }
// CHECK-NEXT:        %[[E:.+]] = tile.mask
// CHECK-NEXT:        tile.map ins(%[[E]] :
// CHECK:               math.exp2
tile.kernel @masked(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %block = tile.program
  %i0 = arith.muli %block, %c64 : index
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) -> tensor<64x32xf32> {
    ^bb0(%x: f32):
      %small = arith.constant 0.03125 : f32
      %z = arith.mulf %x, %small : f32
      %y = math.tanh %z : f32
      tile.yield %y : f32
    }
    %sm = tile.mask %s at(%i0, %j0) symbols(%n) sets([affine_set<(i, j)[n] : (i - j >= 0)>]) : tensor<64x32xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %sm, %m, %l base(two) scale(43.25) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x32xf32>) -> tensor<64x32xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %v = tile.next %vs[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %acc2 = tile.dot %ph, %v acc(%acc1) : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(43.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>

// Lazy needs the maximum.
// CHECK-LABEL: tile.kernel @lazy(
// CHECK-NOT:     tile.any_above
tile.kernel @lazy(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %none = arith.constant dense<0.0> : tensor<64x32xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %block = tile.program
  %i0 = arith.muli %block, %c64 : index
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) -> tensor<64x32xf32> {
    ^bb0(%x: f32):
      %small = arith.constant 0.03125 : f32
      %z = arith.mulf %x, %small : f32
      %y = math.tanh %z : f32
      tile.yield %y : f32
    }
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(43.25) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x32xf32>) -> tensor<64x32xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %v = tile.next %vs[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %acc2 = tile.dot %ph, %v acc(%acc1) : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(43.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}
