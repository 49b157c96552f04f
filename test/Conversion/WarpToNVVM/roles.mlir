// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_90a --canonicalize --cse --split-input-file | FileCheck %s
// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_90a --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=START

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// The frame of a kernel with roles: nothing is copied, so the only parameter behind the views is the counter. Thread 0 sets the barriers
// of the queue up; the first warpgroup gives registers away and its first thread loads, the others take them and compute.
// CHECK-LABEL: llvm.func @frame(
// CHECK-SAME:    %[[QL:[^:]+]]: !llvm.ptr<1>, %[[QB:[^:]+]]: i32, %[[QH:[^:]+]]: i32, %[[QN:[^:]+]]: i32,
// CHECK-SAME:    i64, %[[COUNTER:[^:]+]]: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.minctasm = 1 : i32, nvvm.reqntid = array<i32: 384, 1, 1>
// CHECK-DAG:     %[[AT64:.+]] = arith.constant 64 : i32
// CHECK-DAG:     %[[AT80:.+]] = arith.constant 80 : i32
// CHECK-DAG:     %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[NONE:.+]] = arith.constant -1 : i32
// CHECK:         %[[SHARED:.+]] = llvm.mlir.addressof @flashc_shared : !llvm.ptr<3>
// CHECK:         %[[T:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %tid.x;", "=r"
// CHECK:         %[[W:.+]] = arith.shrui %[[T]], %{{.+}} : i32
// CHECK-NEXT:    %[[WARP:.+]] = nvvm.shfl.sync idx %{{.+}}, %[[W]], %[[ZERO]]
// CHECK-NEXT:    %[[FIRST:.+]] = arith.cmpi eq, %[[T]], %[[ZERO]]
// CHECK-NEXT:    scf.if %[[FIRST]] {
// CHECK-NEXT:      %[[BASE:.+]] = llvm.ptrtoint %[[SHARED]]
// CHECK-NEXT:      %[[FULL:.+]] = arith.addi %[[BASE]], %[[AT64]]
// CHECK-NEXT:      "mbarrier.init.shared::cta.b64 [$0], 1;", "r" %[[FULL]]
// CHECK-NEXT:      %[[EMPTY:.+]] = arith.addi %[[BASE]], %[[AT80]]
// CHECK-NEXT:      "mbarrier.init.shared::cta.b64 [$0], 256;", "r" %[[EMPTY]]
// CHECK:           "mbarrier.init.shared::cta.b64 [$0], 1;"
// CHECK:           "mbarrier.init.shared::cta.b64 [$0], 256;"
// CHECK-NOT:       mbarrier.init
// CHECK:           "fence.mbarrier_init.release.cluster;", "~{memory}"
// CHECK:         nvvm.barrier0
// CHECK-NEXT:    %[[LOADS:.+]] = arith.cmpi ult, %[[WARP]], %[[FOUR]]
// CHECK-NEXT:    llvm.cond_br %[[LOADS]], ^[[LOADING:.+]], ^[[COMPUTING:.+]]
// CHECK:       ^[[LOADING]]:
// CHECK-NEXT:    "setmaxnreg.dec.sync.aligned.u32 24;", ""
// CHECK-NEXT:    llvm.cond_br %[[FIRST]], ^{{.+}}, ^[[EXIT:bb[0-9]+]]
// CHECK:       ^[[COMPUTING]]:
// CHECK-NEXT:    "setmaxnreg.inc.sync.aligned.u32 240;", ""
// Group 0 has the first turn: barrier 1 is passed to it.
// CHECK:         scf.if
// CHECK-NEXT:      "bar.arrive 1, 256;", "~{memory}"

