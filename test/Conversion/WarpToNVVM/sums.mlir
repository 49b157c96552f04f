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
