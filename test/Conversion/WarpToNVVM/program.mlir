// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_80 --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// The last block of the grid is program 0.
// CHECK-LABEL: llvm.func @descending(
// CHECK:         %[[ID:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %ctaid.x;"
// CHECK:         %[[SIZE:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %nctaid.x;"
// CHECK:         %[[LAST:.+]] = arith.subi %[[SIZE]], %c1_i32
// CHECK:         %[[AT:.+]] = arith.subi %[[LAST]], %[[ID]]
// CHECK:         arith.remui %[[AT]],
// CHECK:         arith.divui %[[AT]],
warp.kernel @descending(%q: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program descending
  %buf = warp.alloc offset(0) : !warp.buffer<16x64xf16, 64>
  warp.copy_in %q[%b, %h, %i] to %buf : !view, !warp.buffer<16x64xf16, 64>
  warp.return
}
