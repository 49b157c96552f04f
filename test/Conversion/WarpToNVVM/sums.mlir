// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_80 | FileCheck %s
//
// f32 between global memory and registers.

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

// Rows beyond the view are left alone; columns follow at constant offsets. With 8 warps on 64 rows each warp has half of the columns.
// CHECK-LABEL: llvm.func @add(
// CHECK:         %[[PART:.+]] = arith.divui %{{.+}}, %{{.+}} : i32
// CHECK:         scf.if
// CHECK:           llvm.inline_asm has_side_effects asm_dialect = att "red.global.add.f32 [$0+0], $1;"
// CHECK:           llvm.inline_asm has_side_effects asm_dialect = att "red.global.add.f32 [$0+4], $1;"
// CHECK:           llvm.inline_asm has_side_effects asm_dialect = att "red.global.add.f32 [$0+100], $1;"
// CHECK-NOT:       red.global.add.f32 [$0+128]
warp.kernel @add(%sums: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, shared_bytes = 0 : i64} {
  %b, %h, %i = warp.program
  %x = warp.fill 1.000000e+00 : f32 -> !warp.fragment<64x64xf32>
  warp.add_sums %x to %sums[%b, %h, %i] : !warp.fragment<64x64xf32>, !view
  warp.return
}

// In the order of fragments the lanes of a warp touch 128 bytes that follow each other; a tile is 512 bytes. Where 16 rows are not
// inside as a whole, rows are one by one.
// CHECK-LABEL: llvm.func @add_in_fragment_order(
// CHECK:         %[[WHOLE:.+]] = arith.cmpi sle, %{{.+}}, %{{.+}} : i32
// CHECK:         scf.if %[[WHOLE]]
// CHECK-COUNT-4:   red.global.add.f32 [$0+{{0|128|256|384}}], $1;
// CHECK:           red.global.add.f32 [$0+512], $1;
// CHECK:           red.global.add.f32 [$0+1920], $1;
// CHECK:         } else {
// CHECK:           scf.if
// CHECK:             red.global.add.f32 [$0+4], $1;
warp.kernel @add_in_fragment_order(%sums: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, shared_bytes = 0 : i64} {
  %b, %h, %i = warp.program
  %x = warp.fill 1.000000e+00 : f32 -> !warp.fragment<64x64xf32>
  warp.add_sums %x to %sums[%b, %h, %i] fragment_order : !warp.fragment<64x64xf32>, !view
  warp.return
}

// CHECK-LABEL: llvm.func @load_in_fragment_order(
// CHECK:         scf.if %{{.+}} -> (f32, f32,
// CHECK:           %[[A:.+]] = llvm.getelementptr %{{.+}}[128] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK:           llvm.load %[[A]] {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// CHECK:         } else {
warp.kernel @load_in_fragment_order(%sums: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 4 : i64, shared_bytes = 0 : i64} {
  %b, %h, %i = warp.program
  %x = warp.load_sums %sums[%b, %h, %i] fragment_order : !view -> !warp.fragment<64x64xf32>
  warp.add_sums %x to %sums[%b, %h, %i] : !warp.fragment<64x64xf32>, !view
  warp.return
}

// A pair of columns in one load where that is whole and aligned.
// CHECK-LABEL: llvm.func @columns(
// CHECK:         scf.if %{{.+}} -> (f32, f32, f32, f32)
// CHECK:           llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
// CHECK:         } else {
// CHECK:           llvm.load %{{.+}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
warp.kernel @columns(%rows: !rows, %sums: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 4 : i64, shared_bytes = 0 : i64} {
  %b, %h, %i = warp.program
  %c = warp.load_values %rows[%b, %h, %i] : !rows -> !warp.fragment<1x16xf32, of 64>
  %z = warp.fill 0.000000e+00 : f32 -> !warp.fragment<64x16xf32>
  %y = warp.map ins(%z, %c : !warp.fragment<64x16xf32>, !warp.fragment<1x16xf32, of 64>) -> !warp.fragment<64x16xf32> {
  ^bb0(%a: f32, %d: f32):
    %s = arith.addf %a, %d : f32
    warp.yield %s : f32
  }
  warp.scatter set ins(%y : !warp.fragment<64x16xf32>) at(%i, %h) exclusive to %rows : !rows {
  ^bb0(%v: f32, %r: index, %s: index):
    %inside = arith.cmpi slt, %r, %s : index
    warp.yield %inside, %v, %b, %h, %r : i1, f32, index, index, index
  }
  warp.return
}
