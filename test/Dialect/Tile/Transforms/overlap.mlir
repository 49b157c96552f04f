// RUN: flashc-opt %s --tile-overlap --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// Full blocks, then masked ones. Block 0 is masked if it is not a full one, Q comes behind
// its K, and the last block's product stands behind the loops.
// CHECK-LABEL: tile.kernel @causal(
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
// CHECK:         %[[HI:.+]] = arith.divui
// CHECK:         %[[MID:.+]] = arith.divui %[[HI]]
// CHECK:         %[[HI1:.+]] = arith.maxsi %[[HI]], %[[C1]]
// CHECK-NOT:     tile.load
// CHECK:         %[[KS:.+]] = tile.stream %{{.+}} blocks(%[[C0]] to %[[HI1]])
// CHECK:         %[[VS:.+]] = tile.stream %{{.+}} blocks(%[[C0]] to %[[HI1]])
// CHECK:         %[[K0:.+]] = tile.next %[[KS]][%[[C0]]]
// CHECK-NEXT:    %[[Q:.+]] = tile.load
// CHECK-NEXT:    %[[S0:.+]] = tile.dot %[[Q]], %[[K0]] acc(%[[ZERO]]) transpose_b
// CHECK-NEXT:    %[[ISFULL:.+]] = arith.cmpi sgt, %[[MID]], %[[C0]]
// CHECK-NEXT:    %[[X0:.+]] = scf.if %[[ISFULL]]
// CHECK-NEXT:      scf.yield %[[S0]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[X1:.+]] = tile.mask %[[S0]] at(%{{.+}}, %[[C0]])
// CHECK-NEXT:      scf.yield %[[X1]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[P0:.+]], %[[M0:.+]], %[[L0:.+]], %{{.+}} = tile.softmax_update %[[X0]],
// CHECK-NOT:     tile.rescale
// CHECK:         %[[H0:.+]] = tile.map ins(%[[P0]] :
// CHECK:         %[[FULL:.+]]:4 = scf.for %[[J:.+]] = %[[C1]] to %[[MID]] step %[[C1]] iter_args(%[[ACC:.+]] = %[[ZERO]], %[[M:.+]] = %[[M0]], %[[L:.+]] = %[[L0]], %[[P:.+]] = %[[H0]])
// CHECK-NEXT:      %[[KJ:.+]] = tile.next %[[KS]][%[[J]]]
// CHECK-NEXT:      %[[S:.+]] = tile.dot %[[Q]], %[[KJ]] acc(%[[ZERO]]) transpose_b
// CHECK-NEXT:      %[[J1:.+]] = arith.subi %[[J]], %[[C1]]
// CHECK-NEXT:      %[[VJ:.+]] = tile.next %[[VS]][%[[J1]]]
// CHECK-NEXT:      %[[ACC1:.+]] = tile.dot %[[P]], %[[VJ]] acc(%[[ACC]])
// CHECK-NEXT:      %[[P1:.+]], %[[M1:.+]], %[[L1:.+]], %[[A:.+]] = tile.softmax_update %[[S]], %[[M]], %[[L]]
// CHECK-NEXT:      %[[ACC2:.+]] = tile.rescale %[[ACC1]] by %[[A]]
// CHECK-NEXT:      %[[H1:.+]] = tile.map ins(%[[P1]] :
// CHECK:           scf.yield %[[ACC2]], %[[M1]], %[[L1]], %[[H1]]
// CHECK:         %[[MID1:.+]] = arith.maxsi %[[MID]], %[[C1]]
// CHECK:         %[[LAST:.+]]:4 = scf.for %{{.+}} = %[[MID1]] to %[[HI]] step %[[C1]] iter_args(%{{.+}} = %[[FULL]]#0, %{{.+}} = %[[FULL]]#1, %{{.+}} = %[[FULL]]#2, %{{.+}} = %[[FULL]]#3)
// CHECK:           tile.mask
// CHECK:         %[[END:.+]] = arith.subi %[[HI1]], %[[C1]]
// CHECK:         %[[VE:.+]] = tile.next %[[VS]][%[[END]]]
// CHECK:         %[[O:.+]] = tile.dot %[[LAST]]#3, %[[VE]] acc(%[[LAST]]#0)
// CHECK:         tile.finish %[[O]], %[[LAST]]#1, %[[LAST]]#2
tile.kernel @causal(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %hi = arith.divui %n, %c64 : index
  %mid = arith.divui %hi, %c2 : index
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %r:3 = scf.for %j = %c0 to %mid step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s0, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %t:3 = scf.for %j = %mid to %hi step %c1 iter_args(%acc = %r#0, %m = %r#1, %l = %r#2) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %j0 = arith.muli %j, %c64 : index
    %s1 = tile.mask %s0 at(%i0, %j0) symbols(%n) sets([#mask]) : tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s1, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %t#0, %t#1, %t#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// One loop from a block that is not known; the captured bias may be empty where
// there are no keys, and only then.
// CHECK-LABEL: tile.kernel @window_with_bias(
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK:         %[[HI:.+]] = arith.divui
// CHECK:         %[[LO:.+]] = arith.divui
// CHECK:         %[[LO1:.+]] = arith.addi %[[LO]], %[[C1]]
// CHECK:         %[[HI1:.+]] = arith.maxsi %[[HI]], %[[LO1]]
// CHECK:         tile.stream %{{.+}} blocks(%[[LO]] to %[[HI1]])
// CHECK:         %[[S:.+]] = tile.dot
// CHECK:         %[[SOME:.+]] = arith.cmpi slt, %[[LO]], %[[HI]]
// CHECK:         %[[B:.+]] = scf.if %[[SOME]]
// CHECK:           %[[BIASED:.+]] = tile.map ins(%[[S]] :
// CHECK:             memref.load
// CHECK:           scf.yield %[[BIASED]]
// CHECK:         else
// CHECK:           scf.yield %[[S]]
// CHECK:         tile.mask %[[B]]
// CHECK:         scf.for %{{.+}} = %[[LO1]] to %[[HI]]
// CHECK-NOT:       scf.if
// CHECK:           memref.load
tile.kernel @window_with_bias(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %bias: memref<?x?xf32>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %hi = arith.divui %n, %c64 : index
  %lo = arith.divui %i, %c3 : index
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%lo to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%lo to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %r:3 = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %j0 = arith.muli %j, %c64 : index
    %sb = tile.map ins(%s0 : tensor<64x64xf32>) at(%i0, %j0) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %ii: index, %jj: index):
      %t = memref.load %bias[%ii, %jj] : memref<?x?xf32>
      %y = arith.addf %x, %t : f32
      tile.yield %y : f32
    }
    %s1 = tile.mask %sb at(%i0, %j0) symbols(%n) sets([#mask]) : tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s1, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// Without a mask there must be a block for certain.
// CHECK-LABEL: tile.kernel @three_full_blocks(
// CHECK:         tile.stream %{{.+}} blocks(%{{.+}} to %[[C3:c3]])
// CHECK:         scf.for %{{.+}} = %c1 to %[[C3]]
// CHECK:           arith.subi
tile.kernel @three_full_blocks(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %c3) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %c3) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %r:3 = scf.for %j = %c0 to %c3 step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s0, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// CHECK-LABEL: tile.kernel @perhaps_empty(
// CHECK:         tile.load
// CHECK-NEXT:    tile.stream
// CHECK:         scf.for %{{.+}} = %c0 to
// CHECK:           tile.softmax_update
// CHECK:           tile.next
tile.kernel @perhaps_empty(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %hi = arith.divui %n, %c64 : index
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  // expected-remark @+1 {{tile-overlap leaves this kernel as it is: its loops do not share one stream of K and one of V, or may be empty without a mask}}
  %r:3 = scf.for %j = %c0 to %hi step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s0, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// CHECK-LABEL: tile.kernel @not_a_stream(
// CHECK:         tile.rescale
// CHECK:         tile.load %arg2
// CHECK:         tile.dot
tile.kernel @not_a_stream(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %c3) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %c3) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  // expected-remark @+1 {{tile-overlap leaves this kernel as it is: the loop does not read V as a stream}}
  %r:3 = scf.for %j = %c0 to %c3 step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s0, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.load %v[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = false, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// CHECK-LABEL: tile.kernel @not_asked_for(
// CHECK:         scf.for %{{.+}} = %c0 to
// CHECK:           tile.rescale
tile.kernel @not_asked_for(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %hi = arith.divui %n, %c64 : index
  %mid = arith.divui %hi, %c2 : index
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %r:3 = scf.for %j = %c0 to %hi step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %kt = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %j0 = arith.muli %j, %c64 : index
    %s1 = tile.mask %s0 at(%i0, %j0) symbols(%n) sets([#mask]) : tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s1, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>
#mask = affine_set<(i, j)[sk] : (i - j >= 0, sk - 1 - j >= 0)>

// Block numbers that go by j in another order: K of block j, V of the one before.
// CHECK-LABEL: tile.kernel @another_order(
// CHECK:         %[[HI:.+]] = arith.divui
// CHECK:         %[[KS:.+]] = tile.stream
// CHECK:         %[[VS:.+]] = tile.stream
// CHECK:         tile.next %[[KS]][%[[HI]]]
// CHECK:         scf.for %[[J:[a-z0-9]+]] =
// CHECK:           %[[AT:.+]] = arith.subi %[[HI]], %[[J]] : index
// CHECK:           tile.next %[[KS]][%[[AT]]]
// CHECK:           %[[J1:.+]] = arith.subi %[[J]],
// CHECK:           %[[BEFORE:.+]] = arith.subi %[[HI]], %[[J1]] : index
// CHECK:           tile.next %[[VS]][%[[BEFORE]]]
// CHECK:           %[[J0:.+]] = arith.muli %[[AT]],
// CHECK:           tile.mask %{{.+}} at(%{{.+}}, %[[J0]])
// CHECK:         %[[END:.+]] = arith.subi %{{.+}}, %{{.+}} : index
// CHECK:         %[[LAST:.+]] = arith.subi %[[HI]], %[[END]] : index
// CHECK:         tile.next %[[VS]][%[[LAST]]]
tile.kernel @another_order(%q: memref<?x?x?x64xf16>, %k: memref<?x?x?x64xf16>, %v: memref<?x?x?x64xf16>, %out: memref<?x?x?x64xf16> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %i0 = arith.muli %i, %c64 : index
  %n = memref.dim %k, %c2 : memref<?x?x?x64xf16>
  %hi = arith.divui %n, %c64 : index
  %mid = arith.divui %hi, %c2 : index
  %qt = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %k[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %vs = tile.stream %v[%b, %h] blocks(%c0 to %hi) : memref<?x?x?x64xf16> -> !tile.stream<64x64xf16>
  %r:3 = scf.for %j = %c0 to %hi step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %at = arith.subi %hi, %j : index
    %kt = tile.next %ks[%at] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %s0 = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %j0 = arith.muli %at, %c64 : index
    %s1 = tile.mask %s0 at(%i0, %j0) symbols(%n) sets([#mask]) : tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s1, %m, %l base(two) scale(0.18) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %ph = tile.map ins(%p : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%x: f32):
      %y = arith.truncf %x : f32 to f16
      tile.yield %y : f16
    }
    %vt = tile.next %vs[%at] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    %acc2 = tile.dot %ph, %vt acc(%acc1) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.18) : tensor<64x64xf32>, tensor<64xf32>
  %oh = tile.map ins(%o : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    %y = arith.truncf %x : f32 to f16
    tile.yield %y : f16
  }
  tile.store %oh, %out[%b, %h, %i0] : tensor<64x64xf16>, memref<?x?x?x64xf16>
  tile.return
}
