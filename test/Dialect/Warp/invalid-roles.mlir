// RUN: flashc-opt %s --split-input-file --verify-diagnostics
//
// Kernels with roles: each sentence of the verifiers once.

// Types.

// expected-error @+1 {{ring has 1 to 64 slots, but this one has depth 0; use one of these}}
func.func private @f(!warp.ring<64x64xf16, 64, depth = 0>)

// -----

// expected-error @+1 {{ring has 1 to 64 slots, but this one has depth 65; use one of these}}
func.func private @f(!warp.ring<64x64xf16, 64, depth = 65>)

// -----

// expected-error @+1 {{ring is a tile in shared memory, but this one has rank 3; use rank 2}}
func.func private @f(!warp.ring<2x64x64xf16, 64, depth = 1>)

// -----

// expected-error @+1 {{ring holds f16 or bf16, but this one holds 'f32'; convert the elements first}}
func.func private @f(!warp.ring<64x64xf32, 64, depth = 1>)

// -----

// expected-error @+1 {{ring has rows in groups of 8 (the swizzle's period), but this one has 60; pad to a multiple of 8}}
func.func private @f(!warp.ring<60x64xf16, 64, depth = 1>)

// -----

// expected-error @+1 {{ring has whole segments in a row, but this one has 96 columns and segments of 64; use the largest segment that divides the columns}}
func.func private @f(!warp.ring<64x96xf16, 64, depth = 1>)

// -----

// expected-error @+1 {{ring is filled by TMA in boxes of at most 256 rows and segments of 64, but this one has 64 rows in 1 parts and segments of 32; choose smaller tiles}}
func.func private @f(!warp.ring<64x32xf16, 32, depth = 1>)

// -----

// expected-error @+1 {{ring is filled by TMA in boxes of at most 256 rows and segments of 64, but this one has 264 rows in 1 parts and segments of 64; choose smaller tiles}}
func.func private @f(!warp.ring<264x64xf16, 64, depth = 1>)

// -----

// expected-error @+1 {{ring has 1 to 8 parts of 64 rows in segments of 64, but this one has 2 parts of 192 rows together in segments of 64; give each warpgroup 64 rows}}
func.func private @f(!warp.ring<192x64xf16, 64, depth = 1, parts = 2>)

// -----

// expected-error @+1 {{ring has 1 to 8 parts of 64 rows in segments of 64, but this one has 0 parts of 64 rows together in segments of 64; give each warpgroup 64 rows}}
func.func private @f(!warp.ring<64x64xf16, 64, depth = 1, parts = 0>)

// -----

// expected-error @+1 {{buffer has 1 to 8 parts of 64 rows in segments of 64, but this one has 9 parts of 576 rows together in segments of 64; give each warpgroup 64 rows}}
func.func private @f(!warp.buffer<576x64xf16, 64, parts = 9>)

// -----

// expected-error @+1 {{buffer has 1 to 8 parts of 64 rows in segments of 64, but this one has 2 parts of 128 rows together in segments of 32; give each warpgroup 64 rows}}
func.func private @f(!warp.buffer<128x32xf16, 32, parts = 2>)

// -----

