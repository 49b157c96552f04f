// RUN: flashc-opt %s --tile-relative-bias --split-input-file | FileCheck %s

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// slope * (j - i) = slope * (j - j0) + slope * (j0 - i), behind a mask too.
// CHECK-LABEL: tile.kernel @distance(
// CHECK:         %[[I0:.+]] = arith.muli
// CHECK:         %[[SLOPE:.+]] = memref.load
// CHECK:         scf.for
// CHECK-SAME:      iter_args(%{{.+}} = %{{.+}}, %[[M:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
// CHECK:           %[[J0:.+]] = arith.muli
// CHECK:           %[[D:.+]] = tile.dot
// CHECK:           %[[ROWS:.+]]:2 = tile.map ins(%[[M]] : tensor<64xf32>) at(%[[I0]]) -> tensor<64xf32>, tensor<64xf32> {
// CHECK-NEXT:      ^bb0(%{{.+}}: f32, %[[I:.+]]: index):
// CHECK-NEXT:        %[[E:.+]] = arith.subi %[[J0]], %[[I]] : index
// CHECK:             %[[F:.+]] = arith.sitofp
// CHECK-NEXT:        %[[H:.+]] = arith.mulf %[[SLOPE]], %[[F]] : f32
// CHECK-NEXT:        tile.yield %[[SLOPE]], %[[H]]
// CHECK:           %[[C0:.+]] = arith.constant 0 : index
// CHECK-NEXT:      %[[S:.+]] = tile.map ins(%[[D]] : tensor<64x32xf32>) at(%[[I0]], %[[C0]])
// CHECK-NEXT:      ^bb0(%[[X:.+]]: f32, %{{.+}}: index, %[[J:.+]]: index):
// CHECK-NEXT:        %[[JI:.+]] = arith.index_cast %[[J]]
// CHECK-NEXT:        %[[JF:.+]] = arith.sitofp %[[JI]]
// CHECK-NEXT:        %[[Y:.+]] = math.fma %[[SLOPE]], %[[JF]], %[[X]] : f32
// CHECK-NEXT:        tile.yield %[[Y]]
// CHECK:           %[[SM:.+]] = tile.mask %[[S]]
// CHECK-NEXT:      tile.softmax_update %[[SM]], %[[M]], %{{.+}} offset(%[[ROWS]]#1 : tensor<64xf32>)
tile.kernel @distance(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
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
  %slope = memref.load %slope_in[%c0] : memref<1xf32>
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) at(%i0, %j0)-> tensor<64x32xf32> {
    ^bb0(%x: f32, %i: index, %j: index):
      %e = arith.subi %j, %i : index
      %ei = arith.index_cast %e : index to i32
      %f = arith.sitofp %ei : i32 to f32
      %y = math.fma %slope, %f, %x : f32
      tile.yield %y : f32
    }
    %sm = tile.mask %s at(%i0, %j0) symbols(%n) sets([affine_set<(i, j)[n] : (i - j >= 0)>]) : tensor<64x32xf32>
    %p, %m1, %l1, %alpha = tile.softmax_update %sm, %m, %l base(two) scale(0.125) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
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
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.125) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// The sign is each row's own; where a row's key is in the block, nothing changes.
// CHECK-LABEL: tile.kernel @size(
// CHECK:         %[[SLOPE:.+]] = arith.negf
// CHECK:         scf.for
// CHECK:           %[[J0:.+]] = arith.muli
// CHECK:           %[[D:.+]] = tile.dot
// CHECK:           %[[LAST:.+]] = arith.addi %[[J0]], %{{.+}} : index
// CHECK:           %[[IN:.+]] = tile.map
// CHECK-NEXT:      ^bb0(%{{.+}}: f32, %[[I:.+]]: index):
// CHECK-NEXT:        %[[A:.+]] = arith.cmpi slt, %[[J0]], %[[I]] : index
// CHECK-NEXT:        %[[B:.+]] = arith.cmpi slt, %[[I]], %[[LAST]] : index
// CHECK-NEXT:        arith.andi %[[A]], %[[B]] : i1
// CHECK:           %[[ANY:.+]] = tile.any %[[IN]] : tensor<64xi1>
// CHECK-NEXT:      %[[IF:.+]]:2 = scf.if %[[ANY]]
// CHECK:             %[[WHOLE:.+]] = tile.map ins(%[[D]] : tensor<64x32xf32>) at(%{{.+}}, %[[J0]])
// CHECK:               math.absf
// CHECK:             %[[NONE:.+]] = tile.map
// CHECK:             scf.yield %[[WHOLE]], %[[NONE]]
// CHECK:           } else {
// CHECK:             %[[ROWS:.+]]:2 = tile.map
// CHECK:               %[[AFTER:.+]] = arith.cmpi sle, %{{.+}}, %[[J0]] : index
// CHECK:               %[[MINUS:.+]] = arith.negf %[[SLOPE]] : f32
// CHECK:               %[[SIDE:.+]] = arith.select %[[AFTER]], %[[SLOPE]], %[[MINUS]] : f32
// CHECK:               arith.mulf %[[SIDE]],
// CHECK:             %[[SUMS:.+]] = tile.map ins(%[[D]], %[[ROWS]]#0 : tensor<64x32xf32>, tensor<64xf32>)
// CHECK-NOT:           math.absf
// CHECK:             scf.yield %[[SUMS]], %[[ROWS]]#1
// CHECK:           tile.softmax_update %[[IF]]#0, %{{.+}}, %{{.+}} offset(%[[IF]]#1 : tensor<64xf32>)
tile.kernel @size(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
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
  %slope = memref.load %slope_in[%c0] : memref<1xf32>
  %minus = arith.negf %slope : f32
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) at(%i0, %j0)-> tensor<64x32xf32> {
    ^bb0(%x: f32, %i: index, %j: index):
      %e = arith.subi %j, %i : index
      %ei = arith.index_cast %e : index to i32
      %f = arith.sitofp %ei : i32 to f32
      %a = math.absf %f : f32
      %y = math.fma %minus, %a, %x : f32
      tile.yield %y : f32
    }
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.125) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
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
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.125) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}

