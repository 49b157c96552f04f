// RUN: flashc-opt %s --convert-warp-to-nvvm --canonicalize --cse | FileCheck %s

!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// A view is a pointer, its dynamic sizes and its dynamic strides. A block of one
// warp and 16 rows holds two rows a lane.
// CHECK-LABEL: llvm.func @reduces_a_row(
// CHECK-SAME:    !llvm.ptr<1>, %{{[^:]+}}: i32, %{{[^:]+}}: i32, %{{[^:]+}}: i32, %{{[^:]+}}: i64, %{{[^:]+}}: i64, %{{[^:]+}}: i64,
// CHECK-SAME:    !llvm.ptr<1>, %{{[^:]+}}: i32, %{{[^:]+}}: i32, %{{[^:]+}}: i32, %{{[^:]+}}: i64, %{{[^:]+}}: i64)
// CHECK-SAME:    nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 32, 1, 1>
// CHECK-COUNT-4: nvvm.shfl.sync  bfly
// CHECK:         nvvm.vote.sync  any
// CHECK:         scf.if
// CHECK:         llvm.store %{{.*}} : f32, !llvm.ptr<1>
warp.kernel @reduces_a_row(%q: !view, %lse: !rows) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16x16xf32>
  %m = warp.fill 0xFF800000 : f32 -> !warp.fragment<16xf32>
  %r = warp.map ins(%s : !warp.fragment<16x16xf32>) at(%i, %i) -> !warp.fragment<16x16xf32> {
  ^bb0(%x: f32, %row: index, %col: index):
    %c = arith.cmpi slt, %col, %row : index
    %zero = arith.constant 0.0 : f32
    %y = arith.select %c, %x, %zero : f32
    warp.yield %y : f32
  }
  %m1 = warp.reduce max %r init(%m) : !warp.fragment<16x16xf32>, !warp.fragment<16xf32>
  %big = warp.map ins(%m1 : !warp.fragment<16xf32>) -> !warp.fragment<16xi1> {
  ^bb0(%x: f32):
    %one = arith.constant 1.0 : f32
    %c = arith.cmpf oge, %x, %one : f32
    warp.yield %c : i1
  }
  %any = warp.any %big : !warp.fragment<16xi1>
  %m2 = scf.if %any -> !warp.fragment<16xf32> {
    scf.yield %m : !warp.fragment<16xf32>
  } else {
    scf.yield %m1 : !warp.fragment<16xf32>
  }
  warp.store_rows %m2 to %lse[%b, %h, %i] : !warp.fragment<16xf32>, !rows
  warp.return
}

// Scores against their rows' limits as integers, where these are not below zero, and against a floor as unsigned ones (-0.5); NaN and
// infinity by a sum. No shuffle.
// CHECK-LABEL: llvm.func @votes(
// CHECK-DAG:     %[[HALF:.+]] = arith.constant -1090519040 : i32
// CHECK:         %[[GE:.+]] = arith.cmpf oge, %[[LIMIT:.+]], %{{.+}} : f32
// CHECK:         %[[BITS:.+]] = arith.bitcast %[[LIMIT]] : f32 to i32
// CHECK:         %[[LEAST:.+]] = arith.select %[[GE]], %[[BITS]], %{{.+}} : i32
// CHECK:         arith.maxsi
// CHECK:         arith.cmpi sgt, %{{.+}}, %[[LEAST]] : i32
// CHECK:         nvvm.vote.sync  any
// CHECK:         arith.maxui
// CHECK:         arith.cmpi ugt, %{{.+}}, %[[HALF]] : i32
// CHECK:         nvvm.vote.sync  any
// CHECK:         %[[SUM:.+]] = llvm.intr.fabs(
// CHECK:         arith.cmpf ueq, %[[SUM]]
// CHECK:         nvvm.vote.sync  any
warp.kernel @votes(%q: !view, %lse: !rows) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16x16xf32>
  %zero = warp.fill 0.0 : f32 -> !warp.fragment<16xf32>
  %t = warp.map ins(%s : !warp.fragment<16x16xf32>) at(%i, %i) -> !warp.fragment<16x16xf32> {
  ^bb0(%x: f32, %row: index, %col: index):
    %c = arith.cmpi slt, %col, %row : index
    %none = arith.constant 0.0 : f32
    %y = arith.select %c, %x, %none : f32
    warp.yield %y : f32
  }
  %limits = warp.reduce add %t init(%zero) : !warp.fragment<16x16xf32>, !warp.fragment<16xf32>
  %above = warp.any_above %t, %limits : !warp.fragment<16x16xf32>, !warp.fragment<16xf32>
  %outside = warp.any_above %t, %limits floor(-0.5) : !warp.fragment<16x16xf32>, !warp.fragment<16xf32>
  %spoilt = warp.any_not_finite %t : !warp.fragment<16x16xf32>
  %some = arith.ori %above, %spoilt : i1
  %any = arith.ori %some, %outside : i1
  %m = scf.if %any -> !warp.fragment<16xf32> {
    scf.yield %zero : !warp.fragment<16xf32>
  } else {
    scf.yield %limits : !warp.fragment<16xf32>
  }
  warp.store_rows %m to %lse[%b, %h, %i] : !warp.fragment<16xf32>, !rows
  warp.return
}

