// RUN: flashc --backward --head-dim=64 --mask=none --heads=8 --arch=sm_80 --tiles=64x128 --warps=8 --emit=warp | FileCheck %s
// RUN: flashc --backward --deterministic --head-dim=64 --mask=none --heads=8 --arch=sm_80 --tiles=64x128 --warps=8 --emit=warp | FileCheck %s --check-prefix=DET
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
// CHECK:           %[[Q:.+]] = warp.get %[[QS]]
// CHECK:           warp.mma %{{.+}}, %[[Q]] acc(%{{.+}}) transpose_b
// CHECK:           math.exp2
// CHECK:           %[[DELTA:.+]] = warp.load_values
// CHECK:           %[[START:.+]] = warp.map ins({{.*}}%[[DELTA]]
// CHECK:           %[[DO:.+]] = warp.get %[[DOS]]
// CHECK:           warp.mma %{{.+}}, %[[DO]] acc(%[[START]]) transpose_b
// CHECK:           warp.store %[[DSR:.+]] to %[[DS]]
// CHECK:           warp.mma %{{.+}}, %[[DO]] acc
// CHECK:           warp.mma %[[DSR]], %[[Q]] acc
// CHECK:           warp.barrier
// CHECK:           %[[DQ:.+]] = warp.mma %[[DS]], %{{.+}} acc(%{{.+}}) transpose_a
// CHECK:           warp.add_sums %[[DQ]] to

// CHECK-LABEL: warp.kernel @attention_backward_dq(
// CHECK:         warp.load_sums
// CHECK:         warp.copy_out

// DET-LABEL: warp.kernel @attention_backward(
// DET-NOT:     transpose_a
// DET-LABEL: warp.kernel @attention_backward_dq(
// DET-SAME:    q_block = 128 : i64
// DET-NOT:     add_sums
// DET:         warp.mma {{.+}} -> !warp.fragment<128x64xf32>
// DET:         warp.copy_out
