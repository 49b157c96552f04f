// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_80 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,ASYNC
// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_75 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,SYNC
// RUN: flashc-opt %s "--convert-warp-to-nvvm=arch=sm_80 alignment=4" --canonicalize --cse | FileCheck %s --check-prefix=ALIGN4

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!odd = memref<?x?x?x7xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.channel<16x64xf16, 64, depth = 2>

// A put past the channel's end copies nothing, but is a group all the same. Rows outside
// the view are asked for with a size of zero.
// CHECK-LABEL: llvm.func @puts_and_gets(
// ASYNC:         scf.if
// ASYNC:           %[[SIZE:.+]] = arith.select %{{.*}}, %c16_i32, %c0_i32 : i32
// ASYNC:           nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache =  cg, %[[SIZE]]
// ASYNC:         }
// ASYNC-NEXT:    nvvm.cp.async.commit.group
// ASYNC:         nvvm.cp.async.wait.group 1
// SYNC-NOT:      cp.async
// SYNC:          llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// SYNC:          llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK:         nvvm.barrier0
// ALIGN4-LABEL: llvm.func @puts_and_gets(
// ALIGN4:         nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 4, cache =  ca
warp.kernel @puts_and_gets(%q: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %ch = warp.channel %q[%b, %h] blocks(%c0 to %i) offset(0) : !view -> !ring
  warp.put %ch[%c0] : !ring
  warp.put %ch[%c3] : !ring
  %k = warp.get %ch[%c0] pending(1) : !ring -> !warp.buffer<16x64xf16, 64>
  warp.return
}

// 7 halfs a row: 2-byte loads, and columns past 6 are zero.
// CHECK-LABEL: llvm.func @odd_head_dim(
// CHECK-NOT:     nvvm.cp.async.shared
// CHECK:         llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> i16
// CHECK:         llvm.return
warp.kernel @odd_head_dim(%q: !odd) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %buf = warp.alloc offset(0) : !warp.buffer<16x16xf16, 16>
  warp.copy_in %q[%b, %h, %i] to %buf : !odd, !warp.buffer<16x16xf16, 16>
  warp.return
}
