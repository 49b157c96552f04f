// RUN: flashc-opt %s --split-input-file --verify-diagnostics
//
// Each sentence of attn.backward's verifier once; those about Q, K, V, lengths, scale, mask and the score region are the forward's
// (invalid.mlir), with one of each here to see that they are asked.
func.func @rank(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the output gradient to have rank 4 (batch, length, heads, head dim), but it has rank 3; reshape it first}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @encoding(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16, 1>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects plain dense tensors, but the output has the encoding 1 : i64; remove it}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16, 1>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the value gradient to hold f16, bf16 or f32, but it holds 'f64'; convert it first}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf64>)
  return
}

// -----

func.func @same_element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query, key, value, output and their gradients to share one element type, but the query holds 'f16' and the key gradient holds 'f32'; convert one of them}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf32>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @head_dims(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x32xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and key to have the same head dim, but the query has 64 in dimension 3 and the key has 32 in dimension 3; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x3x64xf16>, %v: tensor<2x8x3x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the query heads to be a multiple of the key heads, but there are 4 query heads and 3 key heads; repeat or drop heads so that each key head serves as many query heads}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x3x64xf16>, tensor<2x8x3x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x3x64xf16>, tensor<2x8x3x64xf16>)
  return
}

// -----

func.func @batch(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<3x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and output to have the same batch, but the query has 2 in dimension 0 and the output has 3 in dimension 0; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<3x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @queries(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x9x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and output to have the same number of queries, but the query has 8 in dimension 1 and the output has 9 in dimension 1; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x9x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @output_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x2x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and output to have the same number of heads, but the query has 4 in dimension 2 and the output has 2 in dimension 2; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x2x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @output_head_dim(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x32xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects value and output to have the same head dim, but the value has 64 in dimension 3 and the output has 32 in dimension 3; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x32xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @dynamic_head_dim(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x?xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the output to have a static head dim, but it is dynamic; give it in the type}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x?xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @output_gradient(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x32xf16>) {
  // expected-error @below {{'attn.backward' op expects output and output gradient to have the same head dim, but the output has 64 in dimension 3 and the output gradient has 32 in dimension 3; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x32xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @query_gradient(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and query gradient to have the same number of queries, but the query has 8 in dimension 1 and the query gradient has 7 in dimension 1; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x7x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @key_gradient(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects key and key gradient to have the same number of keys, but the key has 8 in dimension 1 and the key gradient has 7 in dimension 1; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x7x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @value_gradient(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects value and value gradient to have the same batch, but the value has 2 in dimension 0 and the value gradient has 1 in dimension 0; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<1x8x4x64xf16>)
  return
}

// -----

func.func @dynamic_gradient(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the key gradient to have a static head dim, but it is dynamic; give it in the type}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x?xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lse_rank(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8x1xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the lse to have rank 3 (batch, heads, length), but it has rank 4; reshape it first}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8x1xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lse_element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf16>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the lse to hold f32, but it holds 'f16'; convert the result afterwards}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lse_queries(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x9xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and lse to have the same number of queries, but the query has 8 in dimension 1 and the lse has 9 in dimension 2; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x9xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lse_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x8x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects query and lse to have the same number of heads, but the query has 4 in dimension 2 and the lse has 8 in dimension 1; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lse_of_output(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<3x?x?xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects output and lse to have the same batch, but the output has 2 in dimension 0 and the lse has 3 in dimension 0; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<2x8x4x64xf16>, tensor<3x?x?xf32>, tensor<2x8x4x64xf16> -> (tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>)
  return
}

// -----

func.func @lse_gradient(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %x: tensor<2x4x8xf16>) {
  // expected-error @below {{'attn.backward' op expects the lse gradient to hold f32, but it holds 'f16'; convert the result afterwards}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do dlse(%x : tensor<2x4x8xf16>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lse_gradient_rows(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %x: tensor<1x4x8xf32>) {
  // expected-error @below {{'attn.backward' op expects query and lse gradient to have the same batch, but the query has 2 in dimension 0 and the lse gradient has 1 in dimension 0; make them equal (the layout is bshd)}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do dlse(%x : tensor<1x4x8xf32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @lengths(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %n: tensor<2xi64>) {
  // expected-error @below {{'attn.backward' op expects kv_lengths to hold i32, but it holds 'i64'; convert it first}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do kv_lengths(%n : tensor<2xi64>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @scale(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects a scale of 2^-100 to 2^100, but it is -1.000000e+00; scale the query instead}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do scale(-1.0)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @mask(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects kv_lengths where the mask says key_length, but the mask is #attn.key_length and there is no such operand; add kv_lengths(...) or take key_length out}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do mask(#attn.key_length)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @captures(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects captures only with a score region, but has 1 captures and no region; add the region or drop the captures}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>)
  return
}

// -----

func.func @count(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects a result for each of its gradients behind dQ, dK and dV, but asks for 1 gradients of captures and has 0 such results; make them equal}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @number(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects gradients of captures, but asks for that of capture 1 of 1; count from 0}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([1])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @negative(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects gradients of captures, but asks for that of capture -1 of 1; count from 0}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([-1])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @order(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects gradients in ascending order, but 0 comes behind 0; sort them}}
  %r0, %r1, %r2, %r3, %r4 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0, 0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @integers(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xi32>) {
  // expected-error @below {{'attn.backward' op expects gradients of captures of f16, bf16 or f32, but capture 0 is 'tensor<4xi32>'; take it out of gradients}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xi32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xi32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xi32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xi32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @gradient_type(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects the gradient of capture 0 to have its type, 'tensor<4xf32>', but it has 'tensor<5xf32>'; change the result}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<5xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @no_gradient_region(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects a gradient region iff there is a score region, but has only the score region; let attn-derive-backward make it}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  }
  return
}

// -----

func.func @no_score_region(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects a gradient region iff there is a score region, but has only the gradient region; let attn-derive-backward make it}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>) gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @gradient_arguments(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects the gradient region to have 7 arguments (score, batch, head, query, key, gradient, captures), but it has 6; one for each is needed}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @gradient_argument(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects argument 5 of the gradient region (gradient) to be 'f32', but it is 'index'; change the argument}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  }
  return
}