// The producer's tiles: coordinates, with -1 for the query block behind the last tile, go into a slot of the queue that is empty; the
// next number is drawn early. Behind the last one stands the block's end in the second counter, and who ends last sets both to zero.
// CHECK:       ^[[HEADER:.+]](%[[COUNT:.+]]: i32, %[[TILE:.+]]: i32):
// CHECK-NEXT:    %[[BH:.+]] = arith.divui %[[TILE]], %[[BLOCKS:.+]] : i32
// CHECK-NEXT:    %[[I:.+]] = arith.remui %[[TILE]], %[[BLOCKS]] : i32
// CHECK-NEXT:    %[[B:.+]] = arith.divui %[[BH]], %[[QH]] : i32
// CHECK-NEXT:    %[[H:.+]] = arith.remui %[[BH]], %[[QH]] : i32
// CHECK-NEXT:    %[[IN:.+]] = arith.cmpi ult, %[[TILE]], %{{.+}} : i32
// CHECK-NEXT:    %[[BLOCK:.+]] = arith.select %[[IN]], %[[I]], %[[NONE]] : i32
// CHECK:         mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1, 10000000;{{.*}}"r,r,~{memory}"
// CHECK:         "st.shared.v4.b32 [$0], {$1, $2, $3, $3};", "r,r,r,r,~{memory}" %{{.+}}, %[[B]], %[[H]], %[[BLOCK]] :
// CHECK:         "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}"
// CHECK-NEXT:    %[[MORE:.+]] = arith.cmpi sge, %[[BLOCK]], %[[ZERO]] : i32
// CHECK-NEXT:    llvm.cond_br %[[MORE]], ^[[BODY:.+]], ^[[AFTER:bb[0-9]+]]
// CHECK:       ^[[BODY]]:
// CHECK-NEXT:    %[[DRAWN:.+]] = llvm.inline_asm {{.*}}"atom.global.add.u32 $0, [$1], 1;", "=r,l" %[[COUNTER]]
// CHECK-NEXT:    %[[GRID:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %nctaid.x;", "=r"
// CHECK-NEXT:    %[[NEXT:.+]] = arith.addi %[[DRAWN]], %[[GRID]]
// CHECK:         llvm.br ^[[HEADER]](%{{.+}}, %[[NEXT]] : i32, i32)
// CHECK:       ^[[AFTER]]:
// CHECK-NEXT:    %[[ENDS:.+]] = llvm.getelementptr %[[COUNTER]][4]
// CHECK-NEXT:    %[[ENDED:.+]] = llvm.inline_asm {{.*}}"atom.acq_rel.gpu.global.add.u32 $0, [$1], 1;", "=r,l,~{memory}" %[[ENDS]]
// CHECK:         %[[LAST:.+]] = arith.cmpi eq, %[[ENDED]], %{{.+}} : i32
// CHECK-NEXT:    scf.if %[[LAST]] {
// CHECK-NEXT:      llvm.store volatile %[[ZERO]], %[[COUNTER]]
// CHECK-NEXT:      llvm.store volatile %[[ZERO]], %[[ENDS]] {{.*}} !llvm.ptr<1>
// CHECK-NEXT:    }
// CHECK-NEXT:    llvm.br ^[[EXIT]]

