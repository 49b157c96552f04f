// RUN: flashc --backward --head-dim=192 --head-dim-v=128 --arch=sm_90a --emit=warp | FileCheck %s
// RUN: flashc --backward --head-dim=256 --mask=causal --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=PTX
//
// The main kernel of a backward whose groups share the results: of 64 keys one has dV and the scores, which pass to the other in 16 bits,
// and the other dK. The reducer adds parts of dQ from registers. Each group receives a block in the pair that first reads it.

// CHECK-LABEL: warp.kernel @attention_backward(
// CHECK-SAME:    groups = 2 : i64, q_block = 64 : i64
// CHECK:         %[[KR:.+]] = warp.ring {{.+}} : !warp.ring<64x192xf16, 64, depth = 1>
// CHECK:         %[[VR:.+]] = warp.ring {{.+}} : !warp.ring<64x128xf16, 64, depth = 1>
// CHECK:         %[[QR:.+]] = warp.ring {{.+}} : !warp.ring<64x192xf16, 64, depth = 3, values = 64>
// CHECK:         %[[DOR:.+]] = warp.ring {{.+}} : !warp.ring<64x128xf16, 64, depth = 3, values = 64>
// CHECK:         %[[DSR:.+]] = warp.ring {{.+}} : !warp.ring<64x64xf16, 64, depth = 2>
// CHECK:         %[[PR:.+]] = warp.ring {{.+}} : !warp.ring<64x64xf16, 64, depth = 2>
// CHECK:         warp.role reducer registers(72)
// CHECK:           scf.for
// CHECK:             %[[DS:.+]] = warp.receive %[[DSR]]
// CHECK:             %[[D0:.+]] = warp.wgmma %[[DS]], %{{.+}} transpose_a depth(64) origin([0, 0])
// CHECK:             warp.send {{.+}} to %[[DOR]]
// CHECK:             %[[D0S:.+]] = warp.settle %[[D0]] pending(0)
// CHECK-NEXT:        warp.add_packed %[[D0S]] to %{{.+}} first(0)
// CHECK:             warp.wgmma {{.+}} origin([0, 64])
// CHECK:             warp.send {{.+}} to %[[QR]]
// CHECK:             warp.add_packed {{.+}} first(64)
// CHECK:             warp.wgmma {{.+}} origin([0, 128])
// CHECK-NEXT:        warp.settle
// CHECK-NEXT:        warp.release %[[DS]]
// CHECK-NEXT:        warp.add_packed {{.+}} first(128)
// CHECK:         warp.role consumer group(0) registers(216)
// CHECK-NOT:       warp.receive %[[VR]]
// CHECK:           scf.for
// CHECK:             %[[DO:.+]] = warp.receive %[[DOR]]
// CHECK:             math.exp2
// CHECK:             %[[P:.+]] = warp.acquire %[[PR]]
// CHECK:             warp.store {{.+}} to %[[P]]
// CHECK-NEXT:        warp.commit %[[P]]
// CHECK-NEXT:        %[[DV:.+]] = warp.wgmma {{.+}}, %[[DO]] acc
// CHECK:             %[[Q1:.+]] = warp.receive %[[QR]]
// CHECK:             warp.wgmma {{.+}}, %[[Q1]] transpose_b
// CHECK:             warp.settle %[[DV]] pending(1)
// CHECK-NEXT:        warp.release %[[DO]]
// CHECK:           %[[END:.+]] = warp.receive %[[DOR]]
// CHECK:           warp.release %[[END]]
// CHECK:           %[[ROOM:.+]] = warp.reclaim %[[VR]]
// CHECK-NEXT:      warp.emit {{.+}} via %[[ROOM]]
// CHECK:         warp.role consumer group(1) registers(216)
// CHECK-NOT:       warp.receive %[[KR]]
// CHECK:           scf.for
// CHECK:             %[[Q:.+]] = warp.receive %[[QR]]
// CHECK:             %[[P2:.+]] = warp.receive %[[PR]]
// CHECK:             warp.load %[[P2]]
// CHECK-NEXT:        warp.release %[[P2]]
// CHECK:             %[[W:.+]] = warp.acquire %[[DSR]]
// CHECK:             warp.store {{.+}} to %[[W]]
// CHECK-NEXT:        %[[DK:.+]] = warp.wgmma {{.+}}, %[[Q]] acc
// CHECK-NEXT:        warp.commit %[[W]]
// CHECK:             %[[DO1:.+]] = warp.receive %[[DOR]]
// CHECK:             warp.wgmma {{.+}}, %[[DO1]] transpose_b
// CHECK:             warp.settle %[[DK]] pending(1)
// CHECK-NEXT:        warp.release %[[Q]]
// CHECK:           warp.reclaim %[[KR]]
// CHECK-NEXT:      warp.emit

// Barriers: a slot of K is given back by the reducer and one group, one of Q by all lanes of two; three roles begin where a warp's number
// says. P comes back by ldmatrix, without a proxy fence in front of its hand-over.
// PTX-LABEL: .entry attention_backward(
// PTX:         mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 1;
// PTX-NEXT:    // end inline asm
// PTX:         mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 8;
// PTX:         mbarrier.init.shared::cta.b64 [%r{{[0-9]+}}], 256;
// PTX:         setmaxnreg.dec.sync.aligned.u32 72;
// PTX:         red.global.add.v4.f32
// PTX:         setmaxnreg.inc.sync.aligned.u32 216;
// PTX:         stmatrix
// PTX-NOT:     fence.proxy.async
// PTX:         mbarrier.arrive
// PTX:         bar.sync
// PTX:         setmaxnreg.inc.sync.aligned.u32 216;
// PTX:         ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX:         fence.proxy.async
// PTX:         bar.sync
