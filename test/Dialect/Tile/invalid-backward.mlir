// RUN: flashc-opt %s --split-input-file --verify-diagnostics
//
// Each sentence of the verifiers of what the backward needs once.

// expected-error @+1 {{expects a place to be [argument, dimension] or [], but got [1]; write [1, 2] for dimension 2 of argument 1}}
#g = #tile.grid<batch = [1], heads = [], blocks = [], rows = 64>

// -----

// expected-error @+1 {{expects a place to be [argument, dimension] or [], but got [0, -1]; write [1, 2] for dimension 2 of argument 1}}
#g = #tile.grid<batch = [], heads = [0, -1], blocks = [], rows = 64>

// -----

// expected-error @+1 {{expects 1 to 65536 rows of a block, but got 0}}
#g = #tile.grid<batch = [], heads = [], blocks = [], rows = 0>

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536>
// expected-error @+1 {{has the grid #tile.grid<batch = [1, 0], heads = [], blocks = [], rows = 64>, but there is no dimension 0 of an argument #1; name one that is there}}
tile.kernel @no_argument(%x: memref<4xf32>) attributes {grid = #tile.grid<batch = [1, 0], heads = [], blocks = [], rows = 64>, schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536>
// expected-error @+1 {{has the grid #tile.grid<batch = [], heads = [], blocks = [0, 1], rows = 64>, but there is no dimension 1 of an argument #0; name one that is there}}
tile.kernel @no_dimension(%x: memref<4xf32>) attributes {grid = #tile.grid<batch = [], heads = [], blocks = [0, 1], rows = 64>, schedule = #s} { tile.return }

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536>
// expected-error @+1 {{argument #1 is written but has no tile.output; add it}}
tile.kernel @accumulates(%q: memref<1x1x64x64xf32>, %dq: memref<1x1x64x64xf32>) attributes {schedule = #s} {
  %b, %h, %i = tile.program
  %x = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-note @+1 {{written here}}
  tile.accumulate %x, %dq[%b, %h, %i] : tensor<64x64xf32>, memref<1x1x64x64xf32>
  tile.return
}

// -----

#s = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 65536>
// expected-error @+1 {{argument #1 is written but has no tile.output; add it}}
tile.kernel @scatters(%q: memref<1x1x64x64xf32>, %out: memref<64xf32>) attributes {schedule = #s} {
  %b, %h, %i = tile.program
  %x = arith.constant dense<0.0> : tensor<64xf32>
  %yes = arith.constant true
  // expected-note @+1 {{written here}}
  tile.scatter set ins(%x : tensor<64xf32>) at(%i) to %out : memref<64xf32> {
  ^bb0(%v: f32, %r: index):
    tile.yield %yes, %v, %r : i1, f32, index
  }
  tile.return
}

// -----

func.func @row_values_element(%rows: memref<?x?x?xf32>, %b: index) {
  // expected-error @+1 {{moves tiles of 'f16' but the view holds 'f32'; convert with tile.map}}
  %x = tile.load %rows[%b, %b, %b] : memref<?x?x?xf32> -> tensor<64xf16>
  return
}

// -----

func.func @row_values_shape(%rows: memref<?x?x?xf32>, %b: index) {
  // expected-error @+1 {{reads a 3-D view, which has one value a row, as 'tensor<2x64xf32>'; use a tile of rank 1 or of one row}}
  %x = tile.load %rows[%b, %b, %b] : memref<?x?x?xf32> -> tensor<2x64xf32>
  return
}

// -----

func.func @block_rank(%view: memref<?x?x?x64xf32>, %b: index) {
  // expected-error @+1 {{reads a 4-D view as 'tensor<64xf32>', but its blocks have rank 2; load rows x columns}}
  %x = tile.load %view[%b, %b, %b] : memref<?x?x?x64xf32> -> tensor<64xf32>
  return
}

// -----

func.func @dot(%a: tensor<32x64xf16>, %b: tensor<48x16xf16>, %acc: tensor<64x16xf32>) {
  // expected-error @+1 {{sums over 32 rows of A but 48 rows of B; pad both alike or change transpose_a or transpose_b}}
  %r = tile.dot %a, %b acc(%acc) transpose_a : tensor<32x64xf16>, tensor<48x16xf16> -> tensor<64x16xf32>
  return
}

// -----

func.func @dot(%a: tensor<32x64xf16>, %b: tensor<32x16xf16>, %acc: tensor<32x16xf32>) {
  // expected-error @+1 {{has a product of 64x16 but an accumulator of 32x16; make them equal}}
  %r = tile.dot %a, %b acc(%acc) transpose_a : tensor<32x64xf16>, tensor<32x16xf16> -> tensor<32x16xf32>
  return
}

// -----

func.func @mask(%s: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{set #0 has the coefficient 2 for i, but it is -1, 0 or 1; divide the inequality by it}}
  %m = tile.mask %s at(%i, %i) transposed symbols() sets([affine_set<(i, j) : (2 * i - j >= 0)>]) : tensor<64x64xf32>
  return
}

// -----

func.func @probs(%s: tensor<64x128xf32>, %lse: tensor<128xf32>) {
  // expected-error @+1 {{expects one log-sum-exp for each row or, as a tile of one row, for each column of 'tensor<64x128xf32>', but has 'tensor<128xf32>'; slice both with the same blocks}}
  %p = tile.probs %s, %lse base(e) scale(1.0) : tensor<64x128xf32>, tensor<128xf32>
  return
}

// -----

func.func @probs_scale(%s: tensor<64x128xf32>, %lse: tensor<64xf32>) {
  // expected-error @+1 {{expects a finite scale above 0, but got -1.000000e+00; multiply the scores by it instead}}
  %p = tile.probs %s, %lse base(e) scale(-1.0) : tensor<64x128xf32>, tensor<64xf32>
  return
}

// -----

func.func @probs_gradient(%p: tensor<64x128xf32>, %delta: tensor<1x64xf32>) {
  // expected-error @+1 {{expects one delta for each row or, as a tile of one row, for each column of 'tensor<64x128xf32>', but has 'tensor<1x64xf32>'; slice both with the same blocks}}
  %d = tile.probs_gradient %p, %p, %delta : tensor<64x128xf32>, tensor<1x64xf32>
  return
}

// -----

func.func @turns(%x: tensor<64x64xf32>, %view: memref<?x?x?x64xf32>, %i: index, %turns: memref<?x?x?xi32>) {
  // expected-error @+1 {{has turns, but adds in any order; add 'ordered' or take them out}}
  tile.accumulate %x, %view[%i, %i, %i] turns(%turns : memref<?x?x?xi32>) : tensor<64x64xf32>, memref<?x?x?x64xf32>
  return
}

// -----

func.func @accumulate(%x: tensor<64x64xf32>, %view: memref<?x?x?x128xf32>, %i: index) {
  // expected-error @+1 {{expects tiles at least as wide as the view's head dim, but they have 64 columns and the head dim is 128; pad the tile}}
  tile.accumulate %x, %view[%i, %i, %i] : tensor<64x64xf32>, memref<?x?x?x128xf32>
  return
}

// -----

func.func @scatter_inputs(%out: memref<?xf32>, %yes: i1, %i: index) {
  // expected-error @+1 {{has no input, but writes an element for each of its inputs' elements; give one}}
  "tile.scatter"(%out) <{kind = 0 : i32, operandSegmentSizes = array<i32: 0, 0, 1>}> ({
    %v = arith.constant 0.0 : f32
    tile.yield %yes, %v, %i : i1, f32, index
  }) : (memref<?xf32>) -> ()
  return
}

// -----

func.func @scatter_type(%x: tensor<64xf16>, %out: memref<?xf16>, %yes: i1) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{adds to memory of 'f16', but sums are f32; convert afterwards}}
  tile.scatter add ins(%x : tensor<64xf16>) at(%c0) to %out : memref<?xf16> {
  ^bb0(%v: f16, %r: index):
    tile.yield %yes, %v, %r : i1, f16, index
  }
  return
}

// -----

func.func @scatter_order(%x: tensor<64xf32>, %out: memref<?xf32>, %yes: i1) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{sets in order, but only sums depend on an order; drop ordered}}
  tile.scatter set ins(%x : tensor<64xf32>) at(%c0) ordered to %out : memref<?xf32> {
  ^bb0(%v: f32, %r: index):
    tile.yield %yes, %v, %r : i1, f32, index
  }
  return
}

