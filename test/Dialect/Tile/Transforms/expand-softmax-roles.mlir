// RUN: flashc-opt %s --tile-expand-softmax --canonicalize --cse --split-input-file | FileCheck %s

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = always, apart = true, ahead = false, skip = false>>

// The maximum is followed exactly and nothing is under a branch. A row whose
// exponents are too large for that comes out as NaN.
// CHECK-LABEL: tile.kernel @always(
// CHECK-DAG:     %[[NAN:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-DAG:     %[[LARGE:.+]] = arith.constant 0x4A800000 : f32
// CHECK-DAG:     %[[C:.+]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG:     %[[NEG:.+]] = arith.constant -2.500000e-01 : f32
// CHECK-DAG:     %[[NINF:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NOT:     scf.if
// CHECK:         scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}) ->
// CHECK:           %[[S:.+]] = tile.dot
// CHECK-NEXT:      %[[MB:.+]] = tile.reduce max %[[S]] init(%[[M]])
// CHECK-NEXT:      %[[SHIFT:.+]] = tile.map ins(%[[MB]] :
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32):
// CHECK-NEXT:        %[[NONE:.+]] = arith.cmpf oeq, %[[X]], %[[NINF]]
// CHECK-NEXT:        %[[FINITE:.+]] = arith.select %[[NONE]], %[[ZERO]], %[[X]]
// CHECK-NEXT:        arith.mulf %[[FINITE]], %[[NEG]]
// CHECK:           %[[A:.+]] = tile.map ins(%[[M]], %[[SHIFT]] :
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32):
// CHECK-NEXT:        %[[E:.+]] = arith.mulf %[[X]], %[[C]]
// CHECK-NEXT:        %[[D:.+]] = arith.addf %[[E]], %[[Y]]
// CHECK-NEXT:        math.exp2 %[[D]]
// CHECK:           %[[LS:.+]] = tile.map ins(%[[L]], %[[A]] :
// CHECK:           %[[P:.+]] = tile.map ins(%[[S]], %[[SHIFT]] :
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32):
// CHECK-NEXT:        %[[E:.+]] = math.fma %[[X]], %[[C]], %[[Y]]
// CHECK-NEXT:        math.exp2 %[[E]]
// CHECK:           %[[LN:.+]] = tile.reduce add %[[P]] init(%[[LS]]) deferred
// CHECK:           %[[ACC1:.+]] = tile.map ins(%[[ACC]], %[[A]] :
// CHECK:             arith.mulf
// CHECK:           scf.yield %{{.+}}, %[[MB]], %[[LN]]
// CHECK:         tile.collect
// CHECK:         %[[ENDS:.+]]:2 = tile.map
// CHECK-NEXT:    ^bb0(%[[M:.+]]: f32, %[[L:.+]]: f32):
// CHECK:           %[[NONE:.+]] = arith.cmpf oeq, %[[M]], %[[NINF]]
// CHECK:           %[[INV:.+]] = arith.divf
// CHECK:           %[[LSE:.+]] = math.fma
// CHECK:           %[[CM:.+]] = arith.mulf %[[M]], %[[C]]
// CHECK:           %[[ABS:.+]] = math.absf %[[CM]]
// CHECK:           %[[FAR:.+]] = arith.cmpf oge, %[[ABS]], %[[LARGE]]
// CHECK:           %[[MARKED:.+]] = arith.select %[[FAR]], %[[NAN]], %[[INV]]
// CHECK:           arith.select %[[NONE]], %[[ZERO]], %[[MARKED]]
// CHECK:           arith.select %[[NONE]], %[[NINF]], %[[LSE]]
tile.kernel @always(%q: memref<?x?x?x64xf16>, %out: memref<?x?x?xf32> {tile.output}, %out2: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %s = tile.dot %t, %t acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.25) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %acc2 = tile.map ins(%p, %acc1 : tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out2[%b, %h, %c0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.store %lse, %out[%b, %h, %c0] : tensor<64xf32>, memref<?x?x?xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = late, apart = true, ahead = false, skip = false>>

// The maximum lags; the accumulator's product is under a branch in its place.
// CHECK-LABEL: tile.kernel @late(
// CHECK-DAG:     %[[C:.+]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG:     %[[NEG:.+]] = arith.constant -2.500000e-01 : f32
// CHECK-DAG:     %[[NINF:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK:         scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}) ->
// CHECK:           %[[S:.+]] = tile.dot
// CHECK-NEXT:      %[[MB:.+]] = tile.reduce max %[[S]] init(%[[M]])
// CHECK-NEXT:      %[[UP:.+]] = tile.map ins(%[[M]], %[[MB]] :
// CHECK:             arith.subf
// CHECK:             arith.cmpf ogt
// CHECK:           %[[ANY:.+]] = tile.any %[[UP]]
// CHECK:           %[[MN:.+]] = tile.map ins(%[[M]], %[[MB]], %[[UP]] :
// CHECK:             arith.select
// CHECK:           %[[SHIFT:.+]] = tile.map ins(%[[MN]] :
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32):
// CHECK-NEXT:        %[[NONE:.+]] = arith.cmpf oeq, %[[X]], %[[NINF]]
// CHECK-NEXT:        %[[FINITE:.+]] = arith.select %[[NONE]], %[[ZERO]], %[[X]]
// CHECK-NEXT:        arith.mulf %[[FINITE]], %[[NEG]]
// CHECK:           %[[A:.+]] = tile.map ins(%[[M]], %[[SHIFT]] :
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32):
// CHECK-NEXT:        %[[E:.+]] = arith.mulf %[[X]], %[[C]]
// CHECK-NEXT:        %[[D:.+]] = arith.addf %[[E]], %[[Y]]
// CHECK-NEXT:        math.exp2 %[[D]]
// CHECK:           %[[LS:.+]] = tile.map ins(%[[L]], %[[A]] :
// CHECK:           %[[P:.+]] = tile.map ins(%[[S]], %[[SHIFT]] :
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32, %[[Y:.+]]: f32):
// CHECK-NEXT:        %[[E:.+]] = math.fma %[[X]], %[[C]], %[[Y]]
// CHECK-NEXT:        math.exp2 %[[E]]
// CHECK:           %[[LN:.+]] = tile.reduce add %[[P]] init(%[[LS]]) deferred
// CHECK-NEXT:      scf.if %[[ANY]]
// CHECK:             tile.map ins(%[[ACC]], %[[A]] :
// CHECK:           else
// CHECK:             scf.yield %[[ACC]]
// CHECK-NOT:       scf.if
// CHECK:           scf.yield %{{.+}}, %[[MN]], %[[LN]]
tile.kernel @late(%q: memref<?x?x?x64xf16>, %out: memref<?x?x?xf32> {tile.output}, %out2: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %s = tile.dot %t, %t acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.25) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %acc2 = tile.map ins(%p, %acc1 : tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out2[%b, %h, %c0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.store %lse, %out[%b, %h, %c0] : tensor<64xf32>, memref<?x?x?xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>

// As elsewhere, but for the branch for large exponents.
// CHECK-LABEL: tile.kernel @lazy(
// CHECK:         scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}) ->
// CHECK:           %[[S:.+]] = tile.dot
// CHECK-NEXT:      %[[MB:.+]] = tile.reduce max %[[S]] init(%[[M]])
// CHECK:           %[[ANY:.+]] = tile.any
// CHECK:           %[[IF:.+]]:3 = scf.if %[[ANY]]
// CHECK:             math.exp2
// CHECK-NOT:         math.absf
// CHECK:           else
// CHECK:             scf.yield %[[M]], %[[L]], %[[ACC]]
// CHECK-NOT:       scf.if
// CHECK:           %[[SHIFT:.+]] = tile.map ins(%[[IF]]#0 :
// CHECK:           %[[P:.+]] = tile.map ins(%[[S]], %[[SHIFT]] :
// CHECK:           tile.reduce add %[[P]] init(%[[IF]]#1) deferred
tile.kernel @lazy(%q: memref<?x?x?x64xf16>, %out: memref<?x?x?xf32> {tile.output}, %out2: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %s = tile.dot %t, %t acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.25) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %acc2 = tile.map ins(%p, %acc1 : tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out2[%b, %h, %c0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.store %lse, %out[%b, %h, %c0] : tensor<64xf32>, memref<?x?x?xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// The maximum is found in the branch alone; what is tested first is whether a score is above m + 8 / 0.25.
// CHECK-LABEL: tile.kernel @test(
// CHECK:         %[[SLACK:.+]] = arith.constant 3.200000e+01 : f32
// CHECK:         scf.for {{.+}} iter_args(%[[ACC:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}}, %[[L:.+]] = %{{.+}}) ->
// CHECK:           %[[S:.+]] = tile.dot
// CHECK-NEXT:      %[[LIMITS:.+]] = tile.map ins(%[[M]] :
// CHECK:             arith.addf %{{.+}}, %[[SLACK]]
// CHECK:           %[[ANY:.+]] = tile.any_above %[[S]], %[[LIMITS]]
// CHECK:           %[[IF:.+]]:3 = scf.if %[[ANY]]
// CHECK:             %[[MB:.+]] = tile.reduce max %[[S]] init(%[[M]])
// CHECK:             math.exp2
// CHECK:           else
// CHECK:             scf.yield %[[M]], %[[L]], %[[ACC]]
// CHECK-NOT:       tile.reduce max
// CHECK:           %[[SHIFT:.+]] = tile.map ins(%[[IF]]#0 :
// CHECK:           tile.map ins(%[[S]], %[[SHIFT]] :
tile.kernel @test(%q: memref<?x?x?x64xf16>, %out: memref<?x?x?xf32> {tile.output}, %out2: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %s = tile.dot %t, %t acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.25) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %acc2 = tile.map ins(%p, %acc1 : tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out2[%b, %h, %c0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.store %lse, %out[%b, %h, %c0] : tensor<64xf32>, memref<?x?x?xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = lazy, apart = true, ahead = false, skip = false>>

// A first block has no maximum to raise and no sum to scale.
// CHECK-LABEL: tile.kernel @first(
// CHECK-DAG:     %[[NO_SUM:.+]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK-NOT:     tile.any
// CHECK:         tile.reduce add %{{.+}} init(%[[NO_SUM]]) deferred
tile.kernel @first(%q: memref<?x?x?x64xf16>, %out: memref<?x?x?xf32> {tile.output}, %out2: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %no_max = arith.constant dense<0xFF800000> : tensor<64xf32>
  %no_sum = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  %n = memref.dim %q, %c2 : memref<?x?x?x64xf16>
  %t = tile.load %q[%b, %h, %c0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %s = tile.dot %t, %t acc(%zero) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %no_max, %no_sum base(two) scale(0.25) lazy(8.0) : tensor<64x64xf32>, tensor<64xf32>
    %acc1 = tile.rescale %acc by %alpha : tensor<64x64xf32>, tensor<64xf32>
    %acc2 = tile.map ins(%p, %acc1 : tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%x: f32, %y: f32):
      %z = arith.addf %x, %y : f32
      tile.yield %z : f32
    }
    scf.yield %acc2, %m1, %l1 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.25) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out2[%b, %h, %c0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.store %lse, %out[%b, %h, %c0] : tensor<64xf32>, memref<?x?x?xf32>
  tile.return
}
