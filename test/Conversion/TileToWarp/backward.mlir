// RUN: flashc --backward --head-dim=64 --mask=none --heads=8 --arch=sm_80 --emit=warp \
// RUN:     --schedule='#tile.schedule<q = 64, kv = 128, stages = 2, warps = 8, q_in_registers = false, sram = 166912>' | FileCheck %s
// RUN: flashc --backward --deterministic --head-dim=64 --mask=none --heads=8 --arch=sm_80 --tiles=64x128 --warps=8 --emit=warp | FileCheck %s --check-prefix=DET
// RUN: flashc --backward --head-dim=128 --mask=none --heads=8 --arch=sm_80 --emit=warp \
// RUN:     --schedule='#tile.schedule<q = 64, kv = 128, stages = 2, warps = 8, q_in_registers = false, sram = 166912, warp_rows = 32>' | FileCheck %s --check-prefix=WIDE
//
// The main kernel goes over query blocks; dS passes through shared memory behind the products that need no other warp's part of it, and
// dQ's columns are dealt to two groups of warps.

// CHECK-LABEL: warp.kernel @attention_backward_delta(
// CHECK-SAME:    q_block = 64 : i64
// CHECK-SAME:    warps = 4 : i64
// CHECK:         warp.reduce add
// CHECK:         warp.store_rows

// CHECK-LABEL: warp.kernel @attention_backward(
// CHECK-SAME:    grid = array<i64: 1, 0, 1, 1, 1, 2>, q_block = 128 : i64
// CHECK-COUNT-2: warp.copy_in
// CHECK:         %[[QS:.+]] = warp.channel
// CHECK:         %[[DOS:.+]] = warp.channel
// CHECK:         %[[DS:.+]] = warp.alloc {{.*}}!warp.buffer<128x64xf16, 64>
// CHECK:         scf.for
// CHECK:           warp.load_values {{.+}} -> !warp.fragment<1x64xf32, of 128>
// CHECK:           %[[DELTA:.+]] = warp.load_values
// CHECK:           %[[Q:.+]] = warp.get %[[QS]]
// CHECK-NEXT:      %[[DO:.+]] = warp.get %[[DOS]]
// CHECK:           warp.mma %{{.+}}, %[[Q]] acc(%{{.+}}) transpose_b
// CHECK:           math.exp2
// CHECK:           %[[START:.+]] = warp.map ins({{.*}}%[[DELTA]]
// CHECK:           warp.mma %{{.+}}, %[[DO]] acc(%[[START]]) transpose_b
// CHECK:           warp.store %[[DSR:.+]] to %[[DS]]
// CHECK:           warp.mma %{{.+}}, %[[DO]] acc
// CHECK:           warp.mma %[[DSR]], %[[Q]] acc
// CHECK:           warp.barrier
// CHECK:           %[[DQ:.+]] = warp.mma %[[DS]], %{{.+}} acc(%{{.+}}) transpose_a
// CHECK:           warp.add_sums %[[DQ]] to {{.+}} fragment_order

// CHECK-LABEL: warp.kernel @attention_backward_dq(
// CHECK:         warp.load_sums {{.+}} fragment_order
// CHECK:         warp.copy_out

// DET-LABEL: warp.kernel @attention_backward(
// DET-NOT:     transpose_a
// DET-LABEL: warp.kernel @attention_backward_dq(
// DET-SAME:    q_block = 128 : i64
// DET-NOT:     add_sums
// DET:         warp.mma {{.+}} -> !warp.fragment<128x64xf32>
// DET:         warp.copy_out

// Warps of 32 rows: P too has its columns dealt to two groups of warps and passes through shared memory. One barrier is for both.
// WIDE-LABEL: warp.kernel @attention_backward(
// WIDE-SAME:    warp_rows = 32 : i64
// WIDE:         %[[P:.+]] = warp.alloc {{.*}}!warp.buffer<128x64xf16, 64>
// WIDE:         %[[DS:.+]] = warp.alloc {{.*}}!warp.buffer<128x64xf16, 64>
// WIDE:         scf.for
// WIDE:           warp.store %{{.+}} to %[[P]]
// WIDE:           warp.store %{{.+}} to %[[DS]]
// WIDE-NEXT:      warp.barrier
// WIDE-NEXT:      warp.mma %[[P]]
// WIDE-NEXT:      warp.mma %[[DS]]
// WIDE-NEXT:      warp.mma %[[DS]], %{{.+}} acc(%{{.+}}) transpose_a
