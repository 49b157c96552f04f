// RUN: flashc-opt %s --split-input-file --verify-diagnostics
//
// Each sentence of the verifiers once.

// Schedules and types.

// expected-error @+1 {{expects 1 to 64 stages, 1 to 32 warps and an sram of at least 1, but got 0, 4 and 1000; leave them to chooseSchedule}}
#s = #tile.schedule<q = 64, kv = 64, stages = 0, warps = 4, q_in_registers = false, sram = 1000>

// -----

// expected-error @+1 {{expects 1 to 3 groups that compute, but got 0; a block has at most 16 warps here}}
#r = #tile.roles<groups = 0, producer = 32, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>

// -----

// expected-error @+1 {{expects 1 to 3 groups that compute, but got 4; a block has at most 16 warps here}}
#r = #tile.roles<groups = 4, producer = 32, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>

// -----

// expected-error @+1 {{expects registers of a thread from 24 to 256 in steps of 8, but got 16; round it}}
#r = #tile.roles<groups = 2, producer = 16, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>

// -----

// expected-error @+1 {{expects registers of a thread from 24 to 256 in steps of 8, but got 36; round it}}
#r = #tile.roles<groups = 2, producer = 36, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>

// -----

// expected-error @+1 {{expects registers of a thread from 24 to 256 in steps of 8, but got 264; round it}}
#r = #tile.roles<groups = 2, producer = 32, consumer = 264, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>

// -----

#r = #tile.roles<groups = 2, producer = 32, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>
// expected-error @+1 {{expects four warps for each of 2 groups and 16 rows for each warp, but got warps = 4 and q = 128; make them 8 and 128}}
#s = #tile.schedule<q = 128, kv = 64, stages = 2, warps = 4, q_in_registers = false, sram = 1000, roles = #r>

// -----

#r = #tile.roles<groups = 2, producer = 32, consumer = 232, overlap = true, turns = true, rescale = always, apart = false, ahead = false, skip = false>
// expected-error @+1 {{expects four warps for each of 2 groups and 16 rows for each warp, but got warps = 8 and q = 256; make them 8 and 128}}
#s = #tile.schedule<q = 256, kv = 64, stages = 2, warps = 8, q_in_registers = false, sram = 1000, roles = #r>

// -----

// expected-error @+1 {{expects warps of 16 or, without roles, 32 rows at least, but got 48; leave warp_rows out}}
#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 2, q_in_registers = false, sram = 1000, warp_rows = 48>

// -----

// expected-error @+1 {{expects q to be a multiple of 16 rows for each warp, but got q = 48 and warps = 2; change one of them}}
#s = #tile.schedule<q = 48, kv = 64, stages = 1, warps = 2, q_in_registers = false, sram = 1000>

// -----

// expected-error @+1 {{expects kv to be a multiple of 16, but got 40; round it up}}
#s = #tile.schedule<q = 48, kv = 40, stages = 1, warps = 1, q_in_registers = false, sram = 1000>

// -----

// expected-error @+1 {{expects a stream of blocks of 1 to 65536 rows and columns, but got [64]; write !tile.stream<64x128xf16>}}
func.func private @f(!tile.stream<64xf16>)

// -----

// expected-error @+1 {{expects f16, bf16 or f32 elements, but got 'i8'}}
func.func private @f(!tile.stream<64x64xi8>)

// -----