// Kernels, roles, tiles.

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{'warp.kernel' op has 1 to 3 groups of four warps and 64 rows each, but there are 0 groups, 4 warps and 64 rows; make them agree}}
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 0 : i64} {
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{'warp.kernel' op has 1 to 3 groups of four warps and 64 rows each, but there are 4 groups, 16 warps and 256 rows; make them agree}}
warp.kernel @f(%q: !view) attributes {q_block = 256 : i64, warps = 16 : i64, groups = 4 : i64} {
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{'warp.kernel' op has 1 to 3 groups of four warps and 64 rows each, but there are 2 groups, 4 warps and 128 rows; make them agree}}
warp.kernel @f(%q: !view) attributes {q_block = 128 : i64, warps = 4 : i64, groups = 2 : i64} {
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{'warp.kernel' op has 1 to 3 groups of four warps and 64 rows each, but there are 1 groups, 4 warps and 128 rows; make them agree}}
warp.kernel @f(%q: !view) attributes {q_block = 128 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64} {
  // expected-error @+1 {{'warp.role' op divides the warps of a kernel with 'groups', but the kernel has none; give it the number of warpgroups that compute}}
  warp.role producer registers(24) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.role' op has 24 to 256 registers a thread in steps of 8, but this one has 16; round it}}
  warp.role producer registers(16) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.role' op has 24 to 256 registers a thread in steps of 8, but this one has 264; round it}}
  warp.role producer registers(264) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.role' op has 24 to 256 registers a thread in steps of 8, but this one has 36; round it}}
  warp.role producer registers(36) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %c1 = arith.constant 1 : index
  %n = memref.dim %q, %c1 : !view
  warp.role producer registers(24) {
    // expected-error @+1 {{'arith.addi' op uses a value of other warps' registers, 'index', but a role has its own; compute it inside the role}}
    %m = arith.addi %n, %c1 : index
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.role' op is the second producer of its kernel, but there is one of each, or one consumer for each group; join them}}
  warp.role producer registers(24) {
  }
  warp.role producer registers(24) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role producer registers(32) {
  }
  // expected-error @+1 {{'warp.role' op and the producer ask for 32 + 2 * 240 = 512 registers, but a block of 3 warpgroups is launched with 3 * 168 = 504; lower one of them}}
  warp.role consumer registers(240) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{'warp.tiles' op hands its body batch, head, query block and 1 carried values, but the body takes 3; add or drop arguments}}
    %r = warp.tiles inits(%c0 : i32) -> i32 {
    ^bb0(%b: index, %h: index, %i: index):
      warp.end_tile %c0 : i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.tiles' op hands its body 'index' as argument 1, but that is 'i32'; use the value's type}}
    warp.tiles {
    ^bb0(%b: index, %h: i32, %i: index):
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{'warp.tiles' op hands its body 'i32' as argument 3, but that is 'index'; use the value's type}}
    %r = warp.tiles inits(%c0 : i32) -> i32 {
    ^bb0(%b: index, %h: index, %i: index, %n: index):
      warp.end_tile %c0 : i32
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{'warp.tiles' op carries 1 values of its inits' types, but the body ends with 0 values; carry one for each}}
    %r = warp.tiles inits(%c0 : i32) -> i32 {
    ^bb0(%b: index, %h: index, %i: index, %n: i32):
      warp.end_tile
    }
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64} {
  // expected-error @+1 {{'warp.ring' op goes from role to role, but the kernel has no 'groups'; use 'warp.channel'}}
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.return
}

// -----

func.func @f() {
  // expected-error @+1 {{'warp.ring' op goes from role to role, but the kernel has no 'groups'; use 'warp.channel'}}
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.ring' op has its slots at a multiple of 1024 bytes, but at 512; run 'warp-allocate-shared'}}
  %r = warp.ring offset(512) : !warp.ring<64x64xf16, 64, depth = 1>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.ring' op has its barriers at a multiple of 8 bytes, but at 8196; run 'warp-allocate-shared'}}
  %r = warp.ring offset(0) barriers(8196) : !warp.ring<64x64xf16, 64, depth = 1>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.ring' op has its slots at a multiple of 1024 bytes, but at -1024; run 'warp-allocate-shared'}}
  %r = warp.ring offset(-1024) : !warp.ring<64x64xf16, 64, depth = 1>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  // expected-error @+1 {{'warp.ring' op has a part for each warpgroup that computes, but there are 2 parts and 1 groups; use 1 or 1 parts}}
  %r = warp.ring : !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %k: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.send' op copies elements as they are, but the view holds 'bf16' and the ring 'f16'; give both one element type}}
    warp.send %k[%b, %b, %b] to %r : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.ring<64x64xf16, 64, depth = 1>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %k: memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.send' op moves whole rows, but the view is 'memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>' and a slot has 64 columns; pad the ring to a multiple of 64 at or above a static head dim}}
    warp.send %k[%b, %b, %b] to %r : memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.ring<64x64xf16, 64, depth = 1>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %k: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.send' op moves whole rows, but the view is 'memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>' and a slot has 64 columns; pad the ring to a multiple of 64 at or above a static head dim}}
    warp.send %k[%b, %b, %b] to %r : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.ring<64x64xf16, 64, depth = 1>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index, %some: i1) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : index
    %k = scf.if %some -> (!view) {
      scf.yield %q : !view
    } else {
      scf.yield %q : !view
    }
    // expected-error @+1 {{'warp.send' op copies from or to a tensor of the kernel (TMA), but its view is no argument of the kernel; pass it}}
    warp.send %k[%b, %b, %b] to %r : !view, !warp.ring<64x64xf16, 64, depth = 1>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{'warp.send' op has stage and phase or neither, but only one is there; run 'warp-assign-stages'}}
    "warp.send"(%q, %b, %b, %b, %r, %c0) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 1, 0>}> : (!view, index, index, index, !warp.ring<64x64xf16, 64, depth = 1>, i32) -> ()
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.send' op belongs into the producer, but it is in consumer; move it into a 'warp.role producer'}}
    warp.send %q[%b, %b, %b] to %r : !view, !warp.ring<64x64xf16, 64, depth = 1>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  // expected-error @+1 {{'warp.send' op belongs into the producer, but it is in no role; move it into a 'warp.role producer'}}
  warp.send %q[%b, %b, %b] to %r : !view, !warp.ring<64x64xf16, 64, depth = 1>
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.receive' op names a slot of its ring, but a slot is '!warp.buffer<64x64xf16, 64>' and the result is '!warp.buffer<32x64xf16, 64>'; use the slot's type}}
    %k = warp.receive %r : !warp.ring<64x64xf16, 64, depth = 1> -> !warp.buffer<32x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role consumer registers(168) {
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{'warp.receive' op has stage and phase or neither, but only one is there; run 'warp-assign-stages'}}
    %k = "warp.receive"(%r, %c0) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!warp.ring<64x64xf16, 64, depth = 1>, i32) -> !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.skip' op belongs into the consumer, but it is in producer; move it into a 'warp.role consumer'}}
    warp.skip %r : !warp.ring<64x64xf16, 64, depth = 1>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role consumer registers(168) {
    %c0 = arith.constant 0 : i32
    // expected-error @+1 {{'warp.skip' op has stage and phase or neither, but only one is there; run 'warp-assign-stages'}}
    "warp.skip"(%r, %c0) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!warp.ring<64x64xf16, 64, depth = 1>, i32) -> ()
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.group' op belongs into the consumer, but it is in producer; move it into a 'warp.role consumer'}}
    %g = warp.group
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.receive' op belongs into the consumer, but it is in producer; move it into a 'warp.role consumer'}}
    %k = warp.receive %r : !warp.ring<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.release' op gives back what 'warp.receive' named, but the buffer comes from elsewhere; release a received one}}
    warp.release %x : !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op gives 64 rows of f32 a group and at most 256 columns, but the result is '!warp.fragment<128x64xf32>' and there are 1 groups; choose other tiles}}
    %s = warp.wgmma %x, %x transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op gives 64 rows of f32 a group and at most 256 columns, but the result is '!warp.fragment<64x64xf16>' and there are 1 groups; choose other tiles}}
    %s = warp.wgmma %x, %x transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf16>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op gives 64 rows of f32 a group and at most 256 columns, but the result is '!warp.fragment<64xf32>' and there are 1 groups; choose other tiles}}
    %s = warp.wgmma %x, %x transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op gives 64 rows of f32 a group and at most 256 columns, but the result is '!warp.fragment<64x264xf32>' and there are 1 groups; choose other tiles}}
    %s = warp.wgmma %x, %x transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x264xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %a = warp.fill 0.0 : f32 -> !warp.fragment<64x32xf32>
    // expected-error @+1 {{'warp.wgmma' op adds to a fragment of the result's type, but that is '!warp.fragment<64x64xf32>' and acc is '!warp.fragment<64x32xf32>'; use one type}}
    %s = warp.wgmma %x, %x acc(%a : !warp.fragment<64x32xf32>) transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op multiplies M x K by K x N into M x N in steps of 16, but the operands are '!warp.buffer<64x64xf16, 64>' and '!warp.buffer<64x64xf16, 64>', depth is 0 and the result '!warp.fragment<64x64xf32>'; make M, K and N agree}}
    %s = warp.wgmma %x, %x transpose_b depth(0) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op multiplies M x K by K x N into M x N in steps of 16, but the operands are '!warp.buffer<64x64xf16, 64>' and '!warp.buffer<64x64xf16, 64>', depth is 24 and the result '!warp.fragment<64x64xf32>'; make M, K and N agree}}
    %s = warp.wgmma %x, %x transpose_b depth(24) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op multiplies M x K by K x N into M x N in steps of 16, but the operands are '!warp.buffer<64x64xf16, 64>' and '!warp.buffer<64x64xf16, 64>', depth is 80 and the result '!warp.fragment<64x64xf32>'; make M, K and N agree}}
    %s = warp.wgmma %x, %x transpose_b depth(80) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<32x64xf16>
    // expected-error @+1 {{'warp.wgmma' op multiplies M x K by K x N into M x N in steps of 16, but the operands are '!warp.fragment<32x64xf16>' and '!warp.buffer<64x64xf16, 64>', depth is 64 and the result '!warp.fragment<64x64xf32>'; make M, K and N agree}}
    %s = warp.wgmma %f, %x depth(64) : !warp.fragment<32x64xf16>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : bf16 -> !warp.fragment<64x64xbf16>
    // expected-error @+1 {{'warp.wgmma' op multiplies M x K by K x N into M x N in steps of 16, but the operands are '!warp.fragment<64x64xbf16>' and '!warp.buffer<64x64xf16, 64>', depth is 64 and the result '!warp.fragment<64x64xf32>'; make M, K and N agree}}
    %s = warp.wgmma %f, %x depth(64) : !warp.fragment<64x64xbf16>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op multiplies M x K by K x N into M x N in steps of 16, but the operands are '!warp.buffer<64x64xf16, 64>' and '!warp.buffer<64x64xf16, 64>', depth is 64 and the result '!warp.fragment<64x128xf32>'; make M, K and N agree}}
    %s = warp.wgmma %x, %x transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x128xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x32xf16, 32>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.wgmma' op reads tiles with segments of 64 (128-byte swizzle), but the operands are '!warp.buffer<64x32xf16, 32>' and '!warp.buffer<64x32xf16, 32>'; use segments of 64}}
    %s = warp.wgmma %x, %x transpose_b depth(32) : !warp.buffer<64x32xf16, 32>, !warp.buffer<64x32xf16, 32> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role producer registers(24) {
    // expected-error @+1 {{'warp.wgmma' op belongs into the consumer, but it is in producer; move it into a 'warp.role consumer'}}
    %s = warp.wgmma %x, %x transpose_b depth(64) : !warp.buffer<64x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role consumer registers(168) {
    %a = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{'warp.settle' op waits for some fragments and leaves 0 or more products under way, but there are 1 fragments and 'pending' is -1; run 'warp-place-settles'}}
    %s = warp.settle %a pending(-1) : !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.settle' op waits for some fragments and leaves 0 or more products under way, but there are 0 fragments and 'pending' is 0; run 'warp-place-settles'}}
    "warp.settle"() <{pending = 0 : i64}> : () -> ()
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  warp.role producer registers(24) {
    %a = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{'warp.settle' op belongs into the consumer, but it is in producer; move it into a 'warp.role consumer'}}
    %s = warp.settle %a pending(0) : !warp.fragment<64x64xf32>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64xf16>
    // expected-error @+1 {{'warp.emit' op moves a tile through a buffer with a part for each group, but the fragment is '!warp.fragment<64xf16>', the buffer '!warp.buffer<64x64xf16, 64>' and the view 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>'; give them the same rows and element type}}
    warp.emit %f via %x to %q[%b, %b, %b] : !warp.fragment<64xf16>, !warp.buffer<64x64xf16, 64>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<32x64xf16>
    // expected-error @+1 {{'warp.emit' op moves a tile through a buffer with a part for each group, but the fragment is '!warp.fragment<32x64xf16>', the buffer '!warp.buffer<64x64xf16, 64>' and the view 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>'; give them the same rows and element type}}
    warp.emit %f via %x to %q[%b, %b, %b] : !warp.fragment<32x64xf16>, !warp.buffer<64x64xf16, 64>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x128xf16>
    // expected-error @+1 {{'warp.emit' op moves a tile through a buffer with a part for each group, but the fragment is '!warp.fragment<64x128xf16>', the buffer '!warp.buffer<64x64xf16, 64>' and the view 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>'; give them the same rows and element type}}
    warp.emit %f via %x to %q[%b, %b, %b] : !warp.fragment<64x128xf16>, !warp.buffer<64x64xf16, 64>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : bf16 -> !warp.fragment<64x64xbf16>
    // expected-error @+1 {{'warp.emit' op moves a tile through a buffer with a part for each group, but the fragment is '!warp.fragment<64x64xbf16>', the buffer '!warp.buffer<64x64xf16, 64>' and the view 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>'; give them the same rows and element type}}
    warp.emit %f via %x to %q[%b, %b, %b] : !warp.fragment<64x64xbf16>, !warp.buffer<64x64xf16, 64>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index, %o: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.emit' op moves a tile through a buffer with a part for each group, but the fragment is '!warp.fragment<64x64xf16>', the buffer '!warp.buffer<64x64xf16, 64>' and the view 'memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>'; give them the same rows and element type}}
    warp.emit %f via %x to %o[%b, %b, %b] : !warp.fragment<64x64xf16>, !warp.buffer<64x64xf16, 64>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<128x64xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<128x64xf16>
    // expected-error @+1 {{'warp.emit' op moves a tile through a buffer with a part for each group, but the fragment is '!warp.fragment<128x64xf16>', the buffer '!warp.buffer<128x64xf16, 64>' and the view 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>'; give them the same rows and element type}}
    warp.emit %f via %x to %q[%b, %b, %b] : !warp.fragment<128x64xf16>, !warp.buffer<128x64xf16, 64>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index, %o: memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x128xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.emit' op writes whole rows, but the view is 'memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>' and the fragment has 64 columns; pad the fragment to the head dim}}
    warp.emit %f via %x to %o[%b, %b, %b] : !warp.fragment<64x64xf16>, !warp.buffer<64x128xf16, 64>, memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index, %o: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x128xf16, 64>
  warp.role consumer registers(168) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.emit' op writes whole rows, but the view is 'memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>' and the fragment has 64 columns; pad the fragment to the head dim}}
    warp.emit %f via %x to %o[%b, %b, %b] : !warp.fragment<64x64xf16>, !warp.buffer<64x128xf16, 64>, memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role producer registers(24) {
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.emit' op belongs into the consumer, but it is in producer; move it into a 'warp.role consumer'}}
    warp.emit %f via %x to %q[%b, %b, %b] : !warp.fragment<64x64xf16>, !warp.buffer<64x64xf16, 64>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index, %some: i1) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  %r = warp.ring : !warp.ring<64x64xf16, 64, depth = 1>
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    %o = scf.if %some -> (!view) {
      scf.yield %q : !view
    } else {
      scf.yield %q : !view
    }
    %f = warp.fill 0.0 : f16 -> !warp.fragment<64x64xf16>
    // expected-error @+1 {{'warp.emit' op copies from or to a tensor of the kernel (TMA), but its view is no argument of the kernel; pass it}}
    warp.emit %f via %x to %o[%b, %b, %b] : !warp.fragment<64x64xf16>, !warp.buffer<64x64xf16, 64>, !view
  }
  warp.return
}

