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

// A block with NaN or infinity: found by one look at the buffer, whose answers meet
// in a barrier; then such elements are cleared before the product, and the rows
// that give them weight become NaN.
// CHECK-LABEL: llvm.func @guarded_product(
// CHECK:         llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xi32>
// CHECK:         %[[ANY:.+]] = nvvm.barrier #nvvm.reduction<or> %{{.*}} -> i32
// CHECK:         scf.if
// CHECK:           nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK:           arith.xori
// CHECK:           nvvm.mma.sync
// CHECK:           nvvm.shfl.sync  bfly
// CHECK:           arith.select %{{.*}}, %{{.*}} : f32
// CHECK:         } else {
// CHECK-NOT:       nvvm.shfl.sync
// CHECK:           nvvm.mma.sync
// CHECK:         llvm.return
warp.kernel @guarded_product(%q: !view, %o: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %x = warp.alloc offset(0) : !buf
  %y = warp.alloc offset(512) : !buf
  %p = warp.load %x : !buf -> !warp.fragment<16x16xf16>
  %zero = warp.fill 0.0 : f32 -> !acc
  %bad = warp.scan %y : !buf
  %s = scf.if %bad -> !acc {
    %slow = warp.mma %p, %y acc(%zero) guarded : !warp.fragment<16x16xf16>, !buf -> !acc
    scf.yield %slow : !acc
  } else {
    %fast = warp.mma %p, %y acc(%zero) : !warp.fragment<16x16xf16>, !buf -> !acc
    scf.yield %fast : !acc
  }
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

// The same where nothing else reads the buffer: a bit a row of it, of every
// warp's lanes; rows that give such a row weight become NaN; then, between two
// barriers, all threads clear it. The loops are not unrolled.
// CHECK-LABEL: llvm.func @scrub(
// CHECK:         %[[END:.+]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, 2;"
// CHECK:         scf.for %{{.+}} = %{{.+}} to %[[END]]
// CHECK:           llvm.load %{{.*}} : !llvm.ptr<3> -> vector<4xi32>
// CHECK:         nvvm.vote.sync ballot
// CHECK:         arith.select %{{.*}}, %{{.*}} : f32
// CHECK:         nvvm.barrier
// CHECK:         scf.for
// CHECK:           llvm.store %{{.*}} : vector<4xi32>, !llvm.ptr<3>
// CHECK:         nvvm.barrier
// CHECK:         nvvm.mma.sync
// CHECK:         llvm.return
warp.kernel @scrub(%q: !view, %o: !view) attributes {warps = 1, q_block = 16} {
  %b, %h, %i = warp.program
  %x = warp.alloc offset(0) : !buf
  %y = warp.alloc offset(512) : !buf
  %p = warp.load %x : !buf -> !warp.fragment<16x16xf16>
  %zero = warp.fill 0.0 : f32 -> !acc
  %clean = warp.scrub %p, %y acc(%zero) : !warp.fragment<16x16xf16>, !buf -> !acc
  %s = warp.mma %p, %y acc(%clean) : !warp.fragment<16x16xf16>, !buf -> !acc
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