// The consumers' tiles: from the queue, whose slot they keep to the tile's end; each lane reads it and gives it back.
// CHECK:         mbarrier.try_wait.parity
// CHECK:         %[[READ:.+]] = llvm.inline_asm {{.*}}"ld.shared.v4.b32 {$0, $1, $2, _}, [$3];", "=r,=r,=r,r,~{memory}"
// CHECK-NEXT:    %[[BLOCK2:.+]] = llvm.extractvalue %[[READ]][2]
// CHECK-NEXT:    %[[SAME:.+]] = nvvm.shfl.sync idx %{{.+}}, %[[BLOCK2]], %[[ZERO]]
// CHECK-NEXT:    %[[MORE2:.+]] = arith.cmpi sge, %[[SAME]], %[[ZERO]]
// CHECK-NEXT:    llvm.cond_br %[[MORE2]]
// CHECK-NOT:     elect.sync
// CHECK:         "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}"
// CHECK-NOT:     atom.global
// The producer starts with its block's number.
// START-LABEL: llvm.func @frame(
// START:         %[[FIRST:.+]] = llvm.inline_asm {{.*}}"mov.u32 $0, %ctaid.x;", "=r"
// START:         llvm.br ^{{.+}}(%{{.+}}, %[[FIRST]] : i32, i32)
warp.kernel @frame(%q: !view, %k: !view, %v: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, turns, queue = 64 : i64, shared_bytes = 128 : i64} {
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!odd = memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>
!dealt = !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
!kv = !warp.ring<32x128xf16, 64, depth = 3>

// A tensor map for each view and box, as parameters that stay in constant memory; the counter is last.
// CHECK-LABEL: llvm.func @sends(
// CHECK-SAME:    %[[QMAP:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// CHECK-SAME:    %[[VMAP:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// CHECK-SAME:    !llvm.ptr<1>) attributes {nvvm.kernel
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : i32
// CHECK-DAG:     %[[PART:.+]] = arith.constant 8192 : i32
// CHECK-DAG:     %[[SEGMENT:.+]] = arith.constant 4096 : i32
// CHECK-DAG:     %[[ONCE:.+]] = arith.constant 1364590687093260288 : i64
// CHECK-DAG:     %[[AGAIN:.+]] = arith.constant 1508705875169116160 : i64
// CHECK-DAG:     "prefetch.tensormap [$0];", "l" %[[QMAP]]
// CHECK-DAG:     "prefetch.tensormap [$0];", "l" %[[VMAP]]
// A part is read by its group's four warps, a whole slot by all eight.
// CHECK:         mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK:         mbarrier.init.shared::cta.b64 [$0], 4;
// CHECK:         mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK:         mbarrier.init.shared::cta.b64 [$0], 4;
// CHECK:         mbarrier.init.shared::cta.b64 [$0], 1;
// CHECK:         mbarrier.init.shared::cta.b64 [$0], 8;

// Two parts of 64 rows, each behind its own barriers; read once. 64 columns are one copy of all segments (5-D).
// CHECK:         mbarrier.try_wait.parity
// CHECK:         mbarrier.try_wait.parity
// CHECK:         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}" %[[FULL:.+]], %[[PART]]
// CHECK-NEXT:    "cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1, {$2, $3, $4, $5, $6}], [$7], $8;", "r,l,r,r,r,r,r,r,l,~{memory}" %[[TO:.+]], %[[QMAP]], %[[ZERO]], %[[ROW:.+]], %[[ZERO]], %[[H:.+]], %[[B:.+]], %[[FULL]], %[[ONCE]] :
// CHECK:         mbarrier.try_wait.parity
// CHECK:         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}" %[[FULL1:.+]], %[[PART]]
// CHECK-NEXT:    %[[ROW1:.+]] = arith.addi %[[ROW]], %[[C64]]
// CHECK-NEXT:    %[[TO1:.+]] = arith.addi %[[TO]], %[[PART]]
// CHECK-NEXT:    cp.async.bulk.tensor.5d{{.*}} %[[TO1]], %[[QMAP]], %[[ZERO]], %[[ROW1]], %[[ZERO]], %[[H]], %[[B]], %[[FULL1]], %[[ONCE]] :

// 96 columns do not fill their segments: a copy for each (4-D), which all arrive at one barrier. Read again by other blocks.
// CHECK:         "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}" %[[FULL2:.+]], %[[PART]]
// CHECK-NEXT:    "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$0], [$1, {$2, $3, $4, $5}], [$6], $7;", "r,l,r,r,r,r,r,l,~{memory}" %[[TO2:.+]], %[[VMAP]], %[[ZERO]], %[[ROW2:.+]], %[[H]], %[[B]], %[[FULL2]], %[[AGAIN]] :
// CHECK-NEXT:    %[[TO3:.+]] = arith.addi %[[TO2]], %[[SEGMENT]]
// CHECK-NEXT:    cp.async.bulk.tensor.4d{{.*}} %[[TO3]], %[[VMAP]], %[[C64]], %[[ROW2]], %[[H]], %[[B]], %[[FULL2]], %[[AGAIN]] :
// CHECK-NOT:     cp.async.bulk.tensor
warp.kernel @sends(%q: !view, %k: !view, %v: !odd) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, queue = 41088 : i64, shared_bytes = 41216 : i64} {
  %qr = warp.ring offset(0) barriers(40960) : !dealt
  %vr = warp.ring offset(16384) barriers(40992) : !kv
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    %r:4 = warp.tiles inits(%c0, %c0, %c0, %c0 : i32, i32, i32, i32) -> i32, i32, i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %qs: i32, %qp: i32, %vs: i32, %vp: i32):
      warp.send %q[%b, %h, %i] to %qr at(%qs, %qp) : !view, !dealt
      warp.send %v[%b, %h, %b] to %vr at(%vs, %vp) : !odd, !kv
      warp.end_tile %qs, %qp, %vs, %vp : i32, i32, i32, i32
    }
  }
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
!qr = !warp.ring<64x128xf16, 64, depth = 1>
!kr = !warp.ring<32x128xf16, 64, depth = 2>
!q = !warp.buffer<64x128xf16, 64>
!k = !warp.buffer<32x128xf16, 64>
!s = !warp.fragment<64x16xf32>

