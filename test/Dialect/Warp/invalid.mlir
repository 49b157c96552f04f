// RUN: flashc-opt %s --split-input-file --verify-diagnostics
//
// Each sentence of the verifiers once.

// Types.

// expected-error @+1 {{fragment is a tile or its row values, but this one has rank 3; use rank 1 or 2}}
func.func private @f(!warp.fragment<16x16x16xf32>)

// -----

// expected-error @+1 {{fragment has rows in groups of 16 (mma.sync's M), but this one has 24; pad to a multiple of 16}}
func.func private @f(!warp.fragment<24x16xf32>)

// -----

// expected-error @+1 {{fragment has columns in groups of 8 (mma.sync's N), but this one has 12; pad to a multiple of 8}}
func.func private @f(!warp.fragment<16x12xf32>)

// -----

// expected-error @+1 {{fragment holds f16, bf16, f32 or i1, but this one holds 'i8'; convert the elements first}}
func.func private @f(!warp.fragment<16x16xi8>)

// -----

// expected-error @+1 {{fragment fits a block's 65536 registers, but this one has 512 x 256 elements; choose smaller tiles}}
func.func private @f(!warp.fragment<512x256xf32>)

// -----

// expected-error @+1 {{partial fragment is a row sum in f32, but this one has rank 2 and holds 'f32'; drop 'partial'}}
func.func private @f(!warp.fragment<16x16xf32, partial>)

// -----

// expected-error @+1 {{partial fragment is a row sum in f32, but this one has rank 1 and holds 'i1'; drop 'partial'}}
func.func private @f(!warp.fragment<16xi1, partial>)

// -----

// expected-error @+1 {{buffer is a tile in shared memory, but this one has rank 1; use rank 2}}
func.func private @f(!warp.buffer<64xf16, 64>)

// -----

// expected-error @+1 {{buffer holds f16 or bf16, but this one holds 'f32'; convert the elements first}}
func.func private @f(!warp.buffer<64x64xf32, 64>)

// -----

// expected-error @+1 {{buffer has rows in groups of 8 (the swizzle's period), but this one has 20; pad to a multiple of 8}}
func.func private @f(!warp.buffer<20x64xf16, 64>)

// -----

// expected-error @+1 {{buffer has segments of 64, 32 or 16 elements, but this one has 8; use the largest that divides the columns}}
func.func private @f(!warp.buffer<64x64xf16, 8>)

// -----

// expected-error @+1 {{buffer has whole segments in a row, but this one has 96 columns and segments of 64; use the largest segment that divides the columns}}
func.func private @f(!warp.buffer<64x96xf16, 64>)

// -----

// expected-error @+1 {{buffer has at most 65536 rows and columns, but this one has 64 and 131072; choose smaller tiles}}
func.func private @f(!warp.buffer<64x131072xf16, 64>)

// -----

// expected-error @+1 {{channel is a ring of slots, but this one has depth 0; use 1 to 65536}}
func.func private @f(!warp.channel<64x64xf16, 64, depth = 0>)

// -----

// expected-error @+1 {{channel has whole segments in a row, but this one has 48 columns and segments of 32; use the largest segment that divides the columns}}
func.func private @f(!warp.channel<64x48xf16, 32, depth = 1>)

// -----

// Kernels.

// expected-error @+1 {{'warp.kernel' op writes its results to views, but it returns 1 values; add arguments with 'tile.output'}}
warp.kernel @f(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) -> index attributes {q_block = 128 : i64, warps = 4 : i64} {
  warp.return
}

// -----

// expected-error @+1 {{'warp.kernel' op runs 1 to 32 warps (1024 threads), but it asks for 33; choose fewer or more warps}}
warp.kernel @f(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 128 : i64, warps = 33 : i64} {
  warp.return
}

// -----

// expected-error @+1 {{'warp.kernel' op has warps of 16 or, without groups, 32 rows at least, but of 48; leave warp_rows out}}
warp.kernel @f(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 128 : i64, warps = 4 : i64, warp_rows = 48 : i64} {
  warp.return
}

