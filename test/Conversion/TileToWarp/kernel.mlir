// RUN: flashc-opt %s --convert-tile-to-warp --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
!stream = !tile.stream<32x48xf16>
#shared_q = #tile.schedule<q = 64, kv = 32, stages = 2, warps = 4, q_in_registers = false, sram = 101376>
#register_q = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 2, q_in_registers = true, sram = 101376>

// The ends of a kernel: Q in a padded buffer whose segment divides 48 columns, K's ring of two slots, the output
// staged behind a wait for all copies, row values stored as they are.
// CHECK-LABEL: warp.kernel @q_in_shared_memory(
// CHECK-SAME:    %[[Q:[^:]+]]: memref<?x?x?x40xf16, {{[^>]*>}}>, %[[K:[^:]+]]: memref<{{[^>]*>}}>, %[[O:[^:]+]]: memref<{{[^>]*>}}> {tile.output}, %[[LSE:[^:]+]]: memref<?x?x?xf32, {{[^>]*>}}> {tile.output})
// CHECK-SAME:    attributes {q_block = 64 : i64, warps = 4 : i64}
tile.kernel @q_in_shared_memory(%q: !view, %k: !view, %o: !view {tile.output}, %lse: !lse {tile.output}) attributes {schedule = #shared_q} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %lo = memref.dim %k, %c0 : !view
  %hi = memref.dim %k, %c1 : !view
  %limit = memref.dim %k, %c2 : !view
  %c32 = arith.constant 32 : index
  // CHECK-DAG: %[[ZERO:.+]] = warp.fill 0.000000e+00 : f32 -> !warp.fragment<64x32xf32>
  // CHECK-DAG: %[[MIN:.+]] = warp.fill 0xFF800000 : f32 -> !warp.fragment<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %min = arith.constant dense<0xFF800000> : tensor<64xf32>
  // CHECK: %[[B:[^,]+]], %[[H:[^,]+]], %[[I:[^ ]+]] = warp.program longest_first
  %b, %h, %i = tile.program longest_first
  // CHECK: %[[QB:.+]] = warp.alloc : !warp.buffer<64x48xf16, 16>
  // CHECK: warp.copy_in %[[Q]][%[[B]], %[[H]], %[[I]]] limit(%{{.+}}) to %[[QB]]
  %qt = tile.load %q[%b, %h, %i] limit(%limit) : !view -> tensor<64x48xf16>
  // CHECK: %[[KC:.+]] = warp.channel %[[K]][%[[B]], %[[H]]] blocks(%{{.+}} to %{{.+}}) limit(%{{.+}}) : {{.*}} -> !warp.channel<32x48xf16, 16, depth = 2>
  %ks = tile.stream %k[%b, %h] blocks(%lo to %hi) limit(%limit) : !view -> !stream
  // The get waits for Q as well.
  // CHECK-NOT: warp.wait
  // CHECK: %[[M:.+]] = scf.for %[[J:[^ ]+]] = {{.*}} iter_args(%[[M0:[^ ]+]] = %[[MIN]]) -> (!warp.fragment<64xf32>)
  %m = scf.for %j = %lo to %hi step %c1 iter_args(%m0 = %min) -> (tensor<64xf32>) {
    // CHECK: %[[KB:.+]] = warp.get %[[KC]][%[[J]]] : {{.*}} -> !warp.buffer<32x48xf16, 16>
    %kt = tile.next %ks[%j] : !stream -> tensor<32x48xf16>
    // CHECK: %[[S:.+]] = warp.mma %[[QB]], %[[KB]] acc(%[[ZERO]]) transpose_b
    %s = tile.dot %qt, %kt acc(%zero) transpose_b : tensor<64x48xf16>, tensor<32x48xf16> -> tensor<64x32xf32>
    // CHECK: %[[J0:.+]] = arith.muli %[[J]]
    // CHECK: %[[S1:.+]] = warp.map ins(%[[S]], %[[M0]] : {{.*}}) at(%[[I]], %[[J0]]) -> !warp.fragment<64x32xf32>
    // CHECK-NEXT: ^bb0(%{{.+}}: f32, %{{.+}}: f32, %{{.+}}: index, %{{.+}}: index):
    %j0 = arith.muli %j, %c32 : index
    %s1 = tile.map ins(%s, %m0 : tensor<64x32xf32>, tensor<64xf32>) at(%i, %j0) -> tensor<64x32xf32> {
    ^bb0(%x: f32, %y: f32, %row: index, %col: index):
      %c = arith.cmpi sle, %col, %row : index
      %r = arith.select %c, %x, %y : f32
      tile.yield %r : f32
    }
    // CHECK: warp.reduce max %[[S1]] init(%[[M0]]) : !warp.fragment<64x32xf32>, !warp.fragment<64xf32>
    %m1 = tile.reduce max %s1 init(%m0) : tensor<64x32xf32>, tensor<64xf32>
    scf.yield %m1 : tensor<64xf32>
  }
  // CHECK: %[[OT:.+]] = warp.fill 0.000000e+00 : f16
  %ot = arith.constant dense<0.0> : tensor<64x48xf16>
  // CHECK: warp.wait pending(0)
  // CHECK: %[[OB:.+]] = warp.alloc : !warp.buffer<64x48xf16, 16>
  // CHECK: warp.store %{{.+}} to %[[OB]]
  // CHECK: warp.barrier
  // CHECK: warp.copy_out %[[OB]] to %[[O]][%[[B]], %[[H]], %[[I]]]
  tile.store %ot, %o[%b, %h, %i] : tensor<64x48xf16>, !view
  // CHECK: warp.store_rows %[[M]] to %[[LSE]][%[[B]], %[[H]], %[[I]]]
  tile.store %m, %lse[%b, %h, %i] : tensor<64xf32>, !lse
  // CHECK: warp.return
  tile.return
}