// Descriptors: address / 16 with eight rows of 128 bytes (64 << 32) and the 128-byte swizzle (1 << 62); behind it the leading offset in
// 16 bytes, which is 1 where K is along the rows and the 4096 bytes of a segment for V. A step along K is 2 inside a segment, 32 rows
// (256) or Q's 64 (512) to the next one; for V 16 rows (128).
// CHECK-LABEL: llvm.func @products(
// CHECK-DAG:     %[[BY_ROWS:.+]] = arith.constant 4611686293305360384 : i64
// CHECK-DAG:     %[[BY_COLUMNS:.+]] = arith.constant 4611686293322072064 : i64
// CHECK-DAG:     %[[FOUR:.+]] = arith.constant 4 : i32
// CHECK-DAG:     %[[STAGE:.+]] = arith.constant 8192 : i32
// The consumer's first wait is the queue's, the second that for Q.
// CHECK:         setmaxnreg.inc
// CHECK:         ld.shared.v4.b32
// CHECK:         mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1, 10000000;
// CHECK:         arith.muli %{{.+}}, %[[STAGE]]
// CHECK:         %[[K0:.+]] = arith.shrui %{{.+}}, %[[FOUR]]
// CHECK-NEXT:    %[[K1:.+]] = arith.extui %[[K0]] : i32 to i64
// CHECK-NEXT:    %[[KD:.+]] = arith.ori %[[K1]], %[[BY_ROWS]]
// CHECK:         %[[QD:.+]] = arith.ori %{{.+}}, %[[BY_ROWS]]
// CHECK-NEXT:    %[[S:.+]] = llvm.inline_asm has_side_effects asm_dialect = att
// CHECK-SAME:      "{\0A.reg .b64 da, db;\0Awgmma.fence.sync.aligned;\0A
// CHECK-SAME:      add.s64 db, $9, 0;\0Aadd.s64 da, $8, 0;\0A
// CHECK-SAME:      wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, da, db, 0, 1, 1, 0, 0;\0A
// CHECK-SAME:      add.s64 db, $9, 2;\0Aadd.s64 da, $8, 2;\0A
// CHECK-SAME:      wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, da, db, 1, 1, 1, 0, 0;\0A
// CHECK-SAME:      add.s64 db, $9, 4;\0Aadd.s64 da, $8, 4;
// CHECK-SAME:      add.s64 db, $9, 6;\0Aadd.s64 da, $8, 6;
// CHECK-SAME:      add.s64 db, $9, 256;\0Aadd.s64 da, $8, 512;
// CHECK-SAME:      da, db, 1, 1, 1, 0, 0;\0Awgmma.commit_group.sync.aligned;\0A}"
// CHECK-SAME:      "=f,=f,=f,=f,=f,=f,=f,=f,l,l" %[[QD]], %[[KD]] : (i64, i64) ->
// CHECK:         %[[S0:.+]] = llvm.extractvalue %[[S]][0]
// V: P from registers, and an accumulator in the registers of the result.
// CHECK:         %[[VD:.+]] = arith.ori %{{.+}}, %[[BY_COLUMNS]]
// CHECK-NEXT:    %[[O:.+]] = llvm.inline_asm has_side_effects asm_dialect = att
// CHECK-SAME:      add.s64 db, $24, 0;\0A
// CHECK-SAME:      wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, {$16, $17, $18, $19}, db, 1, 1, 1, 1;\0A
// CHECK-SAME:      add.s64 db, $24, 128;\0A
// CHECK-SAME:      {$20, $21, $22, $23}, db, 1, 1, 1, 1;\0Awgmma.commit_group.sync.aligned;\0A}"
// CHECK-SAME:      "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,r,r,r,r,r,r,r,r,l"
// CHECK:         %[[O0:.+]] = llvm.extractvalue %[[O]][0]
// What a settle makes readable goes in and comes out in the same registers; the product still under way is not named.
// CHECK:         %[[SS:.+]] = llvm.inline_asm {{.*}}"wgmma.wait_group.sync.aligned 1;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7" %[[S0]], {{[^:]*}} : (f32, f32, f32, f32, f32, f32, f32, f32) ->
// One arrival a warp at the slot's empty barrier.
// CHECK:         "{\0A.reg .pred p;\0Aelect.sync _|p, -1;\0A@p mbarrier.arrive.shared::cta.b64 _, [$0];\0A}", "r,~{memory}"
// CHECK:         "wgmma.wait_group.sync.aligned 0;", "=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15" %[[O0]],
warp.kernel @products(%q: !view, %k: !view, %v: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 40960 : i64, shared_bytes = 41088 : i64} {
  %qr = warp.ring offset(0) barriers(32768) : !qr
  %kr = warp.ring offset(16384) barriers(32784) : !kr
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.role consumer registers(240) {
    %c0 = arith.constant 0 : i32
    %r:4 = warp.tiles inits(%c0, %c0, %c0, %c0 : i32, i32, i32, i32) -> i32, i32, i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %qs: i32, %qp: i32, %ks: i32, %kp: i32):
      %p = warp.fill 1.0 : f16 -> !warp.fragment<64x32xf16>
      %o = warp.fill 0.0 : f32 -> !s
      %qb = warp.receive %qr at(%qs, %qp) : !qr -> !q
      %kb = warp.receive %kr at(%ks, %kp) : !kr -> !k
      %s = warp.wgmma %qb, %kb transpose_b depth(128) : !q, !k -> !s
      %o1 = warp.wgmma %p, %kb acc(%o : !s) depth(32) : !warp.fragment<64x32xf16>, !k -> !s
      %s1 = warp.settle %s pending(1) : !s
      warp.release %kb : !k
      %t = warp.wgmma %p, %kb depth(32) : !warp.fragment<64x32xf16>, !k -> !s
      %both:2 = warp.settle %o1, %t pending(0) : !s, !s
      warp.end_tile %qs, %qp, %ks, %kp : i32, i32, i32, i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
!odd = memref<?x?x?x96xbf16, strided<[?, ?, ?, 1], offset: ?>>
!parts = !warp.buffer<128x128xbf16, 64, parts = 2>
!narrow = !warp.buffer<128x64xbf16, 64, parts = 2>

// Turns: barrier 1 + group, of two warpgroups' threads; the next group's is passed.
// CHECK-LABEL: llvm.func @turns_and_emit(
// CHECK-SAME:    %[[OMAP:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// CHECK-SAME:    %[[WMAP:[^:]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant},
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[EIGHT:.+]] = arith.constant 8 : i32
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : i32
// CHECK-DAG:     %[[PART:.+]] = arith.constant 16384 : i32
// CHECK-DAG:     %[[SEGMENT:.+]] = arith.constant 8192 : i32
// CHECK:         setmaxnreg.inc
// CHECK:         %[[G:.+]] = arith.shrui
// CHECK:         %[[MINE:.+]] = arith.addi %[[G]], %[[ONE]]
// CHECK:         "bar.sync $0, 256;", "r,~{memory}" %[[MINE]]
// CHECK:         "bar.arrive $0, 256;", "r,~{memory}"

