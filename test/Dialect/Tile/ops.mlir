// RUN: flashc-opt %s --verify-roundtrip | FileCheck %s
//
// The example of every op's text, word for word.

// CHECK-LABEL: tile.kernel @fwd(
// CHECK-SAME:    attributes {schedule = #tile.schedule<q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>}
tile.kernel @fwd(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {schedule = #tile.schedule<
    q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>} { tile.return }

// CHECK-LABEL: func.func @program(
// CHECK:         tile.program longest_first{{$}}
// CHECK:         tile.program longest_first abreast(1024)
// CHECK:         tile.program descending
// CHECK:         tile.program{{$}}
func.func @program() {
  %b, %h, %i = tile.program longest_first
  %b2, %h2, %i2 = tile.program longest_first abreast(1024)
  %b3, %h3, %i3 = tile.program descending
  %b1, %h1, %i1 = tile.program
  return
}

// CHECK-LABEL: func.func @own_rows(
// CHECK:         tile.own_rows %{{.+}}
func.func @own_rows(%row: index) {
  %first, %end = tile.own_rows %row
  return
}

// CHECK-LABEL: func.func @load(
// CHECK:         tile.load %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<128x48xf16>
// CHECK:         tile.load %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] limit(%{{.+}}) :
func.func @load(%view: memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %h: index, %row: index, %n: index) {
  %q = tile.load %view[%b, %h, %row] : memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<128x48xf16>
  %k = tile.load %view[%b, %h, %row] limit(%n) : memref<?x?x?x40xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<128x48xf16>
  return
}

// CHECK-LABEL: func.func @stream(
// CHECK:         %[[KS:.+]] = tile.stream %{{.+}}[%{{.+}}, %{{.+}}] blocks(%{{.+}} to %{{.+}}) :
// CHECK-SAME:      -> !tile.stream<64x64xf16>
// CHECK:         tile.next %[[KS]][%{{.+}}] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
// CHECK:         tile.stream %{{.+}} limit(%{{.+}}) :
func.func @stream(%view: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %h: index, %lo: index, %hi: index,
                  %j: index, %n: index) {
  %ks = tile.stream %view[%b, %h] blocks(%lo to %hi) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.stream<64x64xf16>
  %k = tile.next %ks[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
  %vs = tile.stream %view[%b, %h] blocks(%lo to %hi) limit(%n) : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> !tile.stream<64x64xf16>
  return
}

// CHECK-LABEL: func.func @store(
// CHECK:         tile.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<128x64xf16>,
// CHECK:         tile.store %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<128xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
func.func @store(%o: tensor<128x64xf16>, %lse: tensor<128xf32>, %view: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>,
                 %rows: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %b: index, %h: index, %row: index) {
  tile.store %o, %view[%b, %h, %row] : tensor<128x64xf16>, memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  tile.store %lse, %rows[%b, %h, %row] : tensor<128xf32>, memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @dot(
// CHECK:         tile.dot %{{.+}}, %{{.+}} acc(%{{.+}}) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
// CHECK:         tile.dot %{{.+}}, %{{.+}} acc(%{{.+}}) : tensor<128x64xf16>, tensor<64x32xf16> -> tensor<128x32xf32>
func.func @dot(%q: tensor<128x64xf16>, %k: tensor<64x64xf16>, %zero: tensor<128x64xf32>, %v: tensor<64x32xf16>,
               %acc: tensor<128x32xf32>) -> (tensor<128x64xf32>, tensor<128x32xf32>) {
  %s = tile.dot %q, %k acc(%zero) transpose_b : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
  %o = tile.dot %q, %v acc(%acc) : tensor<128x64xf16>, tensor<64x32xf16> -> tensor<128x32xf32>
  return %s, %o : tensor<128x64xf32>, tensor<128x32xf32>
}

// CHECK-LABEL: func.func @mask(
// CHECK:         tile.mask %{{.+}} at(%{{.+}}, %{{.+}}) symbols(%{{.+}}, %{{.+}}) sets([#{{.+}}]) : tensor<128x64xf32>
// CHECK:         tile.mask %{{.+}} at(%{{.+}}, %{{.+}}) symbols() sets([]) : tensor<128x64xf32>
func.func @mask(%s: tensor<128x64xf32>, %i0: index, %j0: index, %sq: index, %sk: index) -> tensor<128x64xf32> {
  // causal, bottom-right, and j < Sk
  %r = tile.mask %s at(%i0, %j0) symbols(%sq, %sk) sets([affine_set<(i, j)[sq, sk] : (i + sk - sq - j >= 0, sk - 1 - j >= 0)>])
      : tensor<128x64xf32>
  %none = tile.mask %r at(%i0, %j0) symbols() sets([]) : tensor<128x64xf32>
  return %none : tensor<128x64xf32>
}

// CHECK-LABEL: func.func @softmax(
// CHECK:         tile.softmax_update %{{.+}}, %{{.+}}, %{{.+}} base(e) scale(1.250000e-01) : tensor<64x128xf32>, tensor<64xf32>
// CHECK:         tile.softmax_update %{{.+}}, %{{.+}}, %{{.+}} base(two) scale(1.250000e-01) lazy(8.000000e+00) :
// CHECK:         tile.softmax_update %{{.+}}, %{{.+}}, %{{.+}} offset(%{{.+}} : tensor<64xf32>) base(two) scale(1.250000e-01) :
// CHECK:         tile.rescale %{{.+}} by %{{.+}} : tensor<64x128xf32>, tensor<64xf32>
// CHECK-LABEL: func.func @finish(
// CHECK:         tile.finish %{{.+}}, %{{.+}}, %{{.+}} base(two) scale(1.250000e-01) :
func.func @softmax(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>, %o: tensor<64x128xf32>, %acc: tensor<64x128xf32>) {
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %l base(e) scale(0.125)
      : tensor<64x128xf32>, tensor<64xf32>
  %p2, %m2, %l2, %alpha2 = tile.softmax_update %s, %m, %l base(two) scale(0.125) lazy(8.0) : tensor<64x128xf32>, tensor<64xf32>
  %p3, %m3, %l3, %alpha3 = tile.softmax_update %s, %m, %l offset(%m : tensor<64xf32>) base(two) scale(0.125) : tensor<64x128xf32>, tensor<64xf32>
  %o1 = tile.rescale %o by %alpha : tensor<64x128xf32>, tensor<64xf32>
  return
}

func.func @finish(%acc: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) {
  %o, %lse = tile.finish %acc, %m, %l base(two) scale(0.125) : tensor<64x128xf32>, tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @map(
// CHECK:         tile.map ins(%{{.+}}, %{{.+}} : tensor<64x128xf32>, tensor<64xf32>) at(%{{.+}}, %{{.+}}) -> tensor<64x128xf16> {
// CHECK:         tile.map ins(%{{.+}} : tensor<64xf32>) at(%{{.+}}) -> tensor<64xf32>, tensor<64xi1> {
func.func @map(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %i0: index, %j0: index, %limit: f32) {
  %r = tile.map ins(%s, %m : tensor<64x128xf32>, tensor<64xf32>) at(%i0, %j0) -> tensor<64x128xf16> {
  ^bb0(%x: f32, %y: f32, %i: index, %j: index):
    %d = arith.subf %x, %y : f32
    %h = arith.truncf %d : f32 to f16
    tile.yield %h : f16
  }
  %rows:2 = tile.map ins(%m : tensor<64xf32>) at(%i0) -> tensor<64xf32>, tensor<64xi1> {
  ^bb0(%x: f32, %i: index):
    %large = arith.cmpf ogt, %x, %limit : f32
    tile.yield %x, %large : f32, i1
  }
  return
}

// CHECK-LABEL: func.func @reduce(
// CHECK:         tile.reduce max %{{.+}} init(%{{.+}}) : tensor<64x128xf32>, tensor<64xf32>
// CHECK:         %[[PARTS:.+]] = tile.reduce add %{{.+}} init(%{{.+}}) deferred : tensor<64x128xf32>, tensor<64xf32>
// CHECK:         tile.collect %[[PARTS]] : tensor<64xf32>
func.func @reduce(%s: tensor<64x128xf32>, %p: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64xf32> {
  %m1 = tile.reduce max %s init(%m) : tensor<64x128xf32>, tensor<64xf32>
  %l1 = tile.reduce add %p init(%l) deferred : tensor<64x128xf32>, tensor<64xf32>
  %sum = tile.collect %l1 : tensor<64xf32>
  return %sum : tensor<64xf32>
}

func.func @collect(%parts: tensor<64xf32>) -> tensor<64xf32> {
  %l = tile.collect %parts : tensor<64xf32>
  return %l : tensor<64xf32>
}

// CHECK-LABEL: func.func @any(
// CHECK:         tile.any %{{.+}} : tensor<64xi1>
func.func @any(%rows: tensor<64xi1>) -> i1 {
  %c = tile.any %rows : tensor<64xi1>
  return %c : i1
}

// CHECK-LABEL: tile.kernel @grid(
// CHECK-SAME:    grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 64>
tile.kernel @grid(%sums: memref<?xf32> {tile.output}, %k: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {
    grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 64>, schedule = #tile.schedule<
    q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>} { tile.return }

// CHECK-LABEL: tile.kernel @one_program(
// CHECK-SAME:    grid = #tile.grid<batch = [], heads = [], blocks = [0, 0], rows = 16>
tile.kernel @one_program(%sums: memref<?xf32> {tile.output}) attributes {
    grid = #tile.grid<batch = [], heads = [], blocks = [0, 0], rows = 16>, schedule = #tile.schedule<
    q = 128, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 166912>} { tile.return }

// CHECK-LABEL: func.func @load_row_values(
// CHECK:         tile.load %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<64xf32>
// CHECK:         tile.load %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] limit(%{{.+}}) : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<1x64xf32>
func.func @load_row_values(%rows: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %b: index, %h: index, %row: index, %n: index) {
  %x = tile.load %rows[%b, %h, %row] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<64xf32>
  %y = tile.load %rows[%b, %h, %row] limit(%n) : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<1x64xf32>
  return
}

// CHECK-LABEL: func.func @transposed(
// CHECK:         tile.dot %{{.+}}, %{{.+}} acc(%{{.+}}) transpose_a guarded : tensor<64x128xf16>, tensor<64x32xf16> -> tensor<128x32xf32>
// CHECK:         tile.mask %{{.+}} at(%{{.+}}, %{{.+}}) transposed symbols(%{{.+}}) sets(
func.func @transposed(%ds: tensor<64x128xf16>, %k: tensor<64x32xf16>, %acc: tensor<128x32xf32>, %s: tensor<64x128xf32>, %i0: index,
                      %j0: index, %sq: index) -> (tensor<128x32xf32>, tensor<64x128xf32>) {
  %dq = tile.dot %ds, %k acc(%acc) transpose_a guarded : tensor<64x128xf16>, tensor<64x32xf16> -> tensor<128x32xf32>
  %m = tile.mask %s at(%i0, %j0) transposed symbols(%sq) sets([affine_set<(i, j)[sq] : (i - 2 * j >= 0, sq - 1 - i >= 0)>]) : tensor<64x128xf32>
  return %dq, %m : tensor<128x32xf32>, tensor<64x128xf32>
}

// CHECK-LABEL: func.func @probs(
// CHECK:         tile.probs %{{.+}}, %{{.+}} base(e) scale(1.250000e-01) : tensor<64x128xf32>, tensor<1x128xf32>
// CHECK:         tile.probs %{{.+}}, %{{.+}} base(two) scale(1.250000e-01) as_exponent : tensor<64x128xf32>, tensor<1x128xf32>
// CHECK:         tile.probs_gradient %{{.+}}, %{{.+}}, %{{.+}} guarded : tensor<64x128xf32>, tensor<1x128xf32>
// CHECK:         tile.probs_gradient %{{.+}}, %{{.+}}, %{{.+}} : tensor<64x128xf32>, tensor<64xf32>
func.func @probs(%s: tensor<64x128xf32>, %lse: tensor<1x128xf32>, %dp: tensor<64x128xf32>, %delta: tensor<1x128xf32>, %rows: tensor<64xf32>) {
  %p = tile.probs %s, %lse base(e) scale(0.125) : tensor<64x128xf32>, tensor<1x128xf32>
  %p1 = tile.probs %s, %lse base(two) scale(0.125) as_exponent : tensor<64x128xf32>, tensor<1x128xf32>
  %ds = tile.probs_gradient %p, %dp, %delta guarded : tensor<64x128xf32>, tensor<1x128xf32>
  %ds1 = tile.probs_gradient %p, %dp, %rows : tensor<64x128xf32>, tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @accumulate(
// CHECK:         tile.accumulate %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] ordered : tensor<128x64xf32>,
// CHECK:         tile.accumulate %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] ordered turns(%{{.+}} : memref<?x?x?xi32, {{.+}}>) follows(%{{.+}}) :
// CHECK:         tile.accumulate %{{.+}}, %{{.+}}[%{{.+}}, %{{.+}}, %{{.+}}] : tensor<128x64xf32>,
func.func @accumulate(%dq: tensor<128x64xf32>, %view: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>, %b: index, %h: index,
                      %row: index, %turns: memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>, %before: i1) {
  tile.accumulate %dq, %view[%b, %h, %row] ordered : tensor<128x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
  tile.accumulate %dq, %view[%b, %h, %row] ordered turns(%turns : memref<?x?x?xi32, strided<[?, ?, 1], offset: ?>>) follows(%before)
      : tensor<128x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
  tile.accumulate %dq, %view[%b, %h, %row] : tensor<128x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
  return
}

// CHECK-LABEL: func.func @scatter(
// CHECK:         tile.scatter add ins(%{{.+}} : tensor<64x128xf32>) at(%{{.+}}, %{{.+}}) ordered to %{{.+}} : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
// CHECK:           tile.yield %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : i1, f32, index, index, index
// CHECK:         tile.scatter set ins(%{{.+}} : tensor<64xf32>) at(%{{.+}}) exclusive to %{{.+}} : memref<?xf32>
func.func @scatter(%x: tensor<64x128xf32>, %j0: index, %i0: index, %sums: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>, %sq: index,
                   %b: index, %h: index, %rows: tensor<64xf32>, %out: memref<?xf32>) {
  tile.scatter add ins(%x : tensor<64x128xf32>) at(%j0, %i0) ordered to %sums : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {
  ^bb0(%v: f32, %j: index, %i: index):
    %inside = arith.cmpi slt, %i, %sq : index
    %d = arith.subi %sq, %i : index
    tile.yield %inside, %v, %b, %h, %d : i1, f32, index, index, index
  }
  tile.scatter set ins(%rows : tensor<64xf32>) at(%j0) exclusive to %out : memref<?xf32> {
  ^bb0(%v: f32, %j: index):
    %inside = arith.cmpi slt, %j, %sq : index
    tile.yield %inside, %v, %j : i1, f32, index
  }
  return
}

// CHECK-LABEL: func.func @map_columns(
// CHECK:         tile.map ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<64x128xf32>, tensor<1x128xf32>, tensor<64xf32>) -> tensor<64x128xf32>
func.func @map_columns(%s: tensor<64x128xf32>, %c: tensor<1x128xf32>, %r: tensor<64xf32>) -> tensor<64x128xf32> {
  %x = tile.map ins(%s, %c, %r : tensor<64x128xf32>, tensor<1x128xf32>, tensor<64xf32>) -> tensor<64x128xf32> {
  ^bb0(%a: f32, %b: f32, %d: f32):
    %y = math.fma %a, %b, %d : f32
    tile.yield %y : f32
  }
  return %x : tensor<64x128xf32>
}

// CHECK-LABEL: func.func @any_above(
// CHECK:         tile.any_above %{{.+}}, %{{.+}} : tensor<64x128xf32>, tensor<64xf32>
// CHECK:         tile.any_above %{{.+}}, %{{.+}} floor(-5.000000e-01) : tensor<64x128xf32>, tensor<64xf32>
func.func @any_above(%s: tensor<64x128xf32>, %limits: tensor<64xf32>) -> i1 {
  %c = tile.any_above %s, %limits : tensor<64x128xf32>, tensor<64xf32>
  %d = tile.any_above %s, %limits floor(-0.5) : tensor<64x128xf32>, tensor<64xf32>
  return %c : i1
}

// CHECK-LABEL: func.func @any_not_finite(
// CHECK:         tile.any_not_finite %{{.+}} : tensor<64x128xf32>
func.func @any_not_finite(%o: tensor<64x128xf32>) -> i1 {
  %c = tile.any_not_finite %o : tensor<64x128xf32>
  return %c : i1
}
