// RUN: flashc-opt %s --tile-overlap-pairs --canonicalize --cse | FileCheck %s
//
// The same loop where two groups share the results of 64 keys: one finds the scores ready when a pair's turn begins, the other dP, and
// either starts that of the next pair behind its product for the sum. (Input: head dim 64, no mask, two heads.)

// CHECK-LABEL: tile.kernel @attention_backward(
// CHECK:         %[[K:.+]] = tile.load %arg1
// CHECK:         %[[Q0:.+]] = tile.load %arg0
// CHECK-NEXT:    %[[L0:.+]] = tile.load %arg4
// CHECK-NEXT:    %[[S0:.+]] = tile.dot %[[K]], %[[Q0]] acc(%{{.+}}) transpose_b
// CHECK-NEXT:    %[[V:.+]] = tile.load %arg2
// CHECK-NEXT:    %[[DO0:.+]] = tile.load %arg3
// CHECK-NEXT:    %[[D0:.+]] = tile.load %arg5
// CHECK-NEXT:    %[[DP0:.+]] = tile.dot %[[V]], %[[DO0]] acc(%{{.+}}) transpose_b
// CHECK-NEXT:    scf.for %{{.+}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %{{.+}}, %[[DK:.+]] = %{{.+}}, %[[DV:.+]] = %{{.+}}, %[[Q:.+]] = %[[Q0]], %[[S:.+]] = %[[S0]], %[[L:.+]] = %[[L0]], %[[DO:.+]] = %[[DO0]], %[[DP:.+]] = %[[DP0]], %[[D:.+]] = %[[D0]])
// CHECK:           %[[M:.+]] = scf.if
// CHECK-NEXT:        tile.mask %[[S]]
// CHECK:           %[[P:.+]] = tile.probs %[[M]], %[[L]] base(two)
// CHECK-NEXT:      %[[P16:.+]] = tile.map ins(%[[P]] :
// CHECK:           %[[DV1:.+]] = tile.dot %[[P16]], %[[DO]] acc(%[[DV]])
// CHECK-NEXT:      %[[P32:.+]] = tile.map ins(%[[P16]] :
// CHECK:           %[[DS:.+]] = tile.probs_gradient %[[P32]], %[[DP]], %[[D]]
// CHECK-NEXT:      %[[DS16:.+]] = tile.map ins(%[[DS]] :
// CHECK:           %[[DK1:.+]] = tile.dot %[[DS16]], %[[Q]] acc(%[[DK]])
// CHECK:           %[[Q1:.+]] = tile.load %arg0
// CHECK-NEXT:      %[[L1:.+]] = tile.load %arg4
// CHECK-NEXT:      %[[S1:.+]] = tile.dot %[[K]], %[[Q1]] acc(%{{.+}}) transpose_b
// CHECK-NEXT:      %[[DO1:.+]] = tile.load %arg3
// CHECK-NEXT:      %[[D1:.+]] = tile.load %arg5
// CHECK-NEXT:      %[[DP1:.+]] = tile.dot %[[V]], %[[DO1]] acc(%{{.+}}) transpose_b
// CHECK-NEXT:      %[[DQ:.+]] = tile.dot %[[DS16]], %[[K]] acc(%{{.+}}) transpose_a
// CHECK:           tile.accumulate %[[DQ]]
// CHECK-NEXT:      scf.yield %{{.+}}, %{{.+}}, %[[DK1]], %[[DV1]], %[[Q1]], %[[S1]], %[[L1]], %[[DO1]], %[[DP1]], %[[D1]]
#set = affine_set<(d0, d1)[s0, s1] : (-d1 + s1 - 1 >= 0, -d0 + s0 - 1 >= 0)>
tile.kernel @attention_backward(%arg0: memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "q"}, %arg1: memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "k"}, %arg2: memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "v"}, %arg3: memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "do"}, %arg4: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {tile.argument = "lse_rows", tile.workspace = ["batch", "heads", "queries up to 128"]}, %arg5: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> {tile.argument = "delta", tile.workspace = ["batch", "heads", "queries up to 128"]}, %arg6: memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "dk", tile.output}, %arg7: memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "dv", tile.output}, %arg8: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>> {tile.argument = "dq_sum", tile.output, tile.packed, tile.workspace = ["batch", "heads", "queries up to 64", "64"], tile.zeroed}) attributes {grid = #tile.grid<batch = [1, 0], heads = [1, 1], blocks = [1, 2], rows = 64>, schedule = #tile.schedule<q = 64, kv = 64, stages = 3, warps = 8, q_in_registers = false, sram = 232448, roles = <groups = 2, producer = 72, consumer = 216, overlap = true, turns = false, rescale = always, apart = false, ahead = false, skip = false>>} {
  %c-128 = arith.constant -64 : index
  %cst = arith.constant 1.250000e-01 : f32
  %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %c-1 = arith.constant -1 : index
  %c127 = arith.constant 63 : index
  %c0 = arith.constant 0 : index
  %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 64 : index
  %c2 = arith.constant 2 : index
  %batch, %head, %block = tile.program
  %dim = memref.dim %arg0, %c2 : memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %dim_2 = memref.dim %arg1, %c2 : memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %0 = arith.muli %block, %c128 : index
  %1 = tile.load %arg1[%batch, %head, %0] : memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<64x64xf16>
  %2 = tile.load %arg2[%batch, %head, %0] : memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<64x64xf16>
  %3 = arith.addi %0, %c128 : index
  %4 = arith.muli %block, %c-128 : index
  %5 = arith.addi %4, %dim_2 : index
  %6 = arith.addi %5, %c-1 : index
  %7 = arith.cmpi sge, %6, %c0 : index
  %8 = arith.addi %dim, %c127 : index
  %9 = arith.divui %8, %c128 : index
  %10 = arith.select %7, %9, %c0 : index
  %11 = arith.subi %dim_2, %3 : index
  %12 = arith.cmpi sge, %11, %c0 : index
  %13 = arith.divui %dim, %c128 : index
  %14 = arith.select %12, %13, %c0 : index
  %15 = arith.maxsi %10, %c0 : index
  %16 = arith.maxsi %14, %c0 : index
  %17:4 = scf.for %arg9 = %c0 to %15 step %c1 iter_args(%arg10 = %c0, %arg11 = %c0, %arg12 = %cst_1, %arg13 = %cst_1) -> (index, index, tensor<64x64xf32>, tensor<64x64xf32>) {
    %21 = arith.addi %head, %arg10 : index
    %22 = arith.muli %arg11, %c128 : index
    %23 = tile.load %arg0[%batch, %21, %22] : memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<64x64xf16>
    %24 = tile.load %arg3[%batch, %21, %22] : memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> tensor<64x64xf16>
    %25 = tile.load %arg4[%batch, %21, %22] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<1x64xf32>
    %26 = tile.dot %1, %23 acc(%cst_0) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %27 = arith.cmpi sge, %arg11, %16 : index
    %28 = scf.if %27 -> (tensor<64x64xf32>) {
      %44 = tile.mask %26 at(%22, %0) transposed symbols(%dim, %dim_2) sets([#set]) : tensor<64x64xf32>
      scf.yield %44 : tensor<64x64xf32>
    } else {
      scf.yield %26 : tensor<64x64xf32>
    }
    %29 = tile.probs %28, %25 base(two) scale(0.180336878) : tensor<64x64xf32>, tensor<1x64xf32>
    %30 = tile.load %arg5[%batch, %21, %22] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<1x64xf32>
    %31 = tile.dot %2, %24 acc(%cst_0) transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %32 = tile.probs_gradient %29, %31, %30 : tensor<64x64xf32>, tensor<1x64xf32>
    %33 = tile.map ins(%29 : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%arg14: f32):
      %44 = arith.truncf %arg14 : f32 to f16
      tile.yield %44 : f16
    }
    %34 = tile.map ins(%32 : tensor<64x64xf32>) -> tensor<64x64xf16> {
    ^bb0(%arg14: f32):
      %44 = arith.truncf %arg14 : f32 to f16
      tile.yield %44 : f16
    }
    %35 = tile.dot %33, %24 acc(%arg13) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %36 = tile.dot %34, %23 acc(%arg12) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %37 = tile.dot %34, %1 acc(%cst_1) transpose_a : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    tile.accumulate %37, %arg8[%batch, %21, %22] : tensor<64x64xf32>, memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
    %38 = arith.addi %arg11, %c1 : index
    %39 = arith.cmpi sge, %38, %15 : index
    %40 = arith.addi %arg10, %c1 : index
    %41 = arith.minsi %40, %c0 : index
    %42 = arith.select %39, %41, %arg10 : index
    %43 = arith.select %39, %c0, %38 : index
    scf.yield %42, %43, %36, %35 : index, index, tensor<64x64xf32>, tensor<64x64xf32>
  }
  %18 = tile.map ins(%17#3 : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%arg9: f32):
    %21 = arith.truncf %arg9 : f32 to f16
    tile.yield %21 : f16
  }
  tile.store %18, %arg7[%batch, %head, %0] : tensor<64x64xf16>, memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  %19 = tile.map ins(%17#2 : tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%arg9: f32):
    %21 = arith.mulf %arg9, %cst : f32
    tile.yield %21 : f32
  }
  %20 = tile.map ins(%19 : tensor<64x64xf32>) -> tensor<64x64xf16> {
  ^bb0(%arg9: f32):
    %21 = arith.truncf %arg9 : f32 to f16
    tile.yield %21 : f16
  }
  tile.store %20, %arg6[%batch, %head, %0] : tensor<64x64xf16>, memref<?x2x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
  tile.return
}