// -----

// expected-error @+1 {{'warp.kernel' op deals its rows to the warps in groups of 16, but 96 rows do not make whole groups for 4 warps; use a multiple of 64}}
warp.kernel @f(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 96 : i64, warps = 4 : i64} {
  warp.return
}

// -----

// expected-error @+1 {{'warp.kernel' op takes its grid from argument 0, a 4-D view (batch, head, length, head dim), but it has no argument; pass Q first}}
warp.kernel @f() attributes {q_block = 128 : i64, warps = 4 : i64} {
  warp.return
}

// -----

// expected-error @+1 {{'warp.kernel' op takes its grid from argument 0, a 4-D view (batch, head, length, head dim), but argument 0 is 'memref<?xi32>'; pass Q first}}
warp.kernel @f(%lengths: memref<?xi32>) attributes {q_block = 128 : i64, warps = 4 : i64} {
  warp.return
}

// -----

// expected-error @+1 {{'warp.kernel' op takes views (memrefs) and scalars, but argument 1 is '!warp.channel<64x64xf16, 64, depth = 1>'; pass a view of it}}
warp.kernel @f(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %c: !warp.channel<64x64xf16, 64, depth = 1>) attributes {q_block = 128 : i64, warps = 4 : i64} {
  warp.return
}

// -----

// Memory.

func.func @f() {
  // expected-error @+1 {{'warp.alloc' op has an offset in shared memory that is a multiple of 128 bytes, but it is 64; run 'warp-allocate-shared'}}
  %0 = warp.alloc offset(64) : !warp.buffer<64x64xf16, 64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'warp.wait' op leaves 0 or more copy groups under way, but 'pending' is -1; run 'warp-count-groups'}}
  warp.wait pending(-1)
  return
}

// -----

func.func @f(%view: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.channel' op copies elements as they are, but the view holds 'bf16' and the channel holds 'f16'; give both one element type}}
  %0 = warp.channel %view[%b, %b] blocks(%b to %b) : memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
  return
}

// -----

func.func @f(%view: memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.channel' op needs the head dim of its view, but it is dynamic; make dim 3 of the view static}}
  %0 = warp.channel %view[%b, %b] blocks(%b to %b) : memref<?x?x?x?xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
  return
}

// -----

func.func @f(%view: memref<?x?x?x80xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.channel' op moves whole rows, but the view has head dim 80 and the channel has 64 columns; pad the channel to a multiple of 16 at or above the head dim}}
  %0 = warp.channel %view[%b, %b] blocks(%b to %b) : memref<?x?x?x80xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
  return
}

// -----

func.func @f(%view: memref<?x?x?x64xf16, strided<[?, ?, 1, ?], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.channel' op needs a view whose last stride is 1, but it has 'memref<?x?x?x64xf16, strided<[?, ?, 1, ?], offset: ?>>'; copy the tensor or permute its dims}}
  %0 = warp.channel %view[%b, %b] blocks(%b to %b) : memref<?x?x?x64xf16, strided<[?, ?, 1, ?], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
  return
}

// -----

func.func @f(%view: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.channel' op has an offset in shared memory that is a multiple of 128 bytes, but it is -128; run 'warp-allocate-shared'}}
  %0 = warp.channel %view[%b, %b] blocks(%b to %b) offset(-128) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !warp.channel<64x64xf16, 64, depth = 1>
  return
}

// -----

func.func @f(%kc: !warp.channel<64x64xf16, 64, depth = 1>, %j: index) {
  // expected-error @+1 {{'warp.get' op names a slot of its channel, but a slot is '!warp.buffer<64x64xf16, 64>' and the result is '!warp.buffer<64x64xf16, 32>'; use the slot's type}}
  %0 = warp.get %kc[%j] : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 32>
  return
}

// -----

