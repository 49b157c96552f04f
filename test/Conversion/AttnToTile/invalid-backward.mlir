// RUN: flashc-opt %s --convert-attn-to-tile=arch=cpu --split-input-file --verify-diagnostics

!t = tensor<1x8x1x64xf16>
!rows = tensor<1x1x8xf32>
func.func @some_results(%q: !t, %lse: !rows) -> (!t, !t) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !t, !t, !t, !t, !rows, !t -> (!t, !t, !t)
  // expected-error @+1 {{returns 2 values, but the kernels of an attn.backward give all its 3 results; return these in this order}}
  return %dq, %dk : !t, !t
}

// -----

!t = tensor<1x8x1x64xf16>
!rows = tensor<1x1x8xf32>
// expected-error @+1 {{argument #2 is not an operand of attn.backward, but a kernel's arguments are its operands; drop it}}
func.func @unused(%q: !t, %lse: !rows, %x: f32) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %q, %q, %q, %lse, %q : !t, !t, !t, !t, !rows, !t -> (!t, !t, !t)
  return %dq, %dk, %dv : !t, !t, !t
}
