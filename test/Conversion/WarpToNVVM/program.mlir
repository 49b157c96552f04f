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

// Blocks of as many heads as the L2 holds, and 16 at most, by turns: here of 32 MiB / (1024 * 16) = 2048 blocks. The heads that are left
// over come first.
// CHECK-LABEL: llvm.func @abreast(
// CHECK-DAG:     %[[MANY:.+]] = arith.constant 2048 : i32
// CHECK-DAG:     %[[HEADS:.+]] = arith.constant 16 : i32
// CHECK:         %[[ID:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %ctaid.x;"
// CHECK:         %[[BLOCKS:.+]] = arith.divui %{{.+}}, %[[HEADS]]
// CHECK:         %[[FIT:.+]] = arith.divui %[[MANY]], %[[BLOCKS]]
// CHECK:         %[[ONE:.+]] = arith.maxui %[[FIT]], %c1_i32
// CHECK:         %[[MOST:.+]] = arith.minui %[[ONE]], %[[HEADS]]
// CHECK:         %[[FEW:.+]] = arith.remui %{{.+}}, %[[MOST]]
// CHECK:         %[[LEAD:.+]] = arith.muli %[[FEW]], %[[BLOCKS]]
// CHECK:         %[[BEHIND:.+]] = arith.subi %[[ID]], %[[LEAD]]
// CHECK:         %[[SIZE:.+]] = arith.muli %[[BLOCKS]], %[[MOST]]
// CHECK:         %[[SECTION:.+]] = arith.divui %[[BEHIND]], %[[SIZE]]
// CHECK:         %[[IS_LEAD:.+]] = arith.cmpi ult, %[[ID]], %[[LEAD]]
// CHECK:         %[[ABREAST:.+]] = arith.select %[[IS_LEAD]], %[[FEW]], %[[MOST]]
// CHECK:         %[[PASSED:.+]] = arith.muli %[[SECTION]], %[[MOST]]
// CHECK:         %[[START:.+]] = arith.addi %[[FEW]], %[[PASSED]]
// CHECK:         %[[FIRST:.+]] = arith.select %[[IS_LEAD]], %c0_i32, %[[START]]
// CHECK:         %[[BEFORE:.+]] = arith.muli %[[FIRST]], %[[BLOCKS]]
// CHECK:         %[[OWN:.+]] = arith.subi %[[ID]], %[[BEFORE]]
// CHECK:         %[[BLOCK:.+]] = arith.divui %[[OWN]], %[[ABREAST]]
// CHECK:         %[[ROUND:.+]] = arith.muli %[[BLOCK]], %[[ABREAST]]
// CHECK:         %[[TURN:.+]] = arith.subi %[[OWN]], %[[ROUND]]
// CHECK:         arith.addi %[[FIRST]], %[[TURN]]
warp.kernel @abreast(%q: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program abreast(1024)
  %buf = warp.alloc offset(0) : !warp.buffer<16x64xf16, 64>
  warp.copy_in %q[%b, %h, %i] to %buf : !view, !warp.buffer<16x64xf16, 64>
  warp.return
}
