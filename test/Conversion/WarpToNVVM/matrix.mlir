// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_80 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,K16
// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_75 --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,K8

!view = memref<?x?x?x16xf16, strided<[?, ?, ?, 1], offset: ?>>
!buf = !warp.buffer<16x16xf16, 16>
!acc = !warp.fragment<16x16xf32>

// S = Q K^T: A by ldmatrix of Q, B by ldmatrix of K, two products of 8 columns.
// CHECK-LABEL: llvm.func @product_with_transposed_b(
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// K16-COUNT-2:   nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// K8-COUNT-4:    nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK-NOT:     nvvm.mma.sync
// CHECK:         llvm.return
warp.kernel @product_with_transposed_b(%q: !view, %o: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %x = warp.alloc offset(0) : !buf
  %y = warp.alloc offset(512) : !buf
  warp.wait pending(0)
  %zero = warp.fill 0.0 : f32 -> !acc
  %s = warp.mma %x, %y acc(%zero) transpose_b : !buf, !buf -> !acc
  %r = warp.map ins(%s : !acc) -> !warp.fragment<16x16xf16> {
  ^bb0(%v: f32):
    %t = arith.truncf %v : f32 to f16
    warp.yield %t : f16
  }
  warp.store %r to %x : !warp.fragment<16x16xf16>, !buf
  warp.barrier
  warp.copy_out %x to %o[%b, %h, %i] : !buf, !view
  warp.return
}

// O = P V: P in registers, V transposed on the way to the registers.
// CHECK-LABEL: llvm.func @product_of_a_fragment(
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK:         nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK:         nvvm.mma.sync
warp.kernel @product_of_a_fragment(%q: !view, %o: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %x = warp.alloc offset(0) : !buf
  %y = warp.alloc offset(512) : !buf
  %p = warp.load %x : !buf -> !warp.fragment<16x16xf16>
  %zero = warp.fill 0.0 : f32 -> !acc
  %s = warp.mma %p, %y acc(%zero) : !warp.fragment<16x16xf16>, !buf -> !acc
  %r = warp.map ins(%s : !acc) -> !warp.fragment<16x16xf16> {
  ^bb0(%v: f32):
    %t = arith.truncf %v : f32 to f16
    warp.yield %t : f16
  }
  warp.store %r to %x : !warp.fragment<16x16xf16>, !buf
  warp.barrier
  warp.copy_out %x to %o[%b, %h, %i] : !buf, !view
  warp.return
}
