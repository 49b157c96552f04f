// RUN: flashc-opt %s --convert-warp-to-nvvm --canonicalize --cse | FileCheck %s

!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// One conversion for the whole fragment: column - row is the lane's plus a
// constant. |column - row| is made of it; what is no position is converted as
// an integer.
// CHECK-LABEL: llvm.func @positions(
// CHECK:         %[[BASE:.+]] = arith.subi %{{.+}}, %{{.+}} : i32
// CHECK:         %[[F:.+]] = arith.sitofp %[[BASE]] : i32 to f32
// CHECK-NOT:     arith.sitofp
// CHECK:         arith.addf %[[F]], %{{.+}} : f32
// CHECK:         math.absf
// CHECK:         arith.addf %[[F]], %{{.+}} : f32
// CHECK-NOT:     arith.sitofp
// CHECK:         llvm.store
// CHECK-LABEL: llvm.func @others(
// CHECK-COUNT-4: arith.sitofp
warp.kernel @positions(%q: !view, %lse: !rows) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16x16xf32>
  %m = warp.fill 0xFF800000 : f32 -> !warp.fragment<16xf32>
  %r = warp.map ins(%s : !warp.fragment<16x16xf32>) at(%i, %i) -> !warp.fragment<16x16xf32> {
  ^bb0(%x: f32, %row: index, %col: index):
    %d = arith.subi %col, %row : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %a = math.absi %n : i32
    %g = arith.sitofp %a : i32 to f32
    %y = math.fma %f, %g, %x : f32
    warp.yield %y : f32
  }
  %m1 = warp.reduce max %r init(%m) : !warp.fragment<16x16xf32>, !warp.fragment<16xf32>
  warp.store_rows %m1 to %lse[%b, %h, %i] : !warp.fragment<16xf32>, !rows
  warp.return
}
warp.kernel @others(%q: !view, %lse: !rows) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 1.0 : f32 -> !warp.fragment<16x16xf32>
  %m = warp.fill 0xFF800000 : f32 -> !warp.fragment<16xf32>
  %r = warp.map ins(%s : !warp.fragment<16x16xf32>) at(%i, %i) -> !warp.fragment<16x16xf32> {
  ^bb0(%x: f32, %row: index, %col: index):
    %d = arith.muli %col, %row : index
    %n = arith.index_cast %d : index to i32
    %f = arith.sitofp %n : i32 to f32
    %y = arith.mulf %f, %x : f32
    warp.yield %y : f32
  }
  %m1 = warp.reduce max %r init(%m) : !warp.fragment<16x16xf32>, !warp.fragment<16xf32>
  warp.store_rows %m1 to %lse[%b, %h, %i] : !warp.fragment<16xf32>, !rows
  warp.return
}

// A vote over a whole tile; a division by a reciprocal only where that is
// allowed.
// CHECK-LABEL: llvm.func @divisions(
// CHECK:         llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK:         arith.divf
// CHECK:         arith.ori
// CHECK:         nvvm.vote.sync  any
warp.kernel @divisions(%q: !view, %lse: !rows) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 3.0 : f32 -> !warp.fragment<16x16xf32>
  %w = warp.map ins(%s : !warp.fragment<16x16xf32>) at(%i, %i) -> !warp.fragment<16x16xi1> {
  ^bb0(%x: f32, %row: index, %col: index):
    %n = arith.index_cast %col : index to i32
    %f = arith.sitofp %n : i32 to f32
    %y = arith.divf %x, %f fastmath<arcp> : f32
    %z = arith.divf %x, %f : f32
    %c = arith.cmpf ogt, %y, %z : f32
    warp.yield %c : i1
  }
  %any = warp.any %w : !warp.fragment<16x16xi1>
  %m = warp.fill 0.0 : f32 -> !warp.fragment<16xf32>
  %o = warp.fill 1.0 : f32 -> !warp.fragment<16xf32>
  %m2 = scf.if %any -> !warp.fragment<16xf32> {
    scf.yield %m : !warp.fragment<16xf32>
  } else {
    scf.yield %o : !warp.fragment<16xf32>
  }
  warp.store_rows %m2 to %lse[%b, %h, %i] : !warp.fragment<16xf32>, !rows
  warp.return
}