func.func @f(%kc: !warp.channel<64x64xf16, 64, depth = 1>, %j: index) {
  // expected-error @+1 {{'warp.get' op leaves 0 or more copy groups under way, but 'pending' is -2; run 'warp-count-groups'}}
  %0 = warp.get %kc[%j] pending(-2) : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
  return
}

// -----

func.func @f(%view: memref<?x?x?x80xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %buf: !warp.buffer<128x64xf16, 64>) {
  // expected-error @+1 {{'warp.copy_in' op moves whole rows, but the view has head dim 80 and the buffer has 64 columns; pad the buffer to a multiple of 16 at or above the head dim}}
  warp.copy_in %view[%b, %b, %b] to %buf : memref<?x?x?x80xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.buffer<128x64xf16, 64>
  return
}

// -----

func.func @f(%view: memref<?x?x?x64xf16, strided<[?, ?, ?, 2], offset: ?>>, %b: index, %buf: !warp.buffer<128x64xf16, 64>) {
  // expected-error @+1 {{'warp.copy_in' op needs a view whose last stride is 1, but it has 'memref<?x?x?x64xf16, strided<[?, ?, ?, 2], offset: ?>>'; copy the tensor or permute its dims}}
  warp.copy_in %view[%b, %b, %b] to %buf : memref<?x?x?x64xf16, strided<[?, ?, ?, 2], offset: ?>>, !warp.buffer<128x64xf16, 64>
  return
}

// -----

func.func @f(%view: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %buf: !warp.buffer<128x64xf16, 64>) {
  // expected-error @+1 {{'warp.copy_out' op copies elements as they are, but the view holds 'bf16' and the buffer holds 'f16'; give both one element type}}
  warp.copy_out %buf to %view[%b, %b, %b] : !warp.buffer<128x64xf16, 64>, memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
  return
}

// -----

func.func @f(%buf: !warp.buffer<128x64xf16, 64>) {
  // expected-error @+1 {{'warp.load' op moves a whole tile, but the buffer is '!warp.buffer<128x64xf16, 64>' and the fragment is '!warp.fragment<64x64xf16>'; give both one shape and element type}}
  %0 = warp.load %buf : !warp.buffer<128x64xf16, 64> -> !warp.fragment<64x64xf16>
  return
}

// -----

func.func @f(%buf: !warp.buffer<128x64xf16, 64>, %f: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.store' op moves a whole tile, but the buffer is '!warp.buffer<128x64xf16, 64>' and the fragment is '!warp.fragment<128x64xf32>'; give both one shape and element type}}
  warp.store %f to %buf : !warp.fragment<128x64xf32>, !warp.buffer<128x64xf16, 64>
  return
}

// -----

func.func @f(%f: !warp.fragment<128xf32, partial>, %view: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.store_rows' op stores one whole f32 a row, but the fragment is '!warp.fragment<128xf32, partial>'; collect its parts first}}
  warp.store_rows %f to %view[%b, %b, %b] : !warp.fragment<128xf32, partial>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  return
}

// -----

func.func @f(%f: !warp.fragment<128x64xf32>, %view: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.store_rows' op stores one whole f32 a row, but the fragment is '!warp.fragment<128x64xf32>'; use a rank-1 f32 fragment}}
  warp.store_rows %f to %view[%b, %b, %b] : !warp.fragment<128x64xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  return
}

// -----

func.func @f(%f: !warp.fragment<128xf32>, %view: memref<?x?x?xf32, strided<[?, 1, ?], offset: ?>>, %b: index) {
  // expected-error @+1 {{'warp.store_rows' op needs a view whose last stride is 1, but it has 'memref<?x?x?xf32, strided<[?, 1, ?], offset: ?>>'; copy the tensor or permute its dims}}
  warp.store_rows %f to %view[%b, %b, %b] : !warp.fragment<128xf32>, memref<?x?x?xf32, strided<[?, 1, ?], offset: ?>>
  return
}

// -----

// Computing.