// -----

func.func @gradient_capture(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  // expected-error @below {{'attn.backward' op expects argument 6 of the gradient region (capture 0) to be 'tensor<4xf32>', but it is 'tensor<5xf32>'; change the argument}}
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<5xf32>):
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @gradient_op(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    // expected-error @below {{'vector.broadcast' op in a score region is none of the scalar arith, math and tensor.extract ops that may stand there; rewrite it with these}}
    %x = vector.broadcast %s : f32 to vector<4xf32>
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @not_asked_for(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    // expected-error @below {{'attn.add_gradient' op expects a captured tensor that gradients([...]) lists, but adds to another one of type 'tensor<4xf32>'; list it or drop the op}}
    attn.add_gradient %dx to %m[%h] : tensor<4xf32>
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @indices(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>, %t: tensor<4xf32>) {
  %r0, %r1, %r2, %r3 = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : tensor<4xf32>) gradients([0])
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<4xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32>):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32, %m: tensor<4xf32>):
    // expected-error @below {{'attn.add_gradient' op expects an index for each of 1 dimensions, but has 2; index as tensor.extract does}}
    attn.add_gradient %dx to %m[%h, %h] : tensor<4xf32>
    attn.yield %dx : f32
  }
  return
}

// -----

func.func @gradient_yield(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %o: tensor<2x8x4x64xf16>, %lse: tensor<2x4x8xf32>, %do: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.backward' op expects the gradient region to end in attn.yield, but it ends in llvm.unreachable; yield the gradient of the scaled score}}
  %r0, %r1, %r2 = attn.backward %q, %k, %v, %o, %lse, %do
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x4x8xf32>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    attn.yield %s : f32
  } gradient {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %dx: f32):
    llvm.unreachable
  }
  return
}
