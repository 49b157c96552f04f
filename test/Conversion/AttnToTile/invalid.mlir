// RUN: flashc-opt %s --convert-attn-to-tile --split-input-file --verify-diagnostics
// RUN: echo "module {}" | not flashc-opt --convert-attn-to-tile=arch=sm_12 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: target arch 'sm_12' is not known; use one of cpu, sm_75, sm_80, sm_86, sm_89, sm_90

func.func @beside(%q: tensor<1x8x1x64xf16>, %x: f32) -> tensor<1x8x1x64xf16> {
  // expected-error @+1 {{stands in function 'beside' beside attention, but a kernel holds nothing else; move it to the caller or into the score region}}
  %y = arith.addf %x, %x : f32
  %o, %lse = attn.forward %q, %q, %q : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16> -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>)
  return %o : tensor<1x8x1x64xf16>
}

// -----

func.func @two(%q: tensor<1x8x1x64xf16>) -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>) {
  %o, %lse = attn.forward %q, %q, %q : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16> -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>)
  // expected-error @+1 {{is the second one in function 'two', but a kernel holds one; split the function}}
  %o1, %lse1 = attn.forward %q, %q, %q : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16> -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>)
  return %o, %lse1 : tensor<1x8x1x64xf16>, tensor<1x1x8xf32>
}

// -----

// expected-error @+1 {{argument #1 is not an operand of attn.forward, but a kernel's arguments are its operands; drop it}}
func.func @unused(%q: tensor<1x8x1x64xf16>, %x: f32) -> tensor<1x8x1x64xf16> {
  %o, %lse = attn.forward %q, %q, %q : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16> -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>)
  return %o : tensor<1x8x1x64xf16>
}

// -----

func.func @order(%q: tensor<1x8x1x64xf16>) -> (tensor<1x1x8xf32>, tensor<1x8x1x64xf16>) {
  %o, %lse = attn.forward %q, %q, %q : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16> -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>)
  // expected-error @+1 {{returns 2 values, but a kernel gives O, or O and LSE, of its attn.forward; return these in this order}}
  return %lse, %o : tensor<1x1x8xf32>, tensor<1x8x1x64xf16>
}

// -----

// expected-error @+1 {{has 2 blocks, but a kernel's function has one; remove the branches}}
func.func @blocks(%q: tensor<1x8x1x64xf16>) -> tensor<1x8x1x64xf16> {
  cf.br ^next
^next:
  %o, %lse = attn.forward %q, %q, %q : tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16>, tensor<1x8x1x64xf16> -> (tensor<1x8x1x64xf16>, tensor<1x1x8xf32>)
  return %o : tensor<1x8x1x64xf16>
}

// -----

func.func @element(%q: tensor<1x8x1x64xf32>) -> tensor<1x8x1x64xf32> {
  // expected-error @+1 {{element type f32 is not supported on sm_80, whose tensor cores take f16 and bf16; use one of these or target cpu}}
  %o, %lse = attn.forward %q, %q, %q : tensor<1x8x1x64xf32>, tensor<1x8x1x64xf32>, tensor<1x8x1x64xf32> -> (tensor<1x8x1x64xf32>, tensor<1x1x8xf32>)
  return %o : tensor<1x8x1x64xf32>
}

// -----

!t = tensor<1x8x1x64xf32>
!rows = tensor<1x1x8xf32>
func.func @gradients_on_a_gpu(%q: !t, %lse: !rows) -> (!t, !t, !t) {
  // expected-error @+1 {{element type f32 is not supported on sm_80, whose tensor cores take f16 and bf16; use one of these or target cpu}}
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !t, !t, !t, !t, !rows, !t -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
