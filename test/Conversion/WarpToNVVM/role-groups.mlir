// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_90a --canonicalize --cse | FileCheck %s
//
// A kernel where each group has a role: warps part by their groups, in whatever order the roles are written. Warps 0 to 3 load, 4 to 7
// are group 0.

// CHECK-LABEL: llvm.func @order(
// CHECK:         %[[LOADS:.+]] = arith.cmpi ult, %[[WARP:.+]], %c4_i32
// CHECK-NEXT:    llvm.cond_br %[[LOADS]], ^[[LOADING:.+]], ^[[REST:[a-z0-9]+]]
// CHECK:       ^[[LOADING]]:
// CHECK:         setmaxnreg.dec.sync.aligned.u32 72;
// CHECK:         setmaxnreg.inc.sync.aligned.u32 208;
// CHECK:         setmaxnreg.inc.sync.aligned.u32 216;
// CHECK:       ^[[REST]]:
// CHECK:         arith.cmpi ult, %[[WARP]], %c8_i32
!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @order(%q: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role consumer group(1) registers(216) {
  }
  warp.role reducer registers(72) {
  }
  warp.role consumer group(0) registers(208) {
  }
  warp.return
}
