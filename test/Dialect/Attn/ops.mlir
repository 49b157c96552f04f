// RUN: flashc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @causal_gqa(
// CHECK: %{{.+}}, %{{.+}} = attn.forward %{{.+}}, %{{.+}}, %{{.+}} mask(#attn.causal) scale(1.250000e-01)
// CHECK-SAME: : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>)
func.func @causal_gqa(%q: tensor<?x?x32x64xf16>, %k: tensor<?x?x8x64xf16>, %v: tensor<?x?x8x64xf16>)
    -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.causal) scale(0.125)
      : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x32x?xf32>)
  return %o, %lse : tensor<?x?x32x64xf16>, tensor<?x32x?xf32>
}

// CHECK-LABEL: func.func @alibi(
// CHECK: attn.forward {{.+}} captures(%{{.+}} : tensor<32xf32>) layout(bhsd)
// CHECK: attn.yield %{{.+}} : f32
func.func @alibi(%q: tensor<?x32x?x64xf16>, %k: tensor<?x32x?x64xf16>, %v: tensor<?x32x?x64xf16>, %slopes: tensor<32xf32>)
    -> (tensor<?x32x?x64xf16>, tensor<?x32x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v captures(%slopes : tensor<32xf32>) layout(bhsd)
      : tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16>, tensor<?x32x?x64xf16> -> (tensor<?x32x?x64xf16>, tensor<?x32x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<32xf32>):
    %slope = tensor.extract %m[%h] : tensor<32xf32>
    %d = arith.subi %j, %i : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %bias = arith.mulf %slope, %df : f32
    %r = arith.addf %s, %bias : f32
    attn.yield %r : f32
  }
  return %o, %lse : tensor<?x32x?x64xf16>, tensor<?x32x?xf32>
}

// Other value dim, all dynamic, f32, lengths, two captures, every mask.
// CHECK-LABEL: func.func @everything(
// CHECK: attn.forward {{.+}} kv_lengths(%{{.+}} : tensor<?xi32>) captures(%{{.+}}, %{{.+}} : tensor<f32>, tensor<?x?xi8>)
// CHECK-SAME: mask(#attn.and<[#attn.or<[#attn.causal<top_left>, #attn.prefix<7>]>, #attn.not<#attn.window<left = 3, right = -1, align = top_left>>, #attn.key_length]>)
// CHECK-SAME: {note = "kept"}
func.func @everything(%q: tensor<?x?x?x192xf32>, %k: tensor<?x?x?x192xf32>, %v: tensor<?x?x?x128xf32>, %n: tensor<?xi32>,
                      %a: tensor<f32>, %t: tensor<?x?xi8>) -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v kv_lengths(%n : tensor<?xi32>) captures(%a, %t : tensor<f32>, tensor<?x?xi8>)
      mask(#attn.and<[#attn.or<[#attn.causal<top_left>, #attn.prefix<7>]>, #attn.not<#attn.window<left = 3, right = -1, align = top_left>>, #attn.key_length]>)
      {note = "kept"}
      : tensor<?x?x?x192xf32>, tensor<?x?x?x192xf32>, tensor<?x?x?x128xf32> -> (tensor<?x?x?x128xf32>, tensor<?x?x?xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<f32>, %y: tensor<?x?xi8>):
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0 : i8
    %f = tensor.extract %x[] : tensor<f32>
    %block = arith.floordivsi %j, %c8 : index
    %e = tensor.extract %y[%b, %block] : tensor<?x?xi8>
    %on = arith.cmpi ne, %e, %zero : i8
    %u = math.tanh %s : f32
    %w = arith.mulf %u, %f : f32
    %r = arith.select %on, %w, %s : f32
    attn.yield %r : f32
  }
  return %o, %lse : tensor<?x?x?x128xf32>, tensor<?x?x?xf32>
}

// No query, no key, no batch: allowed, the result is what the conventions say.
// CHECK-LABEL: func.func @empty(
func.func @empty(%q: tensor<0x0x1x1xbf16>, %k: tensor<0x0x1x1xbf16>) -> tensor<0x0x1x1xbf16> {
  %o, %lse = attn.forward %q, %k, %k : tensor<0x0x1x1xbf16>, tensor<0x0x1x1xbf16>, tensor<0x0x1x1xbf16>
      -> (tensor<0x0x1x1xbf16>, tensor<0x1x0xf32>)
  return %o : tensor<0x0x1x1xbf16>
}

// CHECK-LABEL: func.func @backward(
// CHECK:         attn.backward %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} mask(#attn.causal) scale(1.250000e-01)
// CHECK-SAME:      : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x32x64xf16>, tensor<?x32x?xf32>, tensor<?x?x32x64xf16>
// CHECK-SAME:      -> (tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>){{$}}
func.func @backward(%q: tensor<?x?x32x64xf16>, %k: tensor<?x?x8x64xf16>, %v: tensor<?x?x8x64xf16>, %o: tensor<?x?x32x64xf16>,
                    %lse: tensor<?x32x?xf32>, %do: tensor<?x?x32x64xf16>) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.causal) scale(0.125)
      : tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x32x64xf16>, tensor<?x32x?xf32>,
        tensor<?x?x32x64xf16> -> (tensor<?x?x32x64xf16>, tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>)
  return
}

// CHECK-LABEL: func.func @temperature(
// CHECK:         attn.backward {{.+}} captures(%{{.+}} : tensor<4xf32>) gradients([0]) deterministic :
// CHECK:           attn.yield
// CHECK:         } gradient {
// CHECK:           attn.add_gradient %{{.+}} to %{{.+}}[%{{.+}}] : tensor<4xf32>
// CHECK:           attn.yield
func.func @temperature(%q: tensor<1x9x4x64xf16>, %k: tensor<1x9x4x64xf16>, %v: tensor<1x9x4x64xf16>, %o: tensor<1x9x4x64xf16>,
                       %lse: tensor<1x4x9xf32>, %do: tensor<1x9x4x64xf16>, %t: tensor<4xf32>) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0]) deterministic
      : tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x4x9xf32>,
        tensor<1x9x4x64xf16> -> (tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<1x9x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    %x = tensor.extract %m[%h] : tensor<4xf32>
    %r = arith.mulf %s, %x : f32
    attn.yield %r : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    %x = tensor.extract %m[%h] : tensor<4xf32>
    %dt = arith.mulf %dx, %s : f32
    attn.add_gradient %dt to %m[%h] : tensor<4xf32>
    %ds = arith.mulf %dx, %x : f32
    attn.yield %ds : f32
  }
  return
}

// CHECK-LABEL: func.func @all_clauses(
// CHECK:         attn.backward {{.+}} dlse(%{{.+}} : tensor<?x?x?xf32>) kv_lengths(%{{.+}} : tensor<?xi32>) mask(#attn.key_length) layout(bhsd) {note = 1 : i64} :
func.func @all_clauses(%q: tensor<?x?x?x8xf32>, %rows: tensor<?x?x?xf32>, %n: tensor<?xi32>) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %rows, %q dlse(%rows : tensor<?x?x?xf32>) kv_lengths(%n : tensor<?xi32>)
      mask(#attn.key_length) layout(bhsd) {note = 1} : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>,
      tensor<?x?x?xf32>, tensor<?x?x?x8xf32> -> (tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>)
  return
}