// Q in registers: waited for and loaded just before the loop, behind the channels.
// CHECK-LABEL: warp.kernel @q_in_registers(
// CHECK-SAME:    attributes {q_block = 64 : i64, warps = 2 : i64}
tile.kernel @q_in_registers(%q: !view, %k: !view) attributes {schedule = #register_q} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %lo = memref.dim %k, %c0 : !view
  %hi = memref.dim %k, %c1 : !view
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %b, %h, %i = tile.program
  // CHECK: warp.copy_in
  // CHECK-NEXT: warp.channel
  // CHECK-NEXT: warp.wait{{$}}
  // CHECK-NEXT: %[[QF:.+]] = warp.load %{{.+}} : {{.*}} -> !warp.fragment<64x48xf16>
  // CHECK-NEXT: scf.for
  %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x48xf16>
  %ks = tile.stream %k[%b, %h] blocks(%lo to %hi) : !view -> !stream
  %o = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf32>) {
    %kt = tile.next %ks[%j] : !stream -> tensor<32x48xf16>
    // CHECK: warp.mma %[[QF]], %{{.+}} acc(
    %s = tile.dot %qt, %kt acc(%acc) transpose_b : tensor<64x48xf16>, tensor<32x48xf16> -> tensor<64x32xf32>
    scf.yield %s : tensor<64x32xf32>
  }
  tile.return
}