// Each warp stages its 16 rows between two meetings of its group (barrier 8 + group), then one thread copies the group's part.
// The part of an alias begins where the buffer's does.
// CHECK:         %[[MEET:.+]] = arith.addi %[[G]], %[[EIGHT]]
// CHECK:         "bar.sync $0, 128;", "r,~{memory}" %[[MEET]]
// CHECK-COUNT-4: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,~{memory}"
// CHECK-NOT:     stmatrix
// CHECK:         "fence.proxy.async.shared::cta;", "~{memory}"
// CHECK-NEXT:    "bar.sync $0, 128;", "r,~{memory}" %[[MEET]]
// CHECK:         scf.if
// CHECK:           %[[OFF:.+]] = arith.muli %[[G]], %[[C64]]
// CHECK:           %[[ROW:.+]] = arith.addi %{{.+}}, %[[OFF]]
// CHECK:           "cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [$0, {$1, $2, $3, $4, $5}], [$6];", "l,r,r,r,r,r,r,~{memory}" %[[OMAP]], %[[ZERO]], %[[ROW]], %[[ZERO]], %[[H:.+]], %[[B:.+]], %[[FROM:.+]] :
// CHECK-NEXT:      "cp.async.bulk.commit_group;", "~{memory}"
// CHECK-NEXT:      "cp.async.bulk.wait_group.read 0;", "~{memory}"