// -----

func.func @f(%x: !warp.buffer<64x64xf16, 64>) {
  // expected-error @+1 {{'warp.alias' op names bytes that are there, but the buffer is '!warp.buffer<64x64xf16, 64>' and the result '!warp.buffer<64x128xf16, 64>'; use a shape that is not larger, with as many parts}}
  %y = warp.alias %x : !warp.buffer<64x64xf16, 64> -> !warp.buffer<64x128xf16, 64>
  return
}

// -----

func.func @f(%x: !warp.buffer<128x64xf16, 64>) {
  // expected-error @+1 {{'warp.alias' op names bytes that are there, but the buffer is '!warp.buffer<128x64xf16, 64>' and the result '!warp.buffer<128x64xf16, 64, parts = 2>'; use a shape that is not larger, with as many parts}}
  %y = warp.alias %x : !warp.buffer<128x64xf16, 64> -> !warp.buffer<128x64xf16, 64, parts = 2>
  return
}

// -----

// Tiles that are computed again.

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.fetch' op fetches a tile of 16-bit elements, but the result is '!warp.fragment<64xf16>'; use a rank-2 fragment of the view's element type}}
  %q = warp.fetch %v[%b, %b, %b] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64xf16>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.fetch' op fetches a tile of 16-bit elements, but the result is '!warp.fragment<64x64xf32>'; use a rank-2 fragment of the view's element type}}
  %q = warp.fetch %v[%b, %b, %b] : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.fetch' op reads rows of a static, even head dim of at most the tile's columns, but the view is 'memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>' and the tile has 64 columns of 'f16'; pad the tile}}
  %q = warp.fetch %v[%b, %b, %b] : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf16>
  return
}