// A sum that is deferred through a loop, a branch and a rescaling is partial all the way; the constant that starts it is
// filled twice, as it also starts a plain sum.
// CHECK-LABEL: warp.kernel @deferred_sum(
tile.kernel @deferred_sum(%q: !view, %lse: !lse {tile.output}) attributes {schedule = #shared_q} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %lo = memref.dim %q, %c0 : !view
  %hi = memref.dim %q, %c1 : !view
  %one = arith.constant 1.0 : f32
  %p = arith.constant dense<1.0> : tensor<64x32xf32>
  // CHECK-DAG: %[[PLAIN:.+]] = warp.fill 0.000000e+00 : f32 -> !warp.fragment<64xf32>
  // CHECK-DAG: %[[PARTS:.+]] = warp.fill 0.000000e+00 : f32 -> !warp.fragment<64xf32, partial>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %b, %h, %i = tile.program
  // CHECK: %[[SUMS:.+]]:2 = scf.for {{.*}} iter_args(%[[L:[^ ]+]] = %[[PARTS]], %[[A:[^ ]+]] = %[[PLAIN]]) -> (!warp.fragment<64xf32, partial>, !warp.fragment<64xf32>)
  %l:2 = scf.for %j = %lo to %hi step %c1 iter_args(%l0 = %zero, %a0 = %zero) -> (tensor<64xf32>, tensor<64xf32>) {
    %stale = tile.map ins(%a0 : tensor<64xf32>) -> tensor<64xi1> {
    ^bb0(%x: f32):
      %c = arith.cmpf une, %x, %one : f32
      tile.yield %c : i1
    }
    // CHECK: %[[ANY:.+]] = warp.any %{{.+}} : !warp.fragment<64xi1>
    %any = tile.any %stale : tensor<64xi1>
    // CHECK: %[[L1:.+]] = scf.if %[[ANY]] -> (!warp.fragment<64xf32, partial>)
    %l1 = scf.if %any -> (tensor<64xf32>) {
      // CHECK: warp.map ins(%[[L]], %[[A]] : !warp.fragment<64xf32, partial>, !warp.fragment<64xf32>) -> !warp.fragment<64xf32, partial>
      %r = tile.map ins(%l0, %a0 : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
      ^bb0(%x: f32, %y: f32):
        %z = arith.mulf %x, %y : f32
        tile.yield %z : f32
      }
      scf.yield %r : tensor<64xf32>
    } else {
      scf.yield %l0 : tensor<64xf32>
    }
    // CHECK: warp.reduce add %{{.+}} init(%[[L1]]) : !warp.fragment<64x32xf32>, !warp.fragment<64xf32, partial>
    %l2 = tile.reduce add %p init(%l1) deferred : tensor<64x32xf32>, tensor<64xf32>
    // CHECK: warp.reduce add %{{.+}} init(%[[A]]) : !warp.fragment<64x32xf32>, !warp.fragment<64xf32>
    %a1 = tile.reduce add %p init(%a0) : tensor<64x32xf32>, tensor<64xf32>
    scf.yield %l2, %a1 : tensor<64xf32>, tensor<64xf32>
  }
  // CHECK: warp.collect %[[SUMS]]#0 : !warp.fragment<64xf32, partial> -> !warp.fragment<64xf32>
  %sum = tile.collect %l#0 : tensor<64xf32>
  %both = tile.map ins(%sum, %l#1 : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%x: f32, %y: f32):
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  }
  tile.store %both, %lse[%b, %h, %i] : tensor<64xf32>, !lse
  tile.return
}

// A load inside a loop is no stream: its buffer is free behind a barrier, and it is waited for before its reader.
// CHECK-LABEL: warp.kernel @load_in_loop(
tile.kernel @load_in_loop(%q: !view, %k: !view) attributes {schedule = #shared_q} {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  %lo = memref.dim %k, %c0 : !view
  %hi = memref.dim %k, %c1 : !view
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %b, %h, %i = tile.program
  // CHECK: warp.copy_in
  %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x48xf16>
  // CHECK: warp.wait
  // CHECK: scf.for
  %o = scf.for %j = %lo to %hi step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf32>) {
    // CHECK-NEXT: warp.barrier
    // CHECK-NEXT: %[[KB:.+]] = warp.alloc
    // CHECK-NEXT: warp.copy_in %{{.+}} to %[[KB]]
    // CHECK-NEXT: warp.wait{{$}}
    // CHECK-NEXT: warp.mma %{{.+}}, %[[KB]]
    %kt = tile.load %k[%b, %h, %j] : !view -> tensor<32x48xf16>
    %s = tile.dot %qt, %kt acc(%acc) transpose_b : tensor<64x48xf16>, tensor<32x48xf16> -> tensor<64x32xf32>
    scf.yield %s : tensor<64x32xf32>
  }
  tile.return
}