func.func @f() {
  // expected-error @+1 {{'warp.fill' op fills with one element, but the constant is 'f16' and the fragment holds 'f32'; use a constant of the element type}}
  %0 = warp.fill 0.0 : f16 -> !warp.fragment<128xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'warp.fill' op starts a sum of four parts at zero, but the constant is 1.000000e+00 : f32; add it after 'warp.collect'}}
  %0 = warp.fill 1.0 : f32 -> !warp.fragment<128xf32, partial>
  return
}

// -----

func.func @f(%a: !warp.fragment<128xf16>, %b: !warp.buffer<64x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.mma' op multiplies tiles of rank 2, but the left one has rank 1 and the accumulator rank 2; row values do not multiply as tiles}}
  %0 = warp.mma %a, %b acc(%c) : !warp.fragment<128xf16>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf16>, %b: !warp.buffer<64x64xf16, 64>, %c: !warp.fragment<128x64xf16>) {
  // expected-error @+1 {{'warp.mma' op accumulates in f32, but the accumulator holds 'f16'; convert the result instead}}
  %0 = warp.mma %a, %b acc(%c) : !warp.fragment<128x64xf16>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf16>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xbf16>, %b: !warp.buffer<64x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.mma' op multiplies tiles of one element type, but the left one holds 'bf16' and the right one 'f16'; convert one of them}}
  %0 = warp.mma %a, %b acc(%c) : !warp.fragment<128x64xbf16>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf16>, %b: !warp.buffer<32x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.mma' op multiplies M x K by K x N into M x N, but the left tile is 128 x 64, the right one 32 x 64 and the accumulator 128 x 64; make M, K and N agree}}
  %0 = warp.mma %a, %b acc(%c) : !warp.fragment<128x64xf16>, !warp.buffer<32x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%a: !warp.buffer<128x64xf16, 64>, %b: !warp.buffer<32x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.mma' op multiplies M x K by K x N into M x N, but the left tile is 128 x 64, the right one 64 x 32 and the accumulator 128 x 64; make M, K and N agree}}
  %0 = warp.mma %a, %b acc(%c) transpose_b : !warp.buffer<128x64xf16, 64>, !warp.buffer<32x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x24xf16>, %b: !warp.buffer<24x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.mma' op takes steps of 16 rows and 16 products (m16n8k16), but M is 128 and K is 24; pad both to multiples of 16}}
  %0 = warp.mma %a, %b acc(%c) : !warp.fragment<128x24xf16>, !warp.buffer<24x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'warp.map' op takes its shape from its inputs, but it has none; pass at least one fragment}}
  %0 = "warp.map"() <{operandSegmentSizes = array<i32: 0, 0>}> ({
    %1 = arith.constant 0.0 : f32
    "warp.yield"(%1) : (f32) -> ()
  }) : () -> !warp.fragment<16xf32>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>, %b: !warp.fragment<64xf32>) {
  // expected-error @+1 {{'warp.map' op takes inputs of one shape and their row values, but input 1 is '!warp.fragment<64xf32>' and the largest is '!warp.fragment<128x64xf32>'; give them the same rows and columns}}
  %0 = warp.map ins(%a, %b : !warp.fragment<128x64xf32>, !warp.fragment<64xf32>) -> !warp.fragment<128x64xf32> {
  ^bb0(%x: f32, %y: f32):
    warp.yield %x : f32
  }
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.map' op gives results of its largest input's shape, but result 0 is '!warp.fragment<128xf32>' and that input is '!warp.fragment<128x64xf32>'; give them one shape}}
  %0 = warp.map ins(%a : !warp.fragment<128x64xf32>) -> !warp.fragment<128xf32> {
  ^bb0(%x: f32):
    warp.yield %x : f32
  }
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>, %i: index) {
  // expected-error @+1 {{'warp.map' op has one origin a dimension, but it has 1 origins and rank 2; pass (i) for row values and (i, j) for tiles}}
  %0 = warp.map ins(%a : !warp.fragment<128x64xf32>) at(%i) -> !warp.fragment<128x64xf32> {
  ^bb0(%x: f32, %r: index):
    warp.yield %x : f32
  }
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.map' op has one body argument for each input and origin, but the body has 2 and there are 1; add or drop arguments}}
  %0 = warp.map ins(%a : !warp.fragment<128x64xf32>) -> !warp.fragment<128x64xf32> {
  ^bb0(%x: f32, %y: f32):
    warp.yield %x : f32
  }
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.map' op hands its body scalars, but body argument 0 is 'f16' and the scalar is 'f32'; use the scalar's type}}
  %0 = warp.map ins(%a : !warp.fragment<128x64xf32>) -> !warp.fragment<128x64xf16> {
  ^bb0(%x: f16):
    warp.yield %x : f16
  }
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.map' op yields one scalar a result, but the body yields 2 and there are 1 results; yield one for each}}
  %0 = warp.map ins(%a : !warp.fragment<128x64xf32>) -> !warp.fragment<128x64xf32> {
  ^bb0(%x: f32):
    warp.yield %x, %x : f32, f32
  }
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.map' op yields the elements of its results, but value 0 is 'f32' and the element is 'f16'; convert it in the body}}
  %0 = warp.map ins(%a : !warp.fragment<128x64xf32>) -> !warp.fragment<128x64xf16> {
  ^bb0(%x: f32):
    warp.yield %x : f32
  }
  return
}