// CHECK-COUNT-8: stmatrix
// CHECK:         "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$0, {$1, $2, $3, $4}], [$5];", "l,r,r,r,r,r,~{memory}" %[[WMAP]], %[[ZERO]], %[[ROW2:.+]], %[[H]], %[[B]], %[[FROM]] :
// CHECK-NEXT:    %[[FROM1:.+]] = arith.addi %[[FROM]], %[[SEGMENT]]
// CHECK-NEXT:    cp.async.bulk.tensor.4d{{.*}} %[[WMAP]], %[[C64]], %[[ROW2]], %[[H]], %[[B]], %[[FROM1]] :
// CHECK-NEXT:    cp.async.bulk.commit_group
warp.kernel @turns_and_emit(%q: !view, %k: !view, %v: !view, %o: !view, %w: !odd) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64, turns, queue = 32768 : i64, shared_bytes = 32896 : i64} {
  %x = warp.alloc offset(0) : !parts
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      %f = warp.fill 1.0 : bf16 -> !warp.fragment<128x64xbf16>
      %g = warp.fill 1.0 : bf16 -> !warp.fragment<128x128xbf16>
      warp.await_turn
      warp.pass_turn
      %n = warp.alias %x : !parts -> !narrow
      warp.emit %f via %n to %o[%b, %h, %i] : !warp.fragment<128x64xbf16>, !narrow, !view
      warp.emit %g via %x to %w[%b, %h, %i] : !warp.fragment<128x128xbf16>, !parts, !odd
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>

// Rings of one and two slots need no compare. What is carried comes in behind the tile's number and count.
// CHECK-LABEL: llvm.func @advance(
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[THREE:.+]] = arith.constant 3 : i32
// CHECK:       ^[[HEADER:.+]](%{{.+}}: i32, %{{.+}}: i32, %[[P1:.+]]: i32, %[[S2:.+]]: i32, %[[P2:.+]]: i32, %[[S3:.+]]: i32, %[[P3:.+]]: i32):
// Longest first: sections of heads whose keys fit the L2 cache together, and in each the last query block first.
// CHECK:         %[[HEADS:.+]] = arith.minui
// CHECK-NEXT:    %[[FROM_LAST:.+]] = arith.divui %{{.+}}, %[[HEADS]]
// CHECK-NEXT:    arith.remui %{{.+}}, %[[HEADS]]
// CHECK-NEXT:    %[[LAST:.+]] = arith.subi %{{.+}}, %[[ONE]]
// CHECK-NEXT:    arith.subi %[[LAST]], %[[FROM_LAST]]
// CHECK:         "atom.global.add.u32
// CHECK-DAG:     %[[P1N:.+]] = arith.xori %[[P1]], %[[ONE]]
// CHECK-DAG:     %[[S2N:.+]] = arith.xori %[[S2]], %[[ONE]]
// CHECK-DAG:     %[[P2N:.+]] = arith.xori %[[P2]], %[[S2]]
// CHECK-DAG:     %[[SUM:.+]] = arith.addi %[[S3]], %[[ONE]]
// CHECK-DAG:     %[[WRAPS:.+]] = arith.cmpi eq, %[[SUM]], %[[THREE]]
// CHECK-DAG:     %[[S3N:.+]] = arith.select %[[WRAPS]], %[[ZERO]], %[[SUM]]
// CHECK-DAG:     %[[FLIP:.+]] = arith.extui %[[WRAPS]] : i1 to i32
// CHECK-DAG:     %[[P3N:.+]] = arith.xori %[[P3]], %[[FLIP]]
// CHECK:         llvm.br ^[[HEADER]](%{{.+}}, %{{.+}}, %[[P1N]], %[[S2N]], %[[P2N]], %[[S3N]], %[[P3N]] :
warp.kernel @advance(%q: !view, %k: !view, %v: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 24672 : i64, shared_bytes = 24832 : i64} {
  %r1 = warp.ring offset(0) barriers(24576) : !warp.ring<32x64xf16, 64, depth = 1>
  %r2 = warp.ring offset(4096) barriers(24592) : !warp.ring<32x64xf16, 64, depth = 2>
  %r3 = warp.ring offset(12288) barriers(24624) : !warp.ring<32x64xf16, 64, depth = 3>
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    %r:5 = warp.tiles longest_first inits(%c0, %c0, %c0, %c0, %c0 : i32, i32, i32, i32, i32) -> i32, i32, i32, i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %p1: i32, %s2: i32, %p2: i32, %s3: i32, %p3: i32):
      %z = arith.constant 0 : i32
      warp.send %k[%b, %h, %i] to %r1 at(%z, %p1) : !view, !warp.ring<32x64xf16, 64, depth = 1>
      warp.send %k[%b, %h, %i] to %r2 at(%s2, %p2) : !view, !warp.ring<32x64xf16, 64, depth = 2>
      warp.send %k[%b, %h, %i] to %r3 at(%s3, %p3) : !view, !warp.ring<32x64xf16, 64, depth = 3>
      %s1n, %p1n = warp.advance %z, %p1 depth(1)
      %s2n, %p2n = warp.advance %s2, %p2 depth(2)
      %s3n, %p3n = warp.advance %s3, %p3 depth(3)
      warp.end_tile %p1n, %s2n, %p2n, %s3n, %p3n : i32, i32, i32, i32, i32
    }
  }
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x16xf16, strided<[?, ?, ?, 1], offset: ?>>

