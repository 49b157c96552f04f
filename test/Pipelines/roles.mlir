// RUN: flashc-opt %s --attn-to-tile='arch=sm_90a tiles=128x128' --tile-to-warp=arch=sm_90a | FileCheck %s
// RUN: flashc-opt %s --attn-to-tile='arch=sm_90a tiles=128x128' --tile-to-warp=arch=sm_90a --warp-to-nvvm=arch=sm_90a | FileCheck %s --check-prefix=LLVM
// RUN: flashc %s --arch=sm_90a --tiles=128x128 --emit=ptx | FileCheck %s --check-prefix=PTX
//
// The whole way of a causal kernel with roles. Block 0 stands before the loops; in them the scores of block j and P V of block j - 1 are
// one turn, the softmax waits for the scores alone, and K is released before it.

// CHECK-LABEL: warp.kernel @causal(
// CHECK-SAME:    groups = 2 : i64
// CHECK-SAME:    turns
// CHECK:         %[[KR:.+]] = warp.ring {{.*}} : !warp.ring<{{[0-9]+}}x128xf16, 64, depth = 2>
// CHECK:         %[[VR:.+]] = warp.ring {{.*}} : !warp.ring<{{[0-9]+}}x128xf16, 64, depth = 2>
// CHECK:         %[[QR:.+]] = warp.ring {{.*}} : !warp.ring<128x128xf16, 64, depth = 2, parts = 2>
// CHECK:         warp.role producer
// CHECK:           warp.tiles longest_first
// CHECK:             warp.send {{.*}} to %[[KR]] at(
// CHECK:             warp.send {{.*}} to %[[QR]] at(
// CHECK-NOT:         warp.send
// CHECK:             scf.for
// CHECK:               warp.send {{.*}} to %[[KR]] at(
// CHECK:               warp.send {{.*}} to %[[VR]] at(
// CHECK:             warp.send {{.*}} to %[[VR]] at(
// CHECK:         warp.role consumer
// CHECK:           warp.tiles longest_first
// CHECK:             warp.settle
// CHECK:             scf.for
// CHECK:               %[[K:.+]] = warp.receive %[[KR]]
// CHECK:               warp.await_turn
// CHECK-NEXT:          %[[S:.+]] = warp.wgmma {{.*}}, %[[K]] transpose_b
// CHECK:               %[[V:.+]] = warp.receive %[[VR]]
// CHECK:               %[[O:.+]] = warp.wgmma {{.*}}, %[[V]] acc(
// CHECK-NEXT:          warp.pass_turn
// CHECK:               %[[S1:.+]] = warp.settle %[[S]] pending(1)
// CHECK-NEXT:          warp.release %[[K]]
// CHECK:               %[[RISES:.+]] = warp.any_above %[[S1]],
// CHECK:               warp.settle %[[O]] pending(0)
// CHECK-NEXT:          warp.release %[[V]]
// CHECK:               scf.if %[[RISES]]
// CHECK:                 warp.reduce max %[[S1]]
// CHECK:             warp.emit
// CHECK:             warp.store_rows

// LLVM-LABEL: llvm.func @causal(
// LLVM-SAME:    nvvm.grid_constant
// LLVM-SAME:    nvvm.reqntid = array<i32: 384, 1, 1>
// LLVM-NOT:     {{ (warp|scf|arith|nvgpu)\.[a-z]}}

// PTX: .target sm_90a
// PTX: .entry causal(
// PTX: .align 64 .b8 causal_param_{{[0-9]+}}[128]
// PTX: .reqntid 384
// PTX: setmaxnreg.dec
// PTX: setmaxnreg.inc
func.func @causal(%q: tensor<?x?x32x128xf16>, %k: tensor<?x?x8x128xf16>, %v: tensor<?x?x8x128xf16>) -> (tensor<?x?x32x128xf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.causal)
      : tensor<?x?x32x128xf16>, tensor<?x?x8x128xf16>, tensor<?x?x8x128xf16> -> (tensor<?x?x32x128xf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x128xf16>, tensor<?x32x?xf32>
}