// -----

func.func @f(%v: memref<?x?x?x63xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.fetch' op reads rows of a static, even head dim of at most the tile's columns, but the view is 'memref<?x?x?x63xf16, strided<[?, ?, ?, 1], offset: ?>>' and the tile has 64 columns of 'f16'; pad the tile}}
  %q = warp.fetch %v[%b, %b, %b] : memref<?x?x?x63xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf16>
  return
}

// -----

func.func @f(%v: memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.fetch' op reads rows of a static, even head dim of at most the tile's columns, but the view is 'memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>>' and the tile has 64 columns of 'f16'; pad the tile}}
  %q = warp.fetch %v[%b, %b, %b] : memref<?x?x?x96xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf16>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.fetch' op reads rows of a static, even head dim of at most the tile's columns, but the view is 'memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>' and the tile has 64 columns of 'f16'; pad the tile}}
  %q = warp.fetch %v[%b, %b, %b] : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf16>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64xf16>, %a: !warp.fragment<64x16xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op multiplies M x K by K x N into M x N f32 in steps of 16, but the left tile is '!warp.fragment<64xf16>' and the accumulator '!warp.fragment<64x16xf32>'; pad them}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) : !warp.fragment<64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x16xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x64xf16>, %a: !warp.fragment<32x16xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op multiplies M x K by K x N into M x N f32 in steps of 16, but the left tile is '!warp.fragment<64x64xf16>' and the accumulator '!warp.fragment<32x16xf32>'; pad them}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) : !warp.fragment<64x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<32x16xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x24xf16>, %a: !warp.fragment<64x64xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op multiplies M x K by K x N into M x N f32 in steps of 16, but the left tile is '!warp.fragment<64x24xf16>' and the accumulator '!warp.fragment<64x64xf32>'; pad them}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) : !warp.fragment<64x24xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x64xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x64xf16>, %a: !warp.fragment<64x24xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op multiplies M x K by K x N into M x N f32 in steps of 16, but the left tile is '!warp.fragment<64x64xf16>' and the accumulator '!warp.fragment<64x24xf32>'; pad them}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) : !warp.fragment<64x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x24xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x64xf16>, %a: !warp.fragment<64x16xf16>) {
  // expected-error @+1 {{'warp.mma_fetch' op multiplies M x K by K x N into M x N f32 in steps of 16, but the left tile is '!warp.fragment<64x64xf16>' and the accumulator '!warp.fragment<64x16xf16>'; pad them}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) : !warp.fragment<64x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x16xf16>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x64xf16>, %a: !warp.fragment<64x16xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op is guarded by weights and a plain B, but it has both guarded and transpose_b; leave out one}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) transpose_b guarded : !warp.fragment<64x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x16xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x48xf16>, %a: !warp.fragment<64x16xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op reads rows of a static, even head dim of at most the tile's columns, but the view is 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>' and the tile has 48 columns of 'f16'; pad the tile}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) transpose_b : !warp.fragment<64x48xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x16xf32>
  return
}