// -----

// CHECK-LABEL: tile.kernel @without_roles(
// CHECK-NOT:     offset(
tile.kernel @without_roles(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536>} {
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
  %slope = memref.load %slope_in[%c0] : memref<1xf32>
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) at(%i0, %j0)-> tensor<64x32xf32> {
    ^bb0(%x: f32, %i: index, %j: index):
      %e = arith.subi %j, %i : index
      %ei = arith.index_cast %e : index to i32
      %f = arith.sitofp %ei : i32 to f32
      %y = math.fma %slope, %f, %x : f32
      tile.yield %y : f32
    }
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.125) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
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
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.125) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// CHECK-LABEL: tile.kernel @of_keys_alone(
// CHECK-NOT:     offset(
tile.kernel @of_keys_alone(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
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
  %slope = memref.load %slope_in[%c0] : memref<1xf32>
  %t = tile.load %q[%b, %h, %i0] : memref<?x?x?x64xf16> -> tensor<64x64xf16>
  %ks = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %vs = tile.stream %q[%b, %h] blocks(%c0 to %n) : memref<?x?x?x64xf16> -> !tile.stream<32x64xf16>
  %r:3 = scf.for %jb = %c0 to %n step %c1 iter_args(%acc = %zero, %m = %no_max, %l = %no_sum) -> (tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>) {
    %j0 = arith.muli %jb, %c32 : index
    %k = tile.next %ks[%jb] : !tile.stream<32x64xf16> -> tensor<32x64xf16>
    %d = tile.dot %t, %k acc(%none) transpose_b : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %s = tile.map ins(%d : tensor<64x32xf32>) at(%i0, %j0)-> tensor<64x32xf32> {
    ^bb0(%x: f32, %i: index, %j: index):
      %e = arith.subi %j, %j : index
      %ei = arith.index_cast %e : index to i32
      %f = arith.sitofp %ei : i32 to f32
      %y = math.fma %slope, %f, %x : f32
      tile.yield %y : f32
    }
    %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(two) scale(0.125) lazy(8.0) : tensor<64x32xf32>, tensor<64xf32>
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
  %o, %lse = tile.finish %r#0, %r#1, %r#2 base(two) scale(0.125) : tensor<64x64xf32>, tensor<64xf32>
  tile.store %o, %out[%b, %h, %i0] : tensor<64x64xf32>, memref<?x?x?x64xf32>
  tile.return
}