!view48 = memref<?x?x?x48xf16, strided<[?, ?, ?, 1], offset: ?>>
#guarded = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = true, sram = 101376>

// A guarded product asks once whether the block needs care: elements that nobody
// else reads are cleared where they stand, before the one product.
// CHECK-LABEL: warp.kernel @guarded(
tile.kernel @guarded(%q: !view48, %v: !view48, %out: !view48 {tile.output}) attributes {schedule = #guarded} {
  %b, %h, %i = tile.program
  %zero = arith.constant dense<0.0> : tensor<64x48xf32>
  %p = tile.load %q[%b, %h, %i] : !view48 -> tensor<64x48xf16>
  // CHECK: %[[V:.+]] = warp.alloc : !warp.buffer<48x48xf16, 16>
  %vt = tile.load %v[%b, %h, %i] : !view48 -> tensor<48x48xf16>
  // CHECK: %[[BAD:.+]] = warp.scan %[[V]]
  // CHECK: %[[ACC:.+]] = scf.if %[[BAD]]
  // CHECK:   warp.scrub %[[P:.+]], %[[V]] acc(%[[ZERO:.+]]) :
  // CHECK: } else {
  // CHECK:   scf.yield %[[ZERO]]
  // CHECK: warp.mma %[[P]], %[[V]] acc(%[[ACC]]) :
  %o = tile.dot %p, %vt acc(%zero) guarded : tensor<64x48xf16>, tensor<48x48xf16> -> tensor<64x48xf32>
  %r = tile.map ins(%o : tensor<64x48xf32>) -> tensor<64x48xf16> {
  ^bb0(%x: f32):
    %h16 = arith.truncf %x : f32 to f16
    tile.yield %h16 : f16
  }
  tile.store %r, %out[%b, %h, %i] : tensor<64x48xf16>, !view48
  tile.return
}

// Here K is multiplied twice, so that the slow product clears its operands, not
// the buffer.
// CHECK-LABEL: warp.kernel @guarded_twice(
tile.kernel @guarded_twice(%q: !view48, %k: !view48, %out: !view48 {tile.output}) attributes {schedule = #guarded} {
  %b, %h, %i = tile.program
  %zero = arith.constant dense<0.0> : tensor<64x48xf32>
  %p = tile.load %q[%b, %h, %i] : !view48 -> tensor<64x48xf16>
  // CHECK: %[[K:.+]] = warp.alloc : !warp.buffer<48x48xf16, 16>
  %kt = tile.load %k[%b, %h, %i] : !view48 -> tensor<48x48xf16>
  // CHECK: warp.mma %{{.+}}, %[[K]] acc(%{{.+}}) transpose_b
  %s = tile.dot %p, %kt acc(%zero) transpose_b : tensor<64x48xf16>, tensor<48x48xf16> -> tensor<64x48xf32>
  // CHECK: %[[BAD:.+]] = warp.scan %[[K]]
  // CHECK: scf.if %[[BAD]]
  // CHECK:   warp.mma %[[P:.+]], %[[K]] acc(%{{.+}}) guarded
  // CHECK: } else {
  // CHECK:   warp.mma %[[P]], %[[K]] acc(%{{[^)]+}}) :
  %o = tile.dot %p, %kt acc(%s) guarded : tensor<64x48xf16>, tensor<48x48xf16> -> tensor<64x48xf32>
  %r = tile.map ins(%o : tensor<64x48xf32>) -> tensor<64x48xf16> {
  ^bb0(%x: f32):
    %h16 = arith.truncf %x : f32 to f16
    tile.yield %h16 : f16
  }
  tile.store %r, %out[%b, %h, %i] : tensor<64x48xf16>, !view48
  tile.return
}
