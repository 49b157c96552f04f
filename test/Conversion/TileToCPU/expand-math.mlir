// RUN: flashc-opt %s --cpu-expand-math | FileCheck %s

// n = round(x) by adding 1.5 * 2^23, p(x - n) of degree 6, times 2^(n / 2) and 2^(n - n / 2).
// CHECK-LABEL: func.func @exp2(
// CHECK-SAME:    %[[X:.+]]: vector<16xf32>
// CHECK-DAG:     %[[ROUND:.+]] = arith.constant dense<0x4B400000> : vector<16xf32>
// CHECK-DAG:     %[[BIAS:.+]] = arith.constant dense<127> : vector<16xi32>
// CHECK-COUNT-2: arith.select
// CHECK:         %[[SHIFTED:.+]] = arith.addf %{{.+}}, %[[ROUND]]
// CHECK:         %[[N:.+]] = arith.subf %[[SHIFTED]], %[[ROUND]]
// CHECK-COUNT-6: math.fma
// CHECK-COUNT-2: arith.shli
// CHECK-NOT:     math.exp2
func.func @exp2(%x: vector<16xf32>) -> vector<16xf32> {
  %y = math.exp2 %x : vector<16xf32>
  return %y : vector<16xf32>
}

// CHECK-LABEL: func.func @scalars(
// CHECK-NOT:     math.exp
// CHECK-NOT:     math.tanh
// CHECK:         return
func.func @scalars(%x: f32) -> (f32, f32) {
  %y = math.exp %x : f32
  %z = math.tanh %x : f32
  return %y, %z : f32, f32
}

// CHECK-LABEL: func.func @others(
// CHECK:         math.exp2 %{{.+}} : f64
// CHECK:         math.log %{{.+}} : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %z = math.exp2 %x : f64
  %w = math.log %y : f32
  return %z, %w : f64, f32
}
