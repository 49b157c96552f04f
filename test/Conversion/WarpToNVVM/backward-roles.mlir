// RUN: flashc --backward --head-dim=64 --mask=causal --arch=sm_90a --emit=ptx --schedule='#tile.schedule<q = 128, kv = 128, stages = 3, warps = 8, q_in_registers = false, sram = 232448, roles = <groups = 2, producer = 72, consumer = 216, overlap = true, turns = false, rescale = always, apart = false, ahead = false, skip = false>>' | FileCheck %s
// RUN: flashc --backward --deterministic --head-dim=64 --mask=causal --arch=sm_90a --emit=ptx | FileCheck %s --check-prefix=ORDERED
// RUN: flashc --backward --head-dim=64 --arch=sm_89 --emit=ptx | FileCheck %s --check-prefix=OLD
//
// The main kernel of a backward whose warps have roles, as PTX: four warps beside the eight that compute, no counter of tiles; A and B
// transposed for dQ, additions of 16 bytes, dS through stmatrix and a proxy fence. Each kernel waits for the one before, which may end beside
// it, and a kernel of an older GPU does not.

// CHECK:     .entry attention_backward(
// CHECK:     .reqntid 384
// CHECK:     griddepcontrol.launch_dependents;
// CHECK:     griddepcontrol.wait;
// CHECK:     setmaxnreg.dec.sync.aligned.u32 72;
// CHECK:     cp.async.bulk.tensor.5d.shared::cluster.global
// CHECK:     cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes
// CHECK:     wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.+}}, da, db, 0, 1, 1, 1, 1;
// CHECK:     red.global.add.v4.f32
// CHECK:     bar.warp.sync -1;
// CHECK:     setmaxnreg.inc.sync.aligned.u32 216;
// CHECK:     ld.shared.v2.f32
// CHECK:     ex2.approx.ftz.f32
// CHECK:     stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK:     fence.proxy.async.shared::cta;
// CHECK:     bar.warp.sync -1;
// CHECK:     mbarrier.arrive.shared::cta.b64
// CHECK-NOT: atom.global

// Several blocks of the last kernel wait for memory together.
// CHECK:     .entry attention_backward_dq(
// CHECK:     .reqntid 128
// CHECK:     .minnctapersm 4
// CHECK:     ld.global.v4
// CHECK:     mma.sync

// Zeros for dQ's sum, by 16 bytes.
// ORDERED:     .entry attention_backward_delta(
// ORDERED:     st.global.v4

// Turns: additions of the turn before are done when its end is written. All lanes look at the number of the next.
// Blocks of so many heads in turns: 32 MiB of L2 by 512 bytes for each of 128 rows, over blocks of a head.
// ORDERED:     .entry attention_backward(
// ORDERED:     %laneid;
// ORDERED-NOT: %laneid
// ORDERED:     div.u32 %{{.+}}, 512,
// ORDERED-NOT: %laneid
// ORDERED:     cp.async.bulk.wait_group.read 1;
// ORDERED:     st.shared.v4.f32
// ORDERED:     cp.async.bulk.wait_group 0;
// ORDERED-NEXT: st.relaxed.gpu.global.b32
// ORDERED:     ld.relaxed.gpu.global.b32 turn,
// ORDERED-NEXT: setp.ne.b32 p, turn,
// ORDERED-NEXT: @p bra AGAIN
// ORDERED-NOT: bra
// ORDERED:     bar.warp.sync
// ORDERED:     fence.proxy.async.shared::cta;
// ORDERED:     cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32

// OLD-NOT: griddepcontrol