// Tiles that are computed again, by mma.sync: pairs of columns for Q and for K by rows, for V two elements of two rows each. What lies
// past the rows or the limit is zero, and the head's first row is read instead.
// CHECK-LABEL: llvm.func @fetches(
// CHECK-SAME:    %[[Q:[^:]+]]: !llvm.ptr<1>,
// CHECK:         setmaxnreg.inc
// CHECK:         ld.shared.v4.b32
// CHECK:         %[[LIMIT:.+]] = arith.minsi
// CHECK:         %[[IN:.+]] = arith.cmpi slt, %{{.+}}, %[[LIMIT]]
// CHECK:         %[[ROW:.+]] = arith.select %[[IN]], %{{.+}}, %{{.+}} : i32
// CHECK:         %[[P:.+]] = llvm.getelementptr %[[Q]][%{{.+}}]
// CHECK-NEXT:    %[[X:.+]] = llvm.load %[[P]] : !llvm.ptr<1> -> i32
// CHECK-NEXT:    arith.select %[[IN]], %[[X]], %{{.+}} : i32
// CHECK-COUNT-3: llvm.load {{.*}} -> i32
// CHECK-COUNT-4: llvm.load {{.*}} -> i32
// CHECK:         nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK:         nvvm.mma.sync
// CHECK-COUNT-8: llvm.load {{.*}} -> i16
// CHECK:         nvvm.mma.sync
// CHECK:         nvvm.mma.sync
// CHECK-NOT:     nvvm.mma.sync
warp.kernel @fetches(%q: !view, %k: !view, %v: !view, %lse: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 0 : i64, shared_bytes = 128 : i64} {
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.role consumer registers(240) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      %zero = warp.fill 0.0 : f32 -> !warp.fragment<64x16xf32>
      %none = warp.fill 0.0 : f32 -> !warp.fragment<64xf32>
      %x = warp.fetch %q[%b, %h, %i] limit(%b) : !view -> !warp.fragment<64x16xf16>
      %s = warp.mma_fetch %x, %k[%b, %h, %i] acc(%zero) transpose_b : !warp.fragment<64x16xf16>, !view -> !warp.fragment<64x16xf32>
      %o = warp.mma_fetch %x, %v[%b, %h, %i] acc(%s) : !warp.fragment<64x16xf16>, !view -> !warp.fragment<64x16xf32>
      %m = warp.reduce max %o init(%none) : !warp.fragment<64x16xf32>, !warp.fragment<64xf32>
      warp.store_rows %m to %lse[%b, %h, %i] : !warp.fragment<64xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x128xf16, strided<[?, ?, ?, 1], offset: ?>>
!vr = !warp.ring<48x128xf16, 64, depth = 1>

// The group's threads clear the rows from `first` on, where there are any: 16 bytes of each segment (48 rows of 128 bytes) in every 16th
// row. Then the tensor cores may read it. Behind a loop the tile's coordinates are read anew.
// CHECK-LABEL: llvm.func @clears(
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[ROWS:.+]] = arith.constant 48 : i32
// CHECK-DAG:     %[[C16:.+]] = arith.constant 16 : i32
// CHECK:         setmaxnreg.inc
// CHECK:         "ld.shared.v4.b32 {$0, $1, $2, _}, [$3];"
// CHECK:         scf.for
// CHECK:           %[[FIRST:.+]] = arith.maxsi %{{.+}}, %[[ZERO]] : i32
// CHECK-NEXT:      %[[SOME:.+]] = arith.cmpi slt, %[[FIRST]], %[[ROWS]] : i32
// CHECK-NEXT:      scf.if %[[SOME]] {
// CHECK:             scf.for %{{.+}} = %{{.+}} to %[[ROWS]] step %[[C16]]
// CHECK:               "st.shared.v4.b32 [$0 + 0], {$1, $1, $1, $1};", "r,r,~{memory}" %[[AT:.+]], %[[ZERO]] :
// CHECK-NEXT:          "st.shared.v4.b32 [$0 + 6144], {$1, $1, $1, $1};", "r,r,~{memory}" %[[AT]], %[[ZERO]] :
// CHECK-NEXT:        }
// CHECK-NEXT:        "fence.proxy.async.shared::cta;", "~{memory}"
// CHECK:             "bar.sync $0, 128;", "r,~{memory}"
// CHECK-NEXT:      }
// CHECK:         "mov.u32 $0, %tid.x;"
// CHECK:         "ld.shared.v4.b32 {$0, $1, $2, _}, [$3];"
warp.kernel @clears(%q: !view, %k: !view, %v: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64, queue = 12304 : i64, shared_bytes = 12416 : i64} {
  %vr = warp.ring offset(0) barriers(12288) : !vr
  warp.role producer registers(24) {
    warp.tiles {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile
    }
  }
  warp.role consumer registers(240) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : index
    %r:2 = warp.tiles inits(%c0, %c0 : i32, i32) -> i32, i32 {
    ^bb0(%b: index, %h: index, %i: index, %s: i32, %p: i32):
      scf.for %j = %b to %h step %c1 {
        %x = warp.receive %vr at(%s, %p) : !vr -> !warp.buffer<48x128xf16, 64>
        warp.clear_rows %x from %j : !warp.buffer<48x128xf16, 64>
        warp.release %x : !warp.buffer<48x128xf16, 64>
      }
      warp.end_tile %s, %p : i32, i32
    }
  }
  warp.return
}
