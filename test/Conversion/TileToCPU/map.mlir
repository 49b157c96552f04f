// RUN: flashc-opt %s --convert-tile-to-cpu=vector-bits=256 --canonicalize --cse | FileCheck %s

!view = memref<?x?x?x32xf16, strided<[?, ?, ?, 1], offset: ?>>
!rows = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>

// A 16-bit tile is held as f32: widened when read, rounded where the body does, narrowed when stored. What does not depend on the
// column stays scalar, outside of the column loop. The result takes the input's place.
// CHECK-LABEL: func.func @rows_and_columns(
// CHECK-DAG:     %[[TILE:.+]] = memref.view {{.*}} to memref<16x32xf32>
// CHECK:         arith.extf %{{.+}} : vector<8xf16> to vector<8xf32>
// CHECK:         scf.for %[[R:.+]] =
// CHECK:           %[[I:.+]] = arith.addi %{{.+}}, %[[R]] : index
// CHECK:           %[[ROW:.+]] = arith.index_cast %[[I]] : index to i32
// CHECK:           scf.for %[[C:.+]] =
// CHECK:             %[[X:.+]] = vector.load %[[TILE]][%[[R]], %[[C]]] : memref<16x32xf32>, vector<8xf32>
// CHECK:             arith.cmpi sle, %{{.+}}, %{{.+}} : vector<8xindex>
// CHECK:             %[[Y:.+]] = arith.select %{{.+}}, %[[X]], %{{.+}} : vector<8xi1>, vector<8xf32>
// CHECK:             %[[ROUND:.+]] = arith.truncf %{{.+}} : vector<8xf32> to vector<8xf16>
// CHECK:             %[[HELD:.+]] = arith.extf %[[ROUND]]
// CHECK:             vector.store %[[HELD]], %[[TILE]][%[[R]], %[[C]]]
tile.kernel @rows_and_columns(%q: !view, %o: !view {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %b, %h, %i = tile.program
  %row = arith.muli %i, %c16 : index
  %t = tile.load %q[%b, %h, %row] : !view -> tensor<16x32xf16>
  %r = tile.map ins(%t : tensor<16x32xf16>) at(%row, %c0) -> tensor<16x32xf16> {
  ^bb0(%x: f16, %ii: index, %jj: index):
    %f = arith.extf %x : f16 to f32
    %n = arith.index_cast %ii : index to i32
    %g = arith.sitofp %n : i32 to f32
    %in = arith.cmpi sle, %jj, %ii : index
    %s = arith.select %in, %f, %zero : f32
    %a = arith.addf %s, %g : f32
    %y = arith.truncf %a : f32 to f16
    tile.yield %y : f16
  }
  tile.store %r, %o[%b, %h, %row] : tensor<16x32xf16>, !view
  tile.return
}

// Rank 1: a vector of rows; a truth value is a byte, and tile.any looks at all of them.
// CHECK-LABEL: func.func @any_row(
// CHECK:         %[[BITS:.+]] = memref.view {{.*}} to memref<16xi8>
// CHECK:         %[[BYTES:.+]] = arith.extui %{{.+}} : vector<8xi1> to vector<8xi8>
// CHECK:         vector.store %[[BYTES]], %[[BITS]]
// CHECK:         arith.ori %{{.+}}, %{{.+}} : vector<8xi8>
// CHECK:         %[[SOME:.+]] = vector.reduction <or>
// CHECK:         %[[ANY:.+]] = arith.cmpi ne, %[[SOME]]
// CHECK:         scf.if %[[ANY]]
tile.kernel @any_row(%q: !view, %lse: !rows {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : tensor<16xf32>
  %one = arith.constant 1.0 : f32
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %b, %h, %i = tile.program
  %m = tile.reduce max %zeros init(%none) : tensor<16x32xf32>, tensor<16xf32>
  %big = tile.map ins(%m : tensor<16xf32>) -> tensor<16xi1> {
  ^bb0(%x: f32):
    %y = arith.cmpf ogt, %x, %one : f32
    tile.yield %y : i1
  }
  %any = tile.any %big : tensor<16xi1>
  scf.if %any {
    tile.store %m, %lse[%b, %h, %c0] : tensor<16xf32>, !rows
  }
  tile.return
}

// A tile against its rows' limits, and NaN or infinity in it: all vectors, and their lanes last.
// CHECK-LABEL: func.func @any_element(
// CHECK:         %[[LIMIT:.+]] = vector.broadcast %{{.+}} : f32 to vector<8xf32>
// CHECK:         arith.cmpf ogt, %{{.+}}, %[[LIMIT]] : vector<8xf32>
// CHECK:         %[[ABOVE:.+]] = vector.reduction <or>, %{{.+}} : vector<8xi1> into i1
// CHECK:         arith.cmpf ogt
// CHECK:         arith.cmpf olt, %{{.+}}, %{{.+}} : vector<8xf32>
// CHECK:         math.absf
// CHECK:         arith.cmpf ueq
// CHECK:         %[[SPOILT:.+]] = vector.reduction <or>, %{{.+}} : vector<8xi1> into i1
// CHECK:         %[[SOME:.+]] = arith.ori %[[ABOVE]], %[[SPOILT]]
tile.kernel @any_element(%q: !view, %lse: !rows {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : tensor<16xf32>
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %b, %h, %i = tile.program
  %m = tile.reduce max %zeros init(%none) : tensor<16x32xf32>, tensor<16xf32>
  %above = tile.any_above %zeros, %m : tensor<16x32xf32>, tensor<16xf32>
  %outside = tile.any_above %zeros, %m floor(-0.5) : tensor<16x32xf32>, tensor<16xf32>
  %spoilt = tile.any_not_finite %zeros : tensor<16x32xf32>
  %some = arith.ori %above, %spoilt : i1
  %any = arith.ori %some, %outside : i1
  scf.if %any {
    tile.store %m, %lse[%b, %h, %c0] : tensor<16xf32>, !rows
  }
  tile.return
}

// A captured tensor: one load a row where the lanes agree, else one a lane, widened before they make a vector.
// CHECK-LABEL: func.func @captured(
// CHECK-SAME:    %[[SLOPES:[a-z0-9]+]]: memref<?xf32>, %[[BIAS:[a-z0-9]+]]: memref<?xbf16>
// CHECK:         scf.for
// CHECK:           memref.load %[[SLOPES]][%{{.+}}]
// CHECK:           scf.for
// CHECK-NOT:         memref.load %[[SLOPES]]
// CHECK-COUNT-8:     memref.load %[[BIAS]]
// CHECK:             vector.from_elements {{.+}} : vector<8xf32>
tile.kernel @captured(%q: !view, %slopes: memref<?xf32>, %bias: memref<?xbf16>, %o: memref<?x?x?x32xf32, strided<[?, ?, ?, 1], offset: ?>> {tile.output}) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %b, %h, %i = tile.program
  %zeros = arith.constant dense<0.0> : tensor<16x32xf32>
  %r = tile.map ins(%zeros : tensor<16x32xf32>) at(%c0, %c0) -> tensor<16x32xf32> {
  ^bb0(%x: f32, %ii: index, %jj: index):
    %s = memref.load %slopes[%ii] : memref<?xf32>
    %t = memref.load %bias[%jj] : memref<?xbf16>
    %u = arith.extf %t : bf16 to f32
    %y = arith.mulf %s, %u : f32
    %z = arith.addf %x, %y : f32
    tile.yield %z : f32
  }
  tile.store %r, %o[%b, %h, %c0] : tensor<16x32xf32>, memref<?x?x?x32xf32, strided<[?, ?, ?, 1], offset: ?>>
  tile.return
}
