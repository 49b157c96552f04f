// RUN: flashc-opt %s --attn-derive-backward --split-input-file --verify-diagnostics
// RUN: not flashc-opt %S/../../../tools/Inputs/alibi.mlir --attn-derive-backward=gradients=1 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not flashc-opt %S/../../../tools/Inputs/table.mlir --attn-derive-backward=gradients=1,0 2>&1 | FileCheck %s --check-prefix=ORDER
// NUMBER: 'attn.forward' op has 1 captures, but the gradient of capture 1 is asked for; count from 0
// ORDER: 'attn.forward' op expects the numbers of captures in ascending order, but 0 comes behind 1; sort them

!t = tensor<1x8x1x64xf16>
func.func @two(%q: !t) -> (!t, !t) {
  %o, %lse = attn.forward %q, %q, %q : !t, !t, !t -> (!t, tensor<1x1x8xf32>)
  // expected-error @+1 {{is the second one in function 'two', but gradients are derived for one; split the function}}
  %o1, %lse1 = attn.forward %q, %q, %q : !t, !t, !t -> (!t, tensor<1x1x8xf32>)
  return %o, %o1 : !t, !t
}

// -----

!t = tensor<1x8x1x64xf16>
func.func @computed(%q: !t) -> !t {
  %k = arith.addf %q, %q : !t
  // expected-error @+1 {{operand #1 is computed by another op of 'computed', but a function whose gradients are wanted holds attention on its arguments; pass it in}}
  %o, %lse = attn.forward %q, %k, %q : !t, !t, !t -> (!t, tensor<1x1x8xf32>)
  return %o : !t
}

// -----

!t = tensor<1x8x1x64xf16>
func.func @rounds(%q: !t) -> !t {
  %o, %lse = attn.forward %q, %q, %q : !t, !t, !t -> (!t, tensor<1x1x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @+2 {{'math.floor' op stands between the score, or a captured tensor whose gradient is asked for, and the new score, but has no useful derivative: it is 0 or undefined everywhere; use a smooth function}}
    // expected-note @+1 {{a gradient of your own (straight-through, for one) goes into the gradient region of attn.backward}}
    %r = math.floor %s : f32
    attn.yield %r : f32
  }
  return %o : !t
}

// -----

!t = tensor<1x8x1x64xf16>
func.func @becomes_an_integer(%q: !t) -> !t {
  %o, %lse = attn.forward %q, %q, %q : !t, !t, !t -> (!t, tensor<1x1x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @+2 {{'arith.fptosi' op stands between the score}}
    // expected-note @+1 {{a gradient of your own}}
    %n = arith.fptosi %s : f32 to i32
    %r = arith.sitofp %n : i32 to f32
    attn.yield %r : f32
  }
  return %o : !t
}