// A partial sum stays in its lane until it is collected.
// CHECK-LABEL: llvm.func @collects_a_partial_sum(
// CHECK-NOT:     shfl
// CHECK:         arith.addf
// CHECK-COUNT-4: nvvm.shfl.sync  bfly
// CHECK-NOT:     shfl
warp.kernel @collects_a_partial_sum(%q: !view, %lse: !rows) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program longest_first
  %l = warp.fill 0.0 : f32 -> !warp.fragment<16xf32, partial>
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16x16xf32>
  %r = warp.map ins(%s : !warp.fragment<16x16xf32>) at(%i, %i) -> !warp.fragment<16x16xf32> {
  ^bb0(%x: f32, %row: index, %col: index):
    %e = math.exp2 %x : f32
    warp.yield %e : f32
  }
  %l1 = warp.reduce add %r init(%l) : !warp.fragment<16x16xf32>, !warp.fragment<16xf32, partial>
  %l2 = warp.collect %l1 : !warp.fragment<16xf32, partial> -> !warp.fragment<16xf32>
  warp.store_rows %l2 to %lse[%b, %h, %i] : !warp.fragment<16xf32>, !rows
  warp.return
}

// The rounding to 16 bits takes two columns at once, and exp2 is one instruction.
// CHECK-LABEL: llvm.func @rounds_pairs(
// CHECK-DAG:     llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"
// CHECK:         nvvm.convert.f32x2.to.f16x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
// CHECK:         llvm.store %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr<3>
warp.kernel @rounds_pairs(%q: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16x64xf32>
  %r = warp.map ins(%s : !warp.fragment<16x64xf32>) at(%i, %i) -> !warp.fragment<16x64xf16> {
  ^bb0(%x: f32, %row: index, %col: index):
    %ii = arith.index_cast %col : index to i32
    %f = arith.sitofp %ii : i32 to f32
    %e = math.exp2 %f : f32
    %y = arith.truncf %e : f32 to f16
    warp.yield %y : f16
  }
  %buf = warp.alloc offset(0) : !warp.buffer<16x64xf16, 64>
  warp.store %r to %buf : !warp.fragment<16x64xf16>, !warp.buffer<16x64xf16, 64>
  warp.barrier
  warp.copy_out %buf to %q[%b, %h, %i] : !warp.buffer<16x64xf16, 64>, !view
  warp.return
}

// A row has no neighbour to be rounded with: a register of 16 bits each.
// CHECK-LABEL: llvm.func @rounds_rows(
// CHECK-NOT:     nvvm.convert.f32x2
// CHECK:         %[[FIRST:.+]] = arith.truncf %{{.+}} : f32 to f16
// CHECK:         %[[SECOND:.+]] = arith.truncf %{{.+}} : f32 to f16
// CHECK:         llvm.store %[[FIRST]], %{{.+}} : f16, !llvm.ptr<1>
// CHECK:         llvm.store %[[SECOND]], %{{.+}} : f16, !llvm.ptr<1>
warp.kernel @rounds_rows(%q: !view, %out: memref<?xf16>) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16xf32>
  %r = warp.map ins(%s : !warp.fragment<16xf32>) at(%i) -> !warp.fragment<16xf16> {
  ^bb0(%x: f32, %row: index):
    %ii = arith.index_cast %row : index to i32
    %f = arith.sitofp %ii : i32 to f32
    %y = arith.truncf %f : f32 to f16
    warp.yield %y : f16
  }
  warp.scatter set ins(%r : !warp.fragment<16xf16>) at(%i) exclusive to %out : memref<?xf16> {
  ^bb0(%x: f16, %row: index):
    %true = arith.constant true
    warp.yield %true, %x, %row : i1, f16, index
  }
  warp.return
}
