// RUN: flashc --backward --head-dim=64 --mask=causal --arch=sm_90a --emit=warp --schedule='#tile.schedule<q = 128, kv = 128, stages = 3, warps = 8, q_in_registers = false, sram = 232448, roles = <groups = 2, producer = 72, consumer = 216, overlap = true, turns = false, rescale = always, apart = false, ahead = false, skip = false>>' | FileCheck %s
// RUN: flashc --backward --deterministic --head-dim=64 --mask=causal --arch=sm_90a --emit=warp | FileCheck %s --check-prefix=ORDERED
// RUN: flashc --backward --deterministic --head-dim=128 --mask=causal --arch=sm_90a --emit=warp | FileCheck %s --check-prefix=WIDE
//
// The main kernel of a backward whose warps have roles. The reducer sends ahead, under conditions, multiplies dS^T K in two parts and
// adds each up; the consumer does the rest and writes dS to a ring.

// CHECK-LABEL: warp.kernel @attention_backward_delta(
// CHECK:         warp.program descending
// CHECK-COUNT-2: warp.copy_in
// CHECK-NEXT:    warp.store_sums
// CHECK-COUNT-2: warp.store_rows

// CHECK-LABEL: warp.kernel @attention_backward(
// CHECK-SAME:    groups = 2 : i64
// CHECK:         %[[KR:.+]] = warp.ring {{.+}} : !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
// CHECK:         %[[VR:.+]] = warp.ring {{.+}} : !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
// CHECK:         %[[DOR:.+]] = warp.ring {{.+}} : !warp.ring<128x64xf16, 64, depth = 3, values = 128>
// CHECK:         %[[QR:.+]] = warp.ring {{.+}} : !warp.ring<128x64xf16, 64, depth = 3, values = 128>
// CHECK:         %[[DSR:.+]] = warp.ring {{.+}} : !warp.ring<128x128xf16, 64, depth = 2, parts = 2>
// CHECK-NOT:     warp.staging
// CHECK:         warp.role reducer registers(72)
// CHECK:           warp.send {{.+}} to %[[KR]]
// CHECK:           warp.send {{.+}} values({{.+}}) to %[[QR]]
// CHECK:           warp.send {{.+}} to %[[VR]]
// CHECK:           scf.if
// CHECK:             warp.send {{.+}} values({{.+}}) to %[[DOR]]
// CHECK:           %[[K:.+]] = warp.receive %[[KR]]
// CHECK:           scf.for
// CHECK:             %[[ROW:.+]] = arith.muli {{.+}}, %c128
// CHECK-NEXT:        %[[HEAD:.+]] = arith.addi
// CHECK-NEXT:        %[[DS:.+]] = warp.receive %[[DSR]]
// CHECK:             %[[D0:.+]] = warp.wgmma %[[DS]], %[[K]] transpose_a depth(128) origin([0, 0])
// CHECK-NEXT:        %[[D0S:.+]] = warp.settle %[[D0]] pending(0)
// CHECK-NEXT:        warp.add_packed %[[D0S]] to %{{.+}}[%{{.+}}, %[[HEAD]], %[[ROW]]] first(0)
// CHECK-NEXT:        %[[D1:.+]] = warp.wgmma %[[DS]], %[[K]] transpose_a depth(128) origin([64, 0])
// CHECK:             scf.if
// CHECK:               warp.send {{.+}} to %[[DOR]]
// CHECK:             %[[ROW1:.+]] = arith.addi %[[ROW]], %c64
// CHECK:             %[[D1S:.+]] = warp.settle %[[D1]] pending(0)
// CHECK-NEXT:        warp.release %[[DS]]
// CHECK-NEXT:        warp.add_packed %[[D1S]] to %{{.+}}[%{{.+}}, %[[HEAD]], %[[ROW1]]] first(0)
// CHECK:         warp.role consumer registers(216)
// CHECK:           scf.for {{.+}} iter_args(
// CHECK:             math.exp2
// CHECK:             %[[DO:.+]] = warp.receive %[[DOR]]
// CHECK:             %[[DP:.+]] = warp.wgmma {{.+}}, %[[DO]] transpose_b
// CHECK:             %[[DV:.+]] = warp.wgmma {{.+}}, %[[DO]] acc
// CHECK:             %[[Q1:.+]] = warp.receive %[[QR]]
// CHECK:             %[[W:.+]] = warp.acquire %[[DSR]]
// CHECK:             warp.settle %[[DP]] pending(1)
// CHECK-NEXT:        warp.read_values %[[DO]]
// CHECK:             warp.store {{.+}} to %[[W]]
// CHECK-NEXT:        %[[DK:.+]] = warp.wgmma {{.+}}, %[[Q:[^ ]+]] acc
// CHECK-NEXT:        warp.commit %[[W]]
// CHECK:             warp.settle %[[DV]] pending(1)
// CHECK-NEXT:        warp.release %[[DO]]
// CHECK:             warp.wgmma {{.+}}, %[[Q1]] transpose_b
// CHECK-NEXT:        warp.read_values %[[Q1]]
// CHECK:             warp.settle %[[DK]] pending(1)
// CHECK-NEXT:        warp.release %[[Q]]
// dV leaves by the bytes of V and dK by those of K, which the reducer reads, too.
// CHECK:           %[[OFV:.+]] = warp.reclaim %[[VR]]
// CHECK-NEXT:      warp.emit {{.+}} via %[[OFV]]
// CHECK:           %[[OFK:.+]] = warp.reclaim %[[KR]]
// CHECK-NEXT:      warp.emit {{.+}} via %[[OFK]]

