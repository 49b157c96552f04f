// RUN: flashc-opt %s --attn-simplify-mask | FileCheck %s

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>

// Each line of this function is one mask; the checks stand in the same order.
// CHECK-LABEL: func.func @masks(
func.func @masks(%q: !t, %n: tensor<?xi32>) {
  // The example of the pass's text.
  // CHECK: attn.forward {{.*}} mask(#attn.causal) :
  attn.forward %q, %q, %q mask(#attn.and<[#attn.window<left = -1, right = 0>, #attn.causal]>) : !t, !t, !t -> (!t, !l)
  // Nothing to simplify.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.window<left = 3, right = 0>) :
  attn.forward %q, %q, %q mask(#attn.window<left = 3, right = 0>) : !t, !t, !t -> (!t, !l)
  // No bound at all.
  // CHECK-NEXT: attn.forward %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} :
  attn.forward %q, %q, %q mask(#attn.window<left = -1, right = -1>) : !t, !t, !t -> (!t, !l)
  // A window under causal.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.window<left = 5, right = 0>) :
  attn.forward %q, %q, %q mask(#attn.and<[#attn.causal, #attn.window<left = 5, right = 9>]>) : !t, !t, !t -> (!t, !l)
  // A window or causal: both hold the diagonal, so the union is one band.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.window<left = -1, right = 9>) :
  attn.forward %q, %q, %q mask(#attn.or<[#attn.causal, #attn.window<left = 5, right = 9>]>) : !t, !t, !t -> (!t, !l)
  // Two alignments have two diagonals: both stay.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.and<[#attn.causal, #attn.causal<top_left>]>) :
  attn.forward %q, %q, %q mask(#attn.and<[#attn.causal<top_left>, #attn.causal]>) : !t, !t, !t -> (!t, !l)
  // Nested parts, duplicates, one part left.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.or<[#attn.causal, #attn.prefix<4>]>) :
  attn.forward %q, %q, %q mask(#attn.and<[#attn.or<[#attn.or<[#attn.prefix<4>, #attn.causal]>, #attn.causal]>]>) : !t, !t, !t -> (!t, !l)
  // Prefixes are a chain.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.prefix<4>) :
  attn.forward %q, %q, %q mask(#attn.and<[#attn.prefix<9>, #attn.prefix<4>]>) : !t, !t, !t -> (!t, !l)
  // not goes to the leaves.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.or<[#attn.not<#attn.causal>, #attn.prefix<4>]>) :
  attn.forward %q, %q, %q mask(#attn.not<#attn.and<[#attn.causal, #attn.not<#attn.prefix<4>>]>>) : !t, !t, !t -> (!t, !l)
  // A mask and its contrary: no key (prefix of 0), or every key.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.prefix<0>) :
  attn.forward %q, %q, %q mask(#attn.and<[#attn.window<left = 1, right = 0>, #attn.not<#attn.causal>]>) : !t, !t, !t -> (!t, !l)
  // CHECK-NEXT: attn.forward %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}} :
  attn.forward %q, %q, %q mask(#attn.or<[#attn.causal, #attn.not<#attn.window<left = 1, right = 0>>]>) : !t, !t, !t -> (!t, !l)
  // Absorption.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.causal) :
  attn.forward %q, %q, %q mask(#attn.or<[#attn.causal, #attn.and<[#attn.causal, #attn.prefix<3>]>]>) : !t, !t, !t -> (!t, !l)
  // The operand implies key_length, under and, or, not.
  // CHECK-NEXT: attn.forward {{.*}} kv_lengths({{.*}}) mask(#attn.causal) :
  attn.forward %q, %q, %q kv_lengths(%n : tensor<?xi32>) mask(#attn.and<[#attn.causal, #attn.key_length]>) : !t, !t, !t -> (!t, !l)
  // CHECK-NEXT: attn.forward {{.*}} kv_lengths({{.*}}) :
  attn.forward %q, %q, %q kv_lengths(%n : tensor<?xi32>) mask(#attn.or<[#attn.causal, #attn.key_length]>) : !t, !t, !t -> (!t, !l)
  // CHECK-NEXT: attn.forward {{.*}} kv_lengths({{.*}}) mask(#attn.prefix<0>) :
  attn.forward %q, %q, %q kv_lengths(%n : tensor<?xi32>) mask(#attn.not<#attn.key_length>) : !t, !t, !t -> (!t, !l)
  // and/or do not care for order; this and the next get one spelling.
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.or<[#attn.and<[#attn.causal, #attn.not<#attn.prefix<2>>]>, #attn.and<[#attn.causal<top_left>, #attn.prefix<2>]>]>) :
  // CHECK-NEXT: attn.forward {{.*}} mask(#attn.or<[#attn.and<[#attn.causal, #attn.not<#attn.prefix<2>>]>, #attn.and<[#attn.causal<top_left>, #attn.prefix<2>]>]>) :
  attn.forward %q, %q, %q mask(#attn.or<[#attn.and<[#attn.causal, #attn.not<#attn.prefix<2>>]>, #attn.and<[#attn.prefix<2>, #attn.causal<top_left>]>]>) : !t, !t, !t -> (!t, !l)
  attn.forward %q, %q, %q mask(#attn.or<[#attn.and<[#attn.causal<top_left>, #attn.prefix<2>]>, #attn.and<[#attn.not<#attn.prefix<2>>, #attn.causal]>]>) : !t, !t, !t -> (!t, !l)
  return
}
