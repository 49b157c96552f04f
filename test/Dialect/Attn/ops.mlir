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