// -----

func.func @f(%l: !warp.fragment<128xf32, partial>, %a: !warp.fragment<128xf32>) {
  // expected-error @+1 {{'warp.map' op may only multiply a partial sum by a row factor, with one partial result, but it has 1 partial inputs and 1 partial results or computes something else; use 'warp.collect' first}}
  %0 = warp.map ins(%l, %a : !warp.fragment<128xf32, partial>, !warp.fragment<128xf32>) -> !warp.fragment<128xf32, partial> {
  ^bb0(%x: f32, %y: f32):
    %r = arith.addf %x, %y : f32
    warp.yield %r : f32
  }
  return
}

// -----

func.func @f(%l: !warp.fragment<128xf32, partial>, %a: !warp.fragment<128xf32>) {
  // expected-error @+1 {{'warp.map' op may only multiply a partial sum by a row factor, with one partial result, but it has 1 partial inputs and 0 partial results or computes something else; use 'warp.collect' first}}
  %0 = warp.map ins(%l, %a : !warp.fragment<128xf32, partial>, !warp.fragment<128xf32>) -> !warp.fragment<128xf32> {
  ^bb0(%x: f32, %y: f32):
    %r = arith.mulf %x, %y : f32
    warp.yield %r : f32
  }
  return
}

// -----

func.func @f(%s: !warp.fragment<128x64xf16>, %m: !warp.fragment<128xf32>) {
  // expected-error @+1 {{'warp.reduce' op folds the rows of an f32 tile, but the fragment is '!warp.fragment<128x64xf16>'; use a rank-2 f32 fragment}}
  %0 = warp.reduce max %s init(%m) : !warp.fragment<128x64xf16>, !warp.fragment<128xf32>
  return
}

// -----

func.func @f(%s: !warp.fragment<128x64xf32>, %m: !warp.fragment<64xf32>) {
  // expected-error @+1 {{'warp.reduce' op has one f32 start value a row, but the fragment is '!warp.fragment<128x64xf32>' and init is '!warp.fragment<64xf32>'; use a rank-1 f32 fragment of the same rows}}
  %0 = warp.reduce max %s init(%m) : !warp.fragment<128x64xf32>, !warp.fragment<64xf32>
  return
}

// -----

func.func @f(%s: !warp.fragment<128x64xf32>, %m: !warp.fragment<128xf32, partial>) {
  // expected-error @+1 {{'warp.reduce' op keeps parts of a sum only, but the kind is max and init is '!warp.fragment<128xf32, partial>'; drop 'partial' or use add}}
  %0 = warp.reduce max %s init(%m) : !warp.fragment<128x64xf32>, !warp.fragment<128xf32, partial>
  return
}

