// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_80 --canonicalize --cse | FileCheck %s

// An element of a dense array: what is in front of a row by 64 bits, the row's number times its length by one instruction, and the
// column added to it. Elements of a row have that instruction in common.
// CHECK-LABEL: llvm.func @element(
// CHECK:         %[[LENGTH64:.+]] = arith.extsi %[[LENGTH:.+]] : i32 to i64
// CHECK-NEXT:    %[[ROWS64:.+]] = arith.extsi %{{.+}} : i32 to i64
// CHECK-NEXT:    %[[SIZE:.+]] = arith.muli %[[LENGTH64]], %[[ROWS64]]
// CHECK:         %[[FRONT:.+]] = arith.muli %{{.+}}, %[[SIZE]] : i64
// CHECK-NEXT:    %[[START:.+]] = llvm.inline_asm asm_dialect = att "mad.wide.u32 $0, $1, $2, $3;", "=l,r,r,l" %[[ROW:.+]], %[[LENGTH]], %[[FRONT]] : (i32, i32, i64) -> i64
// CHECK-NEXT:    %[[COLUMN:.+]] = arith.extsi
// CHECK-NEXT:    %[[AT:.+]] = arith.addi %[[START]], %[[COLUMN]]
// CHECK-NEXT:    %[[ADDRESS:.+]] = llvm.getelementptr %{{.+}}[%[[AT]]] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f16
// CHECK-NEXT:    llvm.load %[[ADDRESS]]
// CHECK:         %[[BELOW:.+]] = arith.addi %[[ROW]], %c8_i32
// CHECK-NEXT:    llvm.inline_asm asm_dialect = att "mad.wide.u32 $0, $1, $2, $3;", "=l,r,r,l" %[[BELOW]], %[[LENGTH]], %[[FRONT]]
!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @element(%q: !view, %lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %bias: memref<?x?x?xf16>)
    attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %s = warp.fill 0.0 : f32 -> !warp.fragment<16xf32>
  %x = warp.map ins(%s : !warp.fragment<16xf32>) at(%i) -> !warp.fragment<16xf32> {
  ^bb0(%v: f32, %row: index):
    %e = memref.load %bias[%h, %row, %b] : memref<?x?x?xf16>
    %w = arith.extf %e : f16 to f32
    %y = arith.addf %v, %w : f32
    warp.yield %y : f32
  }
  warp.store_rows %x to %lse[%b, %h, %i] : !warp.fragment<16xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  warp.return
}