// Kernels.

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{returns 1 values, but a kernel writes its results through arguments with tile.output; return none}}
tile.kernel @k(%q: memref<1x1x64x64xf32>) -> index attributes {schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{has no argument, but argument 0 is Q, which gives the grid; add it}}
tile.kernel @k() attributes {schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{argument #1 has type 'index', but arguments are memref views; pass a view}}
tile.kernel @k(%q: memref<1x1x64x64xf32>, %n: index) attributes {schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{argument #0 has type 'memref<1x1x64x64xf32, strided<[64, 64, 64, 2]>>', but the last stride of a view is 1; copy the tensor or say so in its layout}}
tile.kernel @k(%q: memref<1x1x64x64xf32, strided<[64, 64, 64, 2]>>) attributes {schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{argument #0 has type 'memref<1x64x64xf32>', but it is Q, which gives the grid: a 4-D view (batch, head, length, head dim) of f16, bf16 or f32}}
tile.kernel @k(%q: memref<1x64x64xf32>) attributes {schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{output #1 has type 'memref<1xi32>', but an output is a 4-D view, a 3-D view of f32 or i32 or a 1-D view of floats}}
tile.kernel @k(%q: memref<1x1x64x64xf32>, %n: memref<1xi32> {tile.output}) attributes {schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 100000>
// expected-error @+1 {{argument #1 is written but has no tile.output; add it}}
tile.kernel @k(%q: memref<1x1x64x64xf32>, %o: memref<1x1x64x64xf32>) attributes {schedule = #s} {
  %b, %h, %i = tile.program
  %t = tile.load %q[%b, %h, %i] : memref<1x1x64x64xf32> -> tensor<64x64xf32>
  // expected-note @+1 {{written here}}
  tile.store %t, %o[%b, %h, %i] : tensor<64x64xf32>, memref<1x1x64x64xf32>
  tile.return
}

// -----

// Q once (16384 bytes) and a loop's blocks in two stages (2 * 16384).
#s = #tile.schedule<q = 64, kv = 64, stages = 2, warps = 1, q_in_registers = false, sram = 49000>
// expected-error @+1 {{loads blocks of 49152 bytes, 152 more than the sram = 49000 of its schedule; use smaller blocks or fewer stages}}
tile.kernel @k(%q: memref<1x1x64x64xf32>) attributes {schedule = #s} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b, %h, %i = tile.program
  %t = tile.load %q[%b, %h, %i] : memref<1x1x64x64xf32> -> tensor<64x64xf32>
  scf.for %j = %c0 to %i step %c1 {
    %k = tile.load %q[%b, %h, %j] : memref<1x1x64x64xf32> -> tensor<64x64xf32>
  }
  tile.return
}

// -----

// Moves between global views and tiles.

func.func @load(%v: memref<1x1x64x64xf16>, %i: index) {
  // expected-error @+1 {{moves tiles of 'f32' but the view holds 'f16'; convert with tile.map}}
  %t = tile.load %v[%i, %i, %i] : memref<1x1x64x64xf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @load(%v: memref<1x1x64x?xf16>, %i: index) {
  // expected-error @+1 {{expects a view with a constant head dim, but got 'memref<1x1x64x?xf16>'; give it}}
  %t = tile.load %v[%i, %i, %i] : memref<1x1x64x?xf16> -> tensor<64x64xf16>
  return
}

// -----

func.func @load(%v: memref<1x1x64x64xf16>, %i: index) {
  // expected-error @+1 {{expects tiles at least as wide as the view's head dim, but they have 48 columns and the head dim is 64; pad the tile}}
  %t = tile.load %v[%i, %i, %i] : memref<1x1x64x64xf16> -> tensor<64x48xf16>
  return
}

// -----

func.func @load(%v: memref<1x1x64x64xf16>, %i: index) {
  // expected-error @+1 {{result #0 has type 'tensor<?x64xf16>', but tiles have constant sizes of 1 to 65536; give them}}
  %t = tile.load %v[%i, %i, %i] : memref<1x1x64x64xf16> -> tensor<?x64xf16>
  return
}

// -----

func.func @stream(%v: memref<1x1x64x64xf16>, %i: index) {
  // expected-error @+1 {{moves tiles of 'bf16' but the view holds 'f16'; convert with tile.map}}
  %t = tile.stream %v[%i, %i] blocks(%i to %i) : memref<1x1x64x64xf16> -> !tile.stream<64x64xbf16>
  return
}

// -----

func.func @next(%s: !tile.stream<64x64xf16>, %i: index) {
  // expected-error @+1 {{gives 'tensor<32x64xf16>', but the stream's blocks are 'tensor<64x64xf16>'; use that type}}
  %t = tile.next %s[%i] : !tile.stream<64x64xf16> -> tensor<32x64xf16>
  return
}

// -----

func.func @store(%t: tensor<1x64x64xf16>, %v: memref<1x1x64x64xf16>, %i: index) {
  // expected-error @+1 {{stores a tile of rank 3, but tiles have rank 1 or 2; reshape it}}
  tile.store %t, %v[%i, %i, %i] : tensor<1x64x64xf16>, memref<1x1x64x64xf16>
  return
}

// -----

func.func @store(%t: tensor<64xf32>, %v: memref<1x1x64x64xf32>, %i: index) {
  // expected-error @+1 {{stores a tile of rank 1 to a view of rank 4, but the view has two dimensions more (batch and head); pass the other view}}
  tile.store %t, %v[%i, %i, %i] : tensor<64xf32>, memref<1x1x64x64xf32>
  return
}

// -----

func.func @store(%t: tensor<64x64xf16>, %v: memref<1x1x64x64xf32>, %i: index) {
  // expected-error @+1 {{moves tiles of 'f16' but the view holds 'f32'; convert with tile.map}}
  tile.store %t, %v[%i, %i, %i] : tensor<64x64xf16>, memref<1x1x64x64xf32>
  return
}

// -----

func.func @store(%t: tensor<64xf16>, %v: memref<1x1x64xf32>, %i: index) {
  // expected-error @+1 {{moves tiles of 'f16' but the view holds 'f32'; convert with tile.map}}
  tile.store %t, %v[%i, %i, %i] : tensor<64xf16>, memref<1x1x64xf32>
  return
}

// -----

// Products.

func.func @dot(%a: tensor<64x64xf16>, %b: tensor<64x64xbf16>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{expects factors of one element type, but got 'f16' and 'bf16'; convert one with tile.map}}
  %d = tile.dot %a, %b acc(%c) : tensor<64x64xf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @dot(%a: tensor<64x32xf16>, %b: tensor<64x48xf16>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{sums over 32 columns of A but 48 columns of B; pad both alike or change transpose_a or transpose_b}}
  %d = tile.dot %a, %b acc(%c) transpose_b : tensor<64x32xf16>, tensor<64x48xf16> -> tensor<64x64xf32>
  return
}

// -----

func.func @dot(%a: tensor<64x32xf16>, %b: tensor<64x48xf16>, %c: tensor<64x48xf32>) {
  // expected-error @+1 {{sums over 32 columns of A but 64 rows of B; pad both alike or change transpose_a or transpose_b}}
  %d = tile.dot %a, %b acc(%c) : tensor<64x32xf16>, tensor<64x48xf16> -> tensor<64x48xf32>
  return
}

// -----

func.func @dot(%a: tensor<64x32xf16>, %b: tensor<32x48xf16>, %c: tensor<64x64xf32>) {
  // expected-error @+1 {{has a product of 64x48 but an accumulator of 64x64; make them equal}}
  %d = tile.dot %a, %b acc(%c) : tensor<64x32xf16>, tensor<32x48xf16> -> tensor<64x64xf32>
  return
}

// -----

// Masks.

func.func @mask(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{set #0 is 1 : i64, but sets are affine_set<(i, j)[symbols] : (...)>}}
  %r = tile.mask %s at(%i, %i) symbols() sets([1]) : tensor<64x64xf32>
  return
}

// -----

func.func @mask(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{set #0 has 2 dimensions and 1 symbols, but a mask has 2 (i, j) and 0; write it over those}}
  %r = tile.mask %s at(%i, %i) symbols() sets([affine_set<(i, j)[n] : (n - j >= 0)>]) : tensor<64x64xf32>
  return
}

// -----

func.func @mask(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{set #0 has an equality, d0 - d1 == 0; write it as two inequalities}}
  %r = tile.mask %s at(%i, %i) symbols() sets([affine_set<(i, j) : (i - j == 0)>]) : tensor<64x64xf32>
  return
}

// -----

func.func @mask(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{which is not linear; masks are unions of bands}}
  %r = tile.mask %s at(%i, %i) symbols() sets([affine_set<(i, j) : (i - j mod 3 >= 0)>]) : tensor<64x64xf32>
  return
}

// -----

func.func @mask(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{set #0 has the coefficient -2 for j, but it is -1, 0 or 1; divide the inequality by it}}
  %r = tile.mask %s at(%i, %i) symbols() sets([affine_set<(i, j) : (i - 2 * j >= 0)>]) : tensor<64x64xf32>
  return
}

// -----

// The running softmax.

func.func @update(%s: tensor<64x64xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{expects one running maximum per row, but the scores have 64 rows and the running maximum has 32; slice both with the same query block size}}
  %p, %m1, %l, %a = tile.softmax_update %s, %m, %m base(two) scale(1.0) : tensor<64x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @update(%s: tensor<64x64xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{expects a finite scale above 0, but got -1.000000e+00; multiply the scores by it instead}}
  %p, %m1, %l, %a = tile.softmax_update %s, %m, %m base(two) scale(-1.0) : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @update(%s: tensor<64x64xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{expects lazy above 0, but got 0.000000e+00; leave it out to follow every maximum}}
  %p, %m1, %l, %a = tile.softmax_update %s, %m, %m base(two) scale(1.0) lazy(0.0) : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @update(%s: tensor<64x64xf32>, %m: tensor<64xf32>, %h: tensor<32xf32>) {
  // expected-error @+1 {{expects one offset per row, but the scores have 64 rows and the offset has 32; slice both with the same query block size}}
  %p, %m1, %l, %a = tile.softmax_update %s, %m, %m offset(%h : tensor<32xf32>) base(two) scale(1.0) : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @rescale(%s: tensor<64x64xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{expects one factor per row, but the accumulators have 64 rows and the factor has 32; slice both with the same query block size}}
  %r = tile.rescale %s by %m : tensor<64x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @finish(%s: tensor<64x64xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{expects one running maximum per row, but the accumulators have 64 rows and the running maximum has 32; slice both with the same query block size}}
  %o, %lse = tile.finish %s, %m, %m base(two) scale(1.0) : tensor<64x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @finish(%s: tensor<64x64xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{expects a finite scale above 0, but got 0.000000e+00; multiply the scores by it instead}}
  %o, %lse = tile.finish %s, %m, %m base(two) scale(0.0) : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

// Maps.

func.func @map(%i: index) {
  // expected-error @+1 {{has 0 inputs and 0 results, but needs one of each at least}}
  "tile.map"() <{operandSegmentSizes = array<i32: 0, 0>}> ({ "tile.yield"() : () -> () }) : () -> ()
  return
}

// -----

func.func @map(%s: tensor<2x64x64xf32>) {
  // expected-error @+1 {{has an input of type 'tensor<2x64x64xf32>', but tiles have rank 1 or 2; reshape it}}
  %r = tile.map ins(%s : tensor<2x64x64xf32>) -> tensor<2x64x64xf32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map(%s: tensor<64x64xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{has an input of type 'tensor<32xf32>' beside the largest input 'tensor<64x64xf32>'; inputs have its shape, its rows or one row of its columns, results its shape}}
  %r = tile.map ins(%s, %m : tensor<64x64xf32>, tensor<32xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32, %y: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map(%s: tensor<64x64xf32>) {
  // expected-error @+1 {{has a result of type 'tensor<64xf32>' beside the largest input 'tensor<64x64xf32>'; inputs have its shape, its rows or one row of its columns, results its shape}}
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64xf32> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{has an origin of 1 coordinates for tiles of rank 2; give as many as the rank, or none}}
  %r = tile.map ins(%s : tensor<64x64xf32>) at(%i) -> tensor<64x64xf32> {
  ^bb0(%x: f32, %row: index):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map(%s: tensor<64x64xf32>) {
  // expected-error @+1 {{body takes ('f16'), but gets one scalar for each input and then the coordinates: ('f32')}}
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f16):
    tile.yield %x : f16
  }
  return
}

// -----

func.func @map(%s: tensor<64x64xf32>) {
  // expected-error @+1 {{body yields ('f32') for results of types ('tensor<64x64xf16>'); yield one scalar of each result's element type}}
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}

// -----

func.func @map(%s: tensor<64x64xf32>, %v: memref<1xf32>, %i: index) {
  %r = tile.map ins(%s : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%x: f32):
    // expected-error @+1 {{stands in the body of a tile.map, which holds arith, math and memref.load ops; move it out}}
    memref.store %x, %v[%i] : memref<1xf32>
    tile.yield %x : f32
  }
  return
}

// -----

// Reductions.

func.func @reduce(%s: tensor<64x64xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{expects one initial value per row, but the scores have 64 rows and the initial value has 32; slice both with the same query block size}}
  %r = tile.reduce max %s init(%m) : tensor<64x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @above(%s: tensor<64x64xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{expects one limit per row, but the scores have 64 rows and the limit has 32; slice both with the same query block size}}
  %c = tile.any_above %s, %m : tensor<64x64xf32>, tensor<32xf32>
  return
}

// -----

func.func @above(%s: tensor<64x64xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{expects a floor below 0, but got 1.000000e+00; compare the negated scores with a limit}}
  %c = tile.any_above %s, %m floor(1.0) : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @reduce(%s: tensor<64x64xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{defers max, but only add has parts that can be summed up later; drop deferred}}
  %r = tile.reduce max %s init(%m) deferred : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @reduce(%s: tensor<64x64xf32>, %m: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @+1 {{is deferred, so its result is in parts; use tile.collect first}}
  %r = tile.reduce add %s init(%m) deferred : tensor<64x64xf32>, tensor<64xf32>
  // expected-note @+1 {{used as a whole here}}
  return %r : tensor<64xf32>
}