// CHECK-LABEL: warp.kernel @attention_backward_dq(
// CHECK:         warp.load_sums {{.+}} packed
// What is not finite again, each warp by itself; a key block's dV and dK by all warps, whose stores wait for each other.
// CHECK:         scf.if
// CHECK:           warp.fetch
// CHECK:           warp.mma_fetch {{.+}} transpose_b
// CHECK:           warp.mma_fetch {{.+}} guarded
// CHECK:         %[[ROWS:.+]] = warp.load_values {{.+}} -> !warp.fragment<1x64xf32, of 64>
// CHECK:         %[[ANY:.+]] = warp.any_not_finite %[[ROWS]]
// CHECK:         scf.if %[[ANY]] {
// CHECK-NOT:       warp.channel
// CHECK:           warp.mma_fetch {{.+}} guarded
// CHECK:           warp.barrier
// CHECK-NEXT:      warp.wait pending(0)
// CHECK:           warp.copy_out
// CHECK:           warp.mma_fetch {{.+}} guarded
// CHECK:           warp.copy_out

// Sums in a fixed order: a pair's turn ends behind the start of the product for the next pair's second part, by when its additions are
// done, and in front of the wait for the next turn.
// ORDERED-LABEL: warp.kernel @attention_backward(
// ORDERED:         %batch, %head, %[[N:.+]] = warp.program longest_first abreast(512)
// ORDERED:         scf.for
// ORDERED:           warp.wgmma {{.+}} origin([0, 0])
// ORDERED:           scf.if
// ORDERED-NEXT:        %[[R1:.+]] = arith.addi %[[R0:.+]], %c64
// ORDERED-NEXT:        warp.send_sums {{.+}}, %[[H0:.+]], %[[R1]]]
// ORDERED:           warp.wgmma {{.+}} origin([64, 0])
// ORDERED-NEXT:      scf.if
// ORDERED-NEXT:        warp.end_sums %[[T:.+]][%batch, %[[H0]], %[[R0]]] number(%[[N]])
// ORDERED-NEXT:      }
// ORDERED-NEXT:      warp.begin_sums %[[T]][%batch, %[[H:.+]], %[[R:.+]]] number(%[[N]])
// ORDERED-NEXT:      warp.send_sums {{.+}}, %[[H]], %[[R]]]
// ORDERED:         warp.stage_sums {{.+}} slot(1)
// ORDERED:         scf.if
// ORDERED:           warp.send_sums
// ORDERED-NEXT:      warp.end_sums
// ORDERED-LABEL: warp.kernel @attention_backward_dq(
// ORDERED:         warp.load_sums

// WIDE-LABEL: warp.kernel @attention_backward(
// WIDE:         scf.for
// WIDE:           warp.wgmma {{.+}} origin([0, 0])
// WIDE:           scf.if
// WIDE-NEXT:        warp.send_sums {{.+}} columns(64, 64)
// WIDE:           warp.wgmma {{.+}} origin([0, 64])
// WIDE-NEXT:      scf.if
// WIDE-NEXT:        warp.end_sums
// WIDE-NEXT:      }
// WIDE-NEXT:      warp.begin_sums
// WIDE-NEXT:      warp.send_sums {{.+}} columns(0, 64)
