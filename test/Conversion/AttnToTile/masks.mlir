// RUN: flashc-opt %s --convert-attn-to-tile=tiles=64x32 --split-input-file | FileCheck %s
//
// The mask algebra as unions of sets over (i, j)[Sq, key length]. Each set has
// the key bound; negation is pushed to the leaves, empty and inner sets go.

// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       tile.program longest_first
// CHECK:       sets([#[[SET]]])
func.func @top_left(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.causal<top_left>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// Both sides bounded: all query blocks are alike, so their order stays.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (-d0 + d1 + s0 - s1 + 100 >= 0, d0 - d1 - s0 + s1 + 5 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       tile.program{{$}}
// CHECK:       sets([#[[SET]]])
func.func @window(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.window<left = 100, right = 5>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// A side that no key can pass has no inequality: it could only overflow.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 - s0 + s1 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       sets([#[[SET]]])
func.func @wide(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.window<left = 1073741824, right = 0>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// Prefix or causal: two sets.
// CHECK-DAG:   #[[CAUSAL:.+]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 - s0 + s1 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK-DAG:   #[[PREFIX:.+]] = affine_set<(d0, d1)[s0, s1] : (-d1 + 76 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       sets([#[[CAUSAL]], #[[PREFIX]]])
func.func @prefix(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.or<[#attn.causal, #attn.prefix<77>]>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// not (left and right) is beyond left or beyond right; and with causal the
// second is empty.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (d0 - d1 - s0 + s1 - 9 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       sets([#[[SET]]])
func.func @not(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.and<[#attn.not<#attn.window<left = 8, right = 2>>, #attn.causal]>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// not (a or b) is not a and not b; not not a is a. j > i and j >= 4.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (-d0 + d1 - 1 >= 0, d1 - 4 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       sets([#[[SET]]])
func.func @not_or(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.not<#attn.not<#attn.not<#attn.or<[#attn.causal<top_left>, #attn.prefix<4>]>>>>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// Nothing is visible: no set.
// CHECK:       sets([])
func.func @never(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.and<[#attn.causal, #attn.not<#attn.causal>]>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}

// -----

// A narrow window inside a wide one goes.
// CHECK:       #[[SET:.+]] = affine_set<(d0, d1)[s0, s1] : (-d0 + d1 + s0 - s1 + 9 >= 0, d0 - d1 - s0 + s1 + 9 >= 0, -d1 + s1 - 1 >= 0)>
// CHECK:       sets([#[[SET]]])
func.func @inner(%q: tensor<?x?x1x64xf16>, %k: tensor<?x?x1x64xf16>, %v: tensor<?x?x1x64xf16>) -> tensor<?x?x1x64xf16> {
  %o, %lse = attn.forward %q, %k, %v mask(#attn.or<[#attn.window<left = 3, right = 4>, #attn.window<left = 9, right = 9>]>) : tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16>, tensor<?x?x1x64xf16> -> (tensor<?x?x1x64xf16>, tensor<?x1x?xf32>)
  return %o : tensor<?x?x1x64xf16>
}
