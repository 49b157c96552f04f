// RUN: flashc-opt %s --tile-turn-keys --split-input-file | FileCheck %s

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// All blocks in descending order: n - 1 - j.
// CHECK-LABEL: tile.kernel @distance(
// CHECK:         %[[N:.+]] = memref.dim
// CHECK:         %[[LAST:.+]] = arith.subi %[[N]], %{{.+}} : index
// CHECK:         scf.for %[[J:[a-z0-9]+]] = %{{.+}} to %[[N]]
// CHECK-NEXT:      %[[BEFORE:.+]] = arith.cmpi slt, %[[J]], %[[N]] : index
// CHECK-NEXT:      %[[MIRRORED:.+]] = arith.subi %[[LAST]], %[[J]] : index
// CHECK-NEXT:      %[[B:.+]] = arith.select %[[BEFORE]], %[[MIRRORED]], %[[J]] : index
// CHECK-NEXT:      %[[J0:.+]] = arith.muli %[[B]], %{{.+}} : index
// CHECK-NEXT:      tile.next %{{.+}}[%[[B]]]
// CHECK:           tile.map {{.+}} at(%{{.+}}, %[[J0]])
// CHECK:           tile.next %{{.+}}[%[[B]]]
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

// Those up to the last row's own, (i0 + 64 - 1) / 32 + 1, and the rest behind.
// CHECK-LABEL: tile.kernel @size(
// CHECK:         %[[I0:.+]] = arith.muli
// CHECK:         %[[N:.+]] = memref.dim
// CHECK:         %[[C95:.+]] = arith.constant 95 : index
// CHECK:         %[[ROWS:.+]] = arith.addi %[[I0]], %[[C95]] : index
// CHECK:         %[[BEHIND:.+]] = arith.divui %[[ROWS]], %{{.+}} : index
// CHECK:         %[[TURN:.+]] = arith.minsi %[[BEHIND]], %[[N]] : index
// CHECK:         %[[LAST:.+]] = arith.subi %[[TURN]], %{{.+}} : index
// CHECK:         scf.for %[[J:[a-z0-9]+]] =
// CHECK-NEXT:      arith.cmpi slt, %[[J]], %[[TURN]] : index
// CHECK-NEXT:      arith.subi %[[LAST]], %[[J]] : index
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

#s = #tile.schedule<q = 64, kv = 32, stages = 1, warps = 4, q_in_registers = false, sram = 65536, roles = <
    groups = 1, producer = 32, consumer = 240, overlap = true, turns = false, rescale = test, apart = true, ahead = false, skip = false>>

// CHECK-LABEL: tile.kernel @masked(
// CHECK-NOT:     arith.select
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

// Minus a slope: the first block is the best one.
// CHECK-LABEL: tile.kernel @falls(
// CHECK-NOT:     arith.select
tile.kernel @falls(%q: memref<?x?x?x64xf16>, %slope_in: memref<1xf32>, %out: memref<?x?x?x64xf32> {tile.output}) attributes {schedule = #s} {
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
      %y = math.fma %minus, %f, %x : f32
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
