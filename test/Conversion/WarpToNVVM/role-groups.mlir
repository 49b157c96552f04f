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

// A role that makes the thread's number again behind its loop does so for itself: the next one has that of the kernel's begin. What a
// consumer adds to packed sums has the lane that its role began with, 16 bytes a lane and 512 for each 8 columns.
// CHECK-LABEL: llvm.func @own_numbers(
// CHECK:         %[[THREAD:.+]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %tid.x;"
// CHECK:         setmaxnreg.inc.sync.aligned.u32 208;
// CHECK:         %[[FIRST_LANE:.+]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %laneid;"
// CHECK:         setmaxnreg.inc.sync.aligned.u32 216;
// CHECK:         %[[LANE:.+]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %laneid;"
// CHECK:         scf.for
// CHECK:           arith.shli %[[FIRST_LANE]], %c2_i32
// CHECK:           "red.global.add.v4.f32 [$0 + 0], {$1, $2, $3, $4};"
// CHECK:         "mov.u32 $0, %tid.x;"
// CHECK:         arith.andi %[[THREAD]], %c127_i32
// CHECK:         arith.shli %[[LANE]], %c2_i32
// CHECK:         "red.global.add.v4.f32 [$0 + 0], {$1, $2, $3, $4};"
// CHECK:         "red.global.add.v4.f32 [$0 + 512], {$1, $2, $3, $4};"
!tile = !warp.ring<64x64xf16, 64, depth = 1>
!part = !warp.buffer<64x64xf16, 64>
!sums = memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @own_numbers(%k: !view, %dk: !view, %sums: !sums)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %zero = arith.constant 0 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = warp.ring offset(0) barriers(65536) : !tile
  warp.role reducer registers(72) {
    %b, %h, %i = warp.program
    warp.send %k[%b, %h, %i] to %r at(%zero, %zero) : !view, !tile
    %x = warp.receive %r at(%zero, %zero) : !tile -> !part
    warp.release %x : !part
  }
  warp.role consumer group(0) registers(208) {
    %b, %h, %i = warp.program
    scf.for %j = %c0 to %i step %c1 {
      %f = warp.fill 0.0 : f32 -> !warp.fragment<64x16xf32>
      warp.add_packed %f to %sums[%b, %h, %j] first(0) : !warp.fragment<64x16xf32>, !sums
    }
  }
  warp.role consumer group(1) registers(216) {
    %b, %h, %i = warp.program
    %f = warp.fill 1.0 : f16 -> !warp.fragment<64x64xf16>
    %g = warp.fill 1.0 : f32 -> !warp.fragment<64x16xf32>
    %x = warp.reclaim %r : !tile -> !part
    warp.emit %f via %x to %dk[%b, %h, %i] : !warp.fragment<64x64xf16>, !part, !view
    warp.add_packed %g to %sums[%b, %h, %i] first(0) : !warp.fragment<64x16xf32>, !sums
  }
  warp.return
}