// -----

func.func @scatter_exclusive(%x: tensor<64xf32>, %out: memref<?xf32>, %yes: i1) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{is both exclusive and ordered, but nobody else adds to what is exclusive; drop one of them}}
  tile.scatter add ins(%x : tensor<64xf32>) at(%c0) exclusive ordered to %out : memref<?xf32> {
  ^bb0(%v: f32, %r: index):
    tile.yield %yes, %v, %r : i1, f32, index
  }
  return
}

// -----

func.func @scatter_yield(%x: tensor<64xf32>, %out: memref<?x?xf32>, %yes: i1) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{body yields ('i1', 'f32', 'index'), but says whether to write, what and where: ('i1', 'f32', 'index', 'index')}}
  tile.scatter add ins(%x : tensor<64xf32>) at(%c0) to %out : memref<?x?xf32> {
  ^bb0(%v: f32, %r: index):
    tile.yield %yes, %v, %r : i1, f32, index
  }
  return
}

// -----

func.func @scatter_body(%x: tensor<64xf32>, %out: memref<?xf32>, %yes: i1) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{body takes ('f32'), but gets one scalar for each input and then the coordinates: ('f32', 'index')}}
  tile.scatter add ins(%x : tensor<64xf32>) at(%c0) to %out : memref<?xf32> {
  ^bb0(%v: f32):
    tile.yield %yes, %v, %c0 : i1, f32, index
  }
  return
}

// -----

func.func @scatter_ops(%x: tensor<64xf32>, %out: memref<?xf32>, %yes: i1) {
  %c0 = arith.constant 0 : index
  tile.scatter add ins(%x : tensor<64xf32>) at(%c0) to %out : memref<?xf32> {
  ^bb0(%v: f32, %r: index):
    // expected-error @+1 {{stands in the body of a tile.scatter, which holds arith, math and memref.load ops; move it out}}
    memref.store %v, %out[%r] : memref<?xf32>
    tile.yield %yes, %v, %r : i1, f32, index
  }
  return
}