// -----

func.func @f(%v: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %l: !warp.fragment<64x64xf16>, %a: !warp.fragment<64x16xf32>) {
  // expected-error @+1 {{'warp.mma_fetch' op reads rows of a static, even head dim of at most the tile's columns, but the view is 'memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>' and the tile has 16 columns of 'f16'; pad the tile}}
  %q = warp.mma_fetch %l, %v[%b, %b, %b] acc(%a) : !warp.fragment<64x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.fragment<64x16xf32>
  return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %x = warp.alloc : !warp.buffer<64x64xf16, 64>
  warp.role consumer registers(168) {
    // expected-error @+1 {{'warp.clear_rows' op clears rows of a slot that all groups read, but the buffer is '!warp.buffer<64x64xf16, 64>' and not received; receive it from a ring of one part}}
    warp.clear_rows %x from %b : !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @f(%q: !view, %b: index) attributes {q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %r = warp.ring : !warp.ring<128x64xf16, 64, depth = 1, parts = 2>
  warp.role consumer registers(168) {
    %x = warp.receive %r : !warp.ring<128x64xf16, 64, depth = 1, parts = 2> -> !warp.buffer<128x64xf16, 64, parts = 2>
    // expected-error @+1 {{'warp.clear_rows' op clears rows of a slot that all groups read, but the buffer is '!warp.buffer<128x64xf16, 64, parts = 2>'; receive it from a ring of one part}}
    warp.clear_rows %x from %b : !warp.buffer<128x64xf16, 64, parts = 2>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @second_group(%q: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role reducer registers(72) {
  }
  // expected-error @+1 {{is the second consumer of its kernel, but there is one of each, or one consumer for each group; join them}}
  warp.role consumer group(1) registers(216) {
  }
  warp.role consumer group(1) registers(216) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @far_group(%q: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  // expected-error @+1 {{is a consumer of one of 2 groups, in a kernel with a grid of its own, but it is a consumer of group 2; number consumers from 0}}
  warp.role consumer group(2) registers(216) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @of_groups(%q: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role reducer registers(72) {
  }
  // expected-error @+1 {{and the roles beside it ask for 72 + 216 + 224 = 512 registers, but a block of 3 warpgroups is launched with 3 * 168 = 504; lower one of them}}
  warp.role consumer group(0) registers(216) {
  }
  warp.role consumer group(1) registers(224) {
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<64x64xf16, 64, depth = 2>
warp.kernel @reclaim(%q: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 64 : i64, warps = 8 : i64, groups = 2 : i64} {
  %r = warp.ring : !ring
  warp.role consumer group(0) registers(216) {
    // expected-error @+1 {{takes back the group's own part of a ring's one slot, but the ring is '!warp.ring<64x64xf16, 64, depth = 2>' for 1 group; use a ring that is sent once, with a part for each group}}
    %b = warp.reclaim %r : !ring -> !warp.buffer<64x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!ring = !warp.ring<128x64xf16, 64, depth = 1>
warp.kernel @reclaim_all(%q: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  %r = warp.ring : !ring
  warp.role consumer registers(216) {
    // expected-error @+1 {{takes back the group's own part of a ring's one slot, but the ring is '!warp.ring<128x64xf16, 64, depth = 1>' for 2 groups; use a ring that is sent once, with a part for each group}}
    %b = warp.reclaim %r : !ring -> !warp.buffer<128x64xf16, 64>
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @add_packed(%sums: !view, %b: index) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role reducer registers(72) {
    %f = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{adds 64 rows of f32 to whole groups of 8 columns, but the fragment is '!warp.fragment<64x64xf32>', the view 'memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>' and the first column 8; choose columns that are there}}
    warp.add_packed %f to %sums[%b, %b, %b] first(8) : !warp.fragment<64x64xf32>, !view
  }
  warp.return
}

// -----

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
warp.kernel @add_packed_of_both_groups(%sums: !view, %b: index) attributes {grid = array<i64: 0, 0, 0, 1, 0, 2>, q_block = 128 : i64, warps = 8 : i64, groups = 2 : i64} {
  warp.role consumer registers(216) {
    %f = warp.fill 0.0 : f32 -> !warp.fragment<64x64xf32>
    // expected-error @+1 {{adds 128 rows of f32 to whole groups of 8 columns, but the fragment is '!warp.fragment<64x64xf32>'}}
    warp.add_packed %f to %sums[%b, %b, %b] first(0) : !warp.fragment<64x64xf32>, !view
  }
  warp.return
}