// -----

func.func @f(%l: !warp.fragment<128xf32>) {
  // expected-error @+1 {{'warp.collect' op sums the parts of a partial row value, but the operand is '!warp.fragment<128xf32>'; use it as it is}}
  %0 = warp.collect %l : !warp.fragment<128xf32> -> !warp.fragment<128xf32>
  return
}

// -----

func.func @f(%l: !warp.fragment<128xf32, partial>) {
  // expected-error @+1 {{'warp.collect' op gives the whole value of each row, but the operand is '!warp.fragment<128xf32, partial>' and the result is '!warp.fragment<64xf32>'; use the operand's type without 'partial'}}
  %0 = warp.collect %l : !warp.fragment<128xf32, partial> -> !warp.fragment<64xf32>
  return
}

// -----

func.func @f(%l: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.any' op asks whether a condition is true, but the operand is '!warp.fragment<128x64xf32>'; use an i1 fragment}}
  %0 = warp.any %l : !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%s: !warp.fragment<128x64xf16>, %l: !warp.fragment<128xf32>) {
  // expected-error @+1 {{'warp.any_above' op compares the scores of an f32 tile, but they are '!warp.fragment<128x64xf16>'; use a rank-2 f32 fragment}}
  %0 = warp.any_above %s, %l : !warp.fragment<128x64xf16>, !warp.fragment<128xf32>
  return
}

// -----

func.func @f(%s: !warp.fragment<128x64xf32>, %l: !warp.fragment<64xf32>) {
  // expected-error @+1 {{'warp.any_above' op has one f32 limit a row, but the scores are '!warp.fragment<128x64xf32>' and the limits '!warp.fragment<64xf32>'; use a rank-1 f32 fragment of the same rows}}
  %0 = warp.any_above %s, %l : !warp.fragment<128x64xf32>, !warp.fragment<64xf32>
  return
}

// -----

func.func @f(%s: !warp.fragment<128x64xf32>, %l: !warp.fragment<128xf32>) {
  // expected-error @+1 {{'warp.any_above' op has a floor below 0, but it is 0.000000e+00; compare the negated scores with a limit}}
  %0 = warp.any_above %s, %l floor(0.0) : !warp.fragment<128x64xf32>, !warp.fragment<128xf32>
  return
}

// -----

func.func @f(%o: !warp.fragment<128x64xf16>) {
  // expected-error @+1 {{'warp.any_not_finite' op looks at the elements of an f32 tile, but the operand is '!warp.fragment<128x64xf16>'; use a rank-2 f32 fragment}}
  %0 = warp.any_not_finite %o : !warp.fragment<128x64xf16>
  return
}

// -----

func.func @f(%a: !warp.buffer<128x64xf16, 64>, %b: !warp.buffer<64x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.mma' op is guarded with a plain B, but it has transpose_b; leave out one of them}}
  %0 = warp.mma %a, %b acc(%c) transpose_b guarded : !warp.buffer<128x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x64xf16>, %b: !warp.buffer<48x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.scrub' op stands before the product of its weights and its buffer, but these are '!warp.fragment<128x64xf16>' and '!warp.buffer<48x64xf16, 64>', and the accumulator is '!warp.fragment<128x64xf32>'; use M x K and K x N of one element type, and M x N}}
  %0 = warp.scrub %a, %b acc(%c) : !warp.fragment<128x64xf16>, !warp.buffer<48x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}

// -----

func.func @f(%a: !warp.fragment<128x24xf16>, %b: !warp.buffer<24x64xf16, 64>, %c: !warp.fragment<128x64xf32>) {
  // expected-error @+1 {{'warp.scrub' op takes steps of 16 rows of the buffer, which has 24; pad it}}
  %0 = warp.scrub %a, %b acc(%c) : !warp.fragment<128x24xf16>, !warp.buffer<24x64xf16, 64> -> !warp.fragment<128x64xf32>
  return
}
