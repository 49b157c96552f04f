// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_90a --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!slot = !warp.buffer<128x64xf16, 64, parts = 2>

// A group waits for its own part's empty barrier, 8 bytes apart, by a number that is read behind what came before. Nobody reads
// the part then: a warp stores without a meeting in front, and that it was copied out is waited for at the end alone.
// CHECK-LABEL: llvm.func @results(
// CHECK:         "mbarrier.arrive
// CHECK:         %[[THREAD:.+]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, %tid.x;"
// CHECK:         %[[WARPGROUP:.+]] = arith.shrui %[[THREAD]], %c7_i32
// CHECK:         %[[GROUP:.+]] = arith.subi %[[WARPGROUP]], %c1_i32
// CHECK:         arith.shli %[[GROUP]], %c3_i32
// CHECK:         mbarrier.try_wait
// CHECK-NOT:     bar.sync
// CHECK:         stmatrix
// CHECK:         "fence.proxy.async.shared::cta;"
// CHECK:         "bar.sync $0, 128;"
// CHECK:         cp.async.bulk.tensor
// CHECK:         cp.async.bulk.commit_group
// CHECK-NOT:     wait_group
// CHECK:         mbarrier.try_wait
// CHECK-NOT:     bar.sync
// CHECK:         stmatrix
// CHECK:         cp.async.bulk.commit_group
// CHECK:         "cp.async.bulk.wait_group.read 0;"
// CHECK-NOT:     bulk
warp.kernel @results(%k: !view, %v: !view, %dk: !view, %dv: !view)
    attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %zero = arith.constant 0 : i32
  %kr = warp.ring offset(0) barriers(65536) : !ring
  %vr = warp.ring offset(16384) barriers(65568) : !ring
  warp.role reducer registers(72) {
    %b, %h, %i = warp.program
    warp.send %k[%b, %h, %i] to %kr at(%zero, %zero) : !view, !ring
    warp.send %v[%b, %h, %i] to %vr at(%zero, %zero) : !view, !ring
    %k0 = warp.receive %kr at(%zero, %zero) : !ring -> !slot
    warp.release %k0 : !slot
  }
  warp.role consumer registers(216) {
    %b, %h, %i = warp.program
    %k1 = warp.receive %kr at(%zero, %zero) : !ring -> !slot
    %v1 = warp.receive %vr at(%zero, %zero) : !ring -> !slot
    %f = warp.fill 1.0 : f16 -> !warp.fragment<128x64xf16>
    warp.release %k1 : !slot
    warp.release %v1 : !slot
    %x = warp.reclaim %vr : !ring -> !slot
    warp.emit %f via %x to %dv[%b, %h, %i] : !warp.fragment<128x64xf16>, !slot, !view
    %y = warp.reclaim %kr : !ring -> !slot
    warp.emit %f via %y to %dk[%b, %h, %i] : !warp.fragment<128x64xf16>, !slot, !view
  }
  warp.return
}
