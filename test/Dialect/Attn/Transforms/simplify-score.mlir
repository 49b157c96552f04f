// RUN: flashc-opt %s --attn-simplify-score --split-input-file | FileCheck %s

// 1/30 joins the scale, 0.125 / 30; the last factor is for convert-attn-to-tile.
// CHECK-LABEL: func.func @softcap(
// CHECK:         attn.forward {{.+}} scale(0.00416666{{.+}})
// CHECK:         ^bb0(%[[S:.+]]: f32,
// CHECK-NOT:     arith.divf
// CHECK:         %[[T:.+]] = math.tanh %[[S]] : f32
// CHECK:         %[[R:.+]] = arith.mulf %[[T]], %{{.+}} : f32
// CHECK:         attn.yield %[[R]]
func.func @softcap(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>, %v: tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16> {
  %o, %lse = attn.forward %q, %k, %v scale(0.125) : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16> -> (tensor<1x8x4x64xf16>, tensor<1x4x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 30.0 : f32
    %x = arith.divf %s, %cap : f32
    %t = math.tanh %x : f32
    %r = arith.mulf %t, %cap : f32
    attn.yield %r : f32
  }
  return %o : tensor<1x8x4x64xf16>
}

// -----

// The score is read twice, so its factors stay; they become one: 3 * 5.
// CHECK-LABEL: func.func @factors(
// CHECK:         attn.forward {{.+}} scale(1.250000e-01)
// CHECK:         ^bb0(%[[S:.+]]: f32,
// CHECK-DAG:     %[[C:.+]] = arith.constant 1.500000e+01 : f32
// CHECK:         %[[X:.+]] = arith.mulf %[[S]], %[[C]] : f32
// CHECK:         arith.maximumf %[[X]], %[[S]] : f32
func.func @factors(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>, %v: tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16> {
  %o, %lse = attn.forward %q, %k, %v scale(0.125) : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16> -> (tensor<1x8x4x64xf16>, tensor<1x4x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %c3 = arith.constant 3.0 : f32
    %c5 = arith.constant 5.0 : f32
    %x = arith.mulf %c3, %s : f32
    %y = arith.mulf %x, %c5 : f32
    %r = arith.maximumf %y, %s : f32
    attn.yield %r : f32
  }
  return %o : tensor<1x8x4x64xf16>
}

// -----

// What is subtracted is added: with minus the slope, the one factor that is the
// same for a head.
// CHECK-LABEL: func.func @subtracted(
// CHECK:         ^bb0(%[[S:.+]]: f32,
// CHECK:         %[[SLOPE:.+]] = tensor.extract
// CHECK:         %[[A:.+]] = math.absf
// CHECK:         %[[MINUS:.+]] = arith.negf %[[SLOPE]] : f32
// CHECK:         %[[R:.+]] = math.fma %[[MINUS]], %[[A]], %[[S]] : f32
// CHECK:         attn.yield %[[R]]
func.func @subtracted(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>, %v: tensor<1x8x4x64xf16>, %slopes: tensor<4xf32>) -> tensor<1x8x4x64xf16> {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<4xf32>) : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16> -> (tensor<1x8x4x64xf16>, tensor<1x4x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    %slope = tensor.extract %m[%h] : tensor<4xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %a = math.absf %df : f32
    %bias = arith.mulf %a, %slope : f32
    %r = arith.subf %s, %bias : f32
    attn.yield %r : f32
  }
  return %o : tensor<1x8x4x64xf16>
}

// -----

// CHECK-LABEL: func.func @alibi(
// CHECK:         %[[D:.+]] = arith.sitofp
// CHECK:         %[[R:.+]] = math.fma %{{.+}}, %[[D]], %{{.+}} : f32
// CHECK:         attn.yield %[[R]]
func.func @alibi(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>, %v: tensor<1x8x4x64xf16>, %slopes: tensor<4xf32>) -> tensor<1x8x4x64xf16> {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<4xf32>) : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16> -> (tensor<1x8x4x64xf16>, tensor<1x4x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    %slope = tensor.extract %m[%h] : tensor<4xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %bias = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  }
  return %o : tensor<1x8x4x64xf16>
}

// -----

// A negative factor is no scale, 1e-39 has no reciprocal in f32, and what is no
// constant is divided by.
// CHECK-LABEL: func.func @stays(
// CHECK:         attn.forward {{.+}} scale(1.250000e-01)
// CHECK:         ^bb0(%[[S:.+]]: f32,
// CHECK:         %[[X:.+]] = arith.mulf %[[S]], %{{.+}} : f32
// CHECK:         %[[Y:.+]] = arith.divf %[[X]], %{{.+}} : f32
// CHECK:         arith.divf %{{.+}}, %[[Y]] : f32
func.func @stays(%q: tensor<1x8x4x64xf16>, %k: tensor<1x8x4x64xf16>, %v: tensor<1x8x4x64xf16>) -> tensor<1x8x4x64xf16> {
  %o, %lse = attn.forward %q, %k, %v scale(0.125) : tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16>, tensor<1x8x4x64xf16> -> (tensor<1x8x4x64xf16>, tensor<1x4x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %c = arith.constant -2.0 : f32
    %tiny = arith.constant 1.0e-39 : f32
    %x = arith.mulf %s, %c : f32
    %y = arith.divf %x, %tiny : f32
    %r = arith.divf %tiny, %y : f32
    attn.yield %r : f32
  }
  return %o : tensor<1x8x4x64xf16>
}
