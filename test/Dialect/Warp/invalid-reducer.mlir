// RUN: flashc-opt %s --split-input-file --verify-diagnostics
//
// Kernels with a reducer: each sentence of the verifiers once.

// expected-error @+1 {{staging has 1 to 8 slots for 64 rows of f32 in groups of 8 columns, but this one has 2 of 32, 64 elements of 'f32'; round the columns up}}
func.func private @f(!warp.staging<32x64xf32, depth = 2>)

// -----

// expected-error @+1 {{ring has up to 256 values beside the rows of an undivided slot, in groups of 8, but this one has 60 and 1 parts; round the values up}}
func.func private @f(!warp.ring<64x64xf16, 64, depth = 1, values = 60>)

// -----

!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @packed(%x: !sums) attributes {q_block = 128 : i64, warps = 8 : i64} {
  %b, %h, %i = warp.program
  // expected-error @+1 {{has packed sums as four warps hold 64 whole rows, but the fragment is '!warp.fragment<64x64xf32>', the view 'memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>' and there are 8 warps; use blocks of 64 rows}}
  %s = warp.load_sums %x[%b, %h, %i] packed : !sums -> !warp.fragment<64x64xf32>
  warp.return
}

// -----

!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @stored(%x: !sums) attributes {q_block = 128 : i64, warps = 4 : i64} {
  %b, %h, %i = warp.program
  %s = warp.load_sums %x[%b, %h, %i] : !sums -> !warp.fragment<128x64xf32>
  // expected-error @+1 {{has packed sums as four warps hold 64 whole rows, but the fragment is '!warp.fragment<128x64xf32>', the view 'memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>' and there are 4 warps; use blocks of 64 rows}}
  warp.store_sums %s to %x[%b, %h, %i] : !warp.fragment<128x64xf32>, !sums
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @both(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role producer registers(24) {
  }
  // expected-error @+1 {{loads what its kernel's groups read, but there is a producer, too; leave out one}}
  warp.role reducer registers(72) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @registers(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role reducer registers(80) {
  }
  // expected-error @+1 {{and the reducer ask for 80 + 2 * 216 = 512 registers, but a block of 3 warpgroups is launched with 3 * 168 = 504; lower one of them}}
  warp.role consumer registers(216) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @acquire(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %r = warp.ring : !ring
  warp.role consumer registers(216) {
    // expected-error @+1 {{names the group's own part of a slot, but the ring has 1 parts for 2 groups; give it a part for each}}
    %a = warp.acquire %r : !ring -> !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @commit(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %a = warp.alloc : !warp.buffer<128x64xf16, 64, parts = 2>
  warp.role consumer registers(216) {
    // expected-error @+1 {{hands over what 'warp.acquire' named, but the buffer comes from elsewhere; commit an acquired one}}
    warp.commit %a : !warp.buffer<128x64xf16, 64, parts = 2>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<64x64xf16, 64, depth = 1>
warp.kernel @no_room(%x: !view, %rows: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>)
    attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %r = warp.ring : !ring
  warp.role reducer registers(72) {
    // expected-error @+1 {{brings the values that its ring has room for, but there is no room; give the ring 'values' or leave them out}}
    warp.send %x[%i, %i, %i] values(%rows : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>) to %r : !view, !ring
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<64x64xf16, 64, depth = 1>
!slot = !warp.buffer<64x64xf16, 64>
warp.kernel @no_values(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %r = warp.ring : !ring
  warp.role consumer registers(216) {
    %s = warp.receive %r : !ring -> !slot
    // expected-error @+1 {{reads the values beside a received slot as column values, but there are 0 and the result is '!warp.fragment<1x64xf32, of 128>'; receive the slot from a ring with as many 'values'}}
    %v = warp.read_values %s : !slot -> !warp.fragment<1x64xf32, of 128>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.buffer<128x64xf16, 64, parts = 2>
warp.kernel @transposed(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %a = warp.alloc : !keys
  warp.role consumer registers(216) {
    // expected-error @+1 {{transposes A, and has a part of the product as its result, in the reducer, with A in shared memory and B as it is; leave out transpose_a, origin or transpose_b}}
    %d = warp.wgmma %a, %a transpose_a depth(128) : !keys, !keys -> !warp.fragment<128x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!keys = !warp.buffer<128x64xf16, 64, parts = 2>
warp.kernel @origin(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %a = warp.alloc : !keys
  warp.role reducer registers(72) {
    // expected-error @+1 {{begins at a row that is a multiple of 64 and in one segment of 64 columns, or at its first, but origin is [0, 48] and there are 32 columns; use (0, 64) or the like}}
    %d = warp.wgmma %a, %a transpose_a depth(128) origin([0, 48]) : !keys, !keys -> !warp.fragment<64x32xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @no_groups(%x: !view) attributes {q_block = 64 : i64, warps = 4 : i64} {
  // expected-error @+1 {{belongs to a reducer, but the kernel has no 'groups'; use 'warp.add_sums'}}
  %s = warp.staging : !warp.staging<64x64xf32, depth = 2>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @offset(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  // expected-error @+1 {{has its slots at a multiple of 128 bytes, but at 64; run 'warp-allocate-shared'}}
  %s = warp.staging offset(64) : !warp.staging<64x64xf32, depth = 2>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!room = !warp.staging<64x64xf32, depth = 2>
warp.kernel @rows(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %s = warp.staging : !room
  warp.role reducer registers(72) {
    %f = warp.fill 0.0 : f32 -> !warp.fragment<128x64xf32>
    // expected-error @+1 {{stages 64 rows of f32, but the fragment is '!warp.fragment<128x64xf32>'; stage a product of the reducer}}
    warp.stage_sums %f to %s slot(0) : !warp.fragment<128x64xf32>, !room
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!room = !warp.staging<64x64xf32, depth = 2>
warp.kernel @slot(%x: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %s = warp.staging : !room
  warp.role reducer registers(72) {
    %f = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{moves columns in groups of 8 through a slot, but the room is '!warp.staging<64x64xf32, depth = 2>', the slot 2 and there are 64 columns; use a wider slot that is there}}
    warp.stage_sums %f to %s slot(2) : !warp.fragment<64x64xf32>, !room
  }
  warp.return
}

// -----

!sums = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
!room = !warp.staging<64x64xf32, depth = 2>
warp.kernel @columns(%x: !sums) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %i = arith.constant 0 : index
  %s = warp.staging : !room
  warp.role reducer registers(72) {
    // expected-error @+1 {{adds to whole groups of 8 columns of f32 sums, but the view is 'memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>' and the columns are 32 to 95; choose columns that are there}}
    warp.send_sums %s slot(0) to %x[%i, %i, %i] columns(32, 64) : !room, !sums
  }
  warp.return
}
