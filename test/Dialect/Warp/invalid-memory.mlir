// RUN: flashc-opt %s --split-input-file --verify-diagnostics

!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @tile_of_values(%rows: !rows, %i: index) {
  // expected-error @+1 {{'warp.load_values' op loads one f32 a row or column, but the fragment is '!warp.fragment<64x64xf32>'; use a rank-1 fragment, or one of column values}}
  %x = warp.load_values %rows[%i, %i, %i] : !rows -> !warp.fragment<64x64xf32>
  return
}

// -----

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
func.func @narrow_sums(%sums: !view, %i: index) {
  // expected-error @+1 {{'warp.load_sums' op moves whole rows, but the view is}}
  %x = warp.load_sums %sums[%i, %i, %i] : !view -> !warp.fragment<64x32xf32>
  return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @half_sums(%sums: !view, %x: !warp.fragment<64x64xf32>, %i: index) {
  // expected-error @+1 {{'warp.add_sums' op moves an f32 tile to or from f32 rows, but the fragment is}}
  warp.add_sums %x to %sums[%i, %i, %i] : !warp.fragment<64x64xf32>, !view
  return
}

// -----

func.func @add_half(%x: !warp.fragment<64xf32>, %m: memref<?xf16>, %i: index) {
  // expected-error @+1 {{'warp.scatter' op adds in f32, but the memory holds 'f16'; convert afterwards}}
  warp.scatter add ins(%x : !warp.fragment<64xf32>) at(%i) to %m : memref<?xf16> {
  ^bb0(%v: f32, %r: index):
    %yes = arith.constant true
    %h = arith.truncf %v : f32 to f16
    warp.yield %yes, %h, %r : i1, f16, index
  }
  return
}

// -----

func.func @parts_set(%x: !warp.fragment<64xf32, partial>, %m: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'warp.scatter' op takes whole inputs of one shape, or one partial input that it adds as it is, but input 0 is}}
  warp.scatter set ins(%x : !warp.fragment<64xf32, partial>) at(%i) to %m : memref<?xf32> {
  ^bb0(%v: f32, %r: index):
    %yes = arith.constant true
    warp.yield %yes, %v, %r : i1, f32, index
  }
  return
}

// -----

func.func @yields_little(%x: !warp.fragment<64xf32>, %m: memref<?xf32>, %i: index) {
  // expected-error @+1 {{'warp.scatter' op body yields ('f32'), but says whether to write, what and where: ('i1', 'f32', 'index')}}
  warp.scatter add ins(%x : !warp.fragment<64xf32>) at(%i) to %m : memref<?xf32> {
  ^bb0(%v: f32, %r: index):
    warp.yield %v : f32
  }
  return
}

// -----

func.func @registers_transposed(%x: !warp.fragment<64x64xf16>, %k: !warp.buffer<64x64xf16, 64>, %acc: !warp.fragment<64x64xf32>) {
  // expected-error @+1 {{'warp.mma' op transposes A on its way from shared memory, but A is '!warp.fragment<64x64xf16>'; store it first}}
  %y = warp.mma %x, %k acc(%acc) transpose_a : !warp.fragment<64x64xf16>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<64x64xf32>
  return
}

// -----

// expected-error @+1 {{fragment of column values is 1 x columns, but this one has rank 1; drop 'of'}}
func.func private @tall_columns(!warp.fragment<64xf32, of 64>)

// -----

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{takes its grid from its arguments, but there is no dimension 4 of an argument 0; name one that is there, or -1 for 1}}
warp.kernel @no_dim(%sums: !view) attributes {grid = array<i64: 0, 0, 0, 1, 0, 4>, q_block = 64 : i64, warps = 4 : i64} { warp.return }

// -----

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
// expected-error @+1 {{has a grid of batches, heads and rows, an argument and a dimension each, but it has 2 numbers; give six}}
warp.kernel @short_grid(%sums: !view) attributes {grid = array<i64: 0, 0>, q_block = 64 : i64, warps = 4 : i64} { warp.return }
