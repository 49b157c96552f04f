// RUN: flashc-opt %s --split-input-file --verify-diagnostics

func.func @query_rank(%q: tensor<8x4x64xf16>, %k: tensor<8x4x64xf16>, %v: tensor<8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the query to have rank 4 (batch, length, heads, head dim), but it has rank 3; reshape it first}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<8x4x64xf16>, tensor<8x4x64xf16>, tensor<8x4x64xf16> -> (tensor<8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @key_rank_bhsd(%q: tensor<2x8x4x64xf16>, %k: tensor<1x2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the key to have rank 4 (batch, heads, length, head dim), but it has rank 5; reshape it first}}
  %o, %l = attn.forward %q, %k, %v layout(bhsd)
      : tensor<2x8x4x64xf16>, tensor<1x2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @value_rank(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<8x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the value to have rank 4 (batch, length, heads, head dim), but it has rank 2; reshape it first}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<8x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @output_rank(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the output to have rank 4 (batch, length, heads, head dim), but it has rank 0; reshape it first}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<f16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @lse_rank(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the lse to have rank 3 (batch, heads, length), but it has rank 4; reshape it first}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8x1xf32>)
  return
}

// -----

func.func @query_element(%q: tensor<2x8x4x64xi8>, %k: tensor<2x8x4x64xi8>, %v: tensor<2x8x4x64xi8>) {
  // expected-error @below {{'attn.forward' op expects the query to hold f16, bf16 or f32, but it holds 'i8'; convert it first}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xi8>, tensor<2x8x4x64xi8>, tensor<2x8x4x64xi8> -> (tensor<2x8x4x64xi8>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @mixed_elements(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xbf16>, %v: tensor<2x8x4x64xbf16>) {
  // expected-error @below {{'attn.forward' op expects query, key, value and output to share one element type, but the query holds 'f16' and the key holds 'bf16'; convert one of them}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xbf16>, tensor<2x8x4x64xbf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @output_element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query, key, value and output to share one element type, but the query holds 'f16' and the output holds 'f32'; convert one of them}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf32>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @lse_element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the lse to hold f32, but it holds 'f16'; convert the result afterwards}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf16>)
  return
}

// -----

func.func @encoding(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16, "csr">, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects plain dense tensors, but the key has the encoding "csr"; remove it}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16, "csr">, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @dynamic_head_dim(%q: tensor<2x8x4x?xf16>, %k: tensor<2x8x4x?xf16>, %v: tensor<2x8x4x?xf16>) {
  // expected-error @below {{'attn.forward' op expects the query to have a static head dim, but it is dynamic; give it in the type}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x?xf16>, tensor<2x8x4x?xf16>, tensor<2x8x4x?xf16> -> (tensor<2x8x4x?xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @dynamic_key_dim(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x?xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the key to have a static head dim, but it is dynamic; give it in the type}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x?xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @head_dim_over_limit(%q: tensor<2x8x4x257xf16>, %k: tensor<2x8x4x257xf16>, %v: tensor<2x8x4x257xf16>) {
  // expected-error @below {{'attn.forward' op expects the query to have a head dim of 1 to 256, but it has 257; use more heads of a smaller dim}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x257xf16>, tensor<2x8x4x257xf16>, tensor<2x8x4x257xf16> -> (tensor<2x8x4x257xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @value_dim_over_limit(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x512xf16>) {
  // expected-error @below {{'attn.forward' op expects the value to have a head dim of 1 to 256, but it has 512; use more heads of a smaller dim}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x512xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @head_dim_zero(%q: tensor<2x8x4x0xf16>, %k: tensor<2x8x4x0xf16>, %v: tensor<2x8x4x0xf16>) {
  // expected-error @below {{'attn.forward' op expects the query to have a head dim of 1 to 256, but it has 0; use more heads of a smaller dim}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x0xf16>, tensor<2x8x4x0xf16>, tensor<2x8x4x0xf16> -> (tensor<2x8x4x0xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @head_dims_differ(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x32xf16>, %v: tensor<2x8x4x32xf16>) {
  // expected-error @below {{'attn.forward' op expects query and key to have the same head dim, but the query has 64 in dimension 3 and the key has 32 in dimension 3; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x32xf16>, tensor<2x8x4x32xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @output_dim(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x32xf16>) {
  // expected-error @below {{'attn.forward' op expects value and output to have the same head dim, but the value has 32 in dimension 3 and the output has 64 in dimension 3; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x32xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @dynamic_output_dim(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the output to have a static head dim, but it is dynamic; give it in the type}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x?xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @batch_query_key(%q: tensor<2x8x4x64xf16>, %k: tensor<3x8x4x64xf16>, %v: tensor<3x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and key to have the same batch, but the query has 2 in dimension 0 and the key has 3 in dimension 0; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<3x8x4x64xf16>, tensor<3x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @batch_query_value(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<3x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and value to have the same batch, but the query has 2 in dimension 0 and the value has 3 in dimension 0; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<3x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @batch_key_value(%q: tensor<?x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<3x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects key and value to have the same batch, but the key has 2 in dimension 0 and the value has 3 in dimension 0; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<?x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<3x8x4x64xf16> -> (tensor<?x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @batch_output(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and output to have the same batch, but the query has 2 in dimension 0 and the output has 1 in dimension 0; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<1x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @batch_lse(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and lse to have the same batch, but the query has 2 in dimension 0 and the lse has 1 in dimension 0; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @keys_differ(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x9x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects key and value to have the same number of keys, but the key has 8 in dimension 1 and the value has 9 in dimension 1; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x9x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @keys_differ_bhsd(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x5x64xf16>) {
  // expected-error @below {{'attn.forward' op expects key and value to have the same number of keys, but the key has 4 in dimension 2 and the value has 5 in dimension 2; make them equal (the layout is bhsd)}}
  %o, %l = attn.forward %q, %k, %v layout(bhsd)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x5x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @key_heads_differ(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x2x64xf16>) {
  // expected-error @below {{'attn.forward' op expects key and value to have the same number of heads, but the key has 4 in dimension 2 and the value has 2 in dimension 2; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x2x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @queries_differ(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and output to have the same number of queries, but the query has 8 in dimension 1 and the output has 7 in dimension 1; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x7x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @lse_length(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and lse to have the same number of queries, but the query has 8 in dimension 1 and the lse has 4 in dimension 2; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x4xf32>)
  return
}

// -----

func.func @output_lse_length(%q: tensor<2x?x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects output and lse to have the same number of queries, but the output has 8 in dimension 1 and the lse has 9 in dimension 2; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x?x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x9xf32>)
  return
}

// -----

func.func @output_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and output to have the same number of heads, but the query has 4 in dimension 2 and the output has 8 in dimension 2; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x8x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @lse_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects query and lse to have the same number of heads, but the query has 4 in dimension 2 and the lse has 8 in dimension 1; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x8x8xf32>)
  return
}

// -----

func.func @no_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x0x64xf16>, %v: tensor<2x8x0x64xf16>) {
  // expected-error @below {{'attn.forward' op expects at least one head, but the key has 0 in dimension 2; leave the op out}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x0x64xf16>, tensor<2x8x0x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @head_ratio(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x3x64xf16>, %v: tensor<2x8x3x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the query heads to be a multiple of the key heads, but there are 4 query heads and 3 key heads; repeat or drop heads so that each key head serves as many query heads}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x3x64xf16>, tensor<2x8x3x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @fewer_query_heads(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x8x64xf16>, %v: tensor<2x8x8x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the query heads to be a multiple of the key heads, but there are 4 query heads and 8 key heads; repeat or drop heads so that each key head serves as many query heads}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @kv_lengths_rank(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %n: tensor<2x1xi32>) {
  // expected-error @below {{'attn.forward' op expects the kv_lengths to have rank 1 (batch), but it has rank 2; reshape it first}}
  %o, %l = attn.forward %q, %k, %v kv_lengths(%n : tensor<2x1xi32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @kv_lengths_element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %n: tensor<2xi64>) {
  // expected-error @below {{'attn.forward' op expects kv_lengths to hold i32, but it holds 'i64'; convert it first}}
  %o, %l = attn.forward %q, %k, %v kv_lengths(%n : tensor<2xi64>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @kv_lengths_batch(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %n: tensor<3xi32>) {
  // expected-error @below {{'attn.forward' op expects query and kv_lengths to have the same batch, but the query has 2 in dimension 0 and the kv_lengths has 3 in dimension 0; make them equal (the layout is bshd)}}
  %o, %l = attn.forward %q, %k, %v kv_lengths(%n : tensor<3xi32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @scale_zero(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects a scale of 2^-100 to 2^100, but it is 0.000000e+00; scale the query instead}}
  %o, %l = attn.forward %q, %k, %v scale(0.0)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @scale_negative(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects a scale of 2^-100 to 2^100, but it is -5.000000e-01; scale the query instead}}
  %o, %l = attn.forward %q, %k, %v scale(-0.5)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @scale_nan(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects a scale of 2^-100 to 2^100, but it is nan; scale the query instead}}
  %o, %l = attn.forward %q, %k, %v scale(0x7FF8000000000000)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @scale_infinite(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects a scale of 2^-100 to 2^100, but it is INF; scale the query instead}}
  %o, %l = attn.forward %q, %k, %v scale(0x7FF0000000000000)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @key_length_alone(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects kv_lengths where the mask says key_length, but the mask is #attn.not<#attn.key_length> and there is no such operand; add kv_lengths(...) or take key_length out}}
  %o, %l = attn.forward %q, %k, %v mask(#attn.not<#attn.key_length>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

// expected-error @below {{attn.window expects left to be -1 (unbounded) or 0 to 1073741824 keys, but it is -2; use -1 for a side without a bound}}
func.func private @window_left() attributes {mask = #attn.window<left = -2, right = 0>}

// -----

// expected-error @below {{attn.window expects right to be -1 (unbounded) or 0 to 1073741824 keys, but it is 1073741825; use -1 for a side without a bound}}
func.func private @window_right() attributes {mask = #attn.window<left = 0, right = 1073741825>}

// -----

// expected-error @below {{attn.prefix expects a length of 0 to 1073741824 keys, but it is -1; leave the prefix out where every key is visible}}
func.func private @prefix_negative() attributes {mask = #attn.prefix<-1>}

// -----

// expected-error @below {{attn.prefix expects a length of 0 to 1073741824 keys, but it is 4294967296; leave the prefix out where every key is visible}}
func.func private @prefix_long() attributes {mask = #attn.prefix<4294967296>}

// -----

// expected-error @below {{attn.and combines masks of the attn dialect, but got "causal"; use causal, window, prefix, key_length, and, or, not}}
func.func private @and_of_text() attributes {mask = #attn.and<[#attn.causal, "causal"]>}

// -----

// expected-error @below {{attn.or combines masks of the attn dialect, but got 1 : i64; use causal, window, prefix, key_length, and, or, not}}
func.func private @or_of_number() attributes {mask = #attn.or<[1]>}

// -----

// expected-error @below {{attn.not combines masks of the attn dialect, but got #attn.layout<bshd>; use causal, window, prefix, key_length, and, or, not}}
func.func private @not_of_layout() attributes {mask = #attn.not<#attn.layout<bshd>>}

// -----

func.func @too_many_alternatives(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects a mask that is the union of at most 64 intersections, but written out it has 128; use fewer parts under or and not}}
  %o, %l = attn.forward %q, %k, %v mask(#attn.and<[#attn.not<#attn.window<left = 0, right = 1>>, #attn.not<#attn.window<left = 1, right = 1>>, #attn.not<#attn.window<left = 2, right = 1>>, #attn.not<#attn.window<left = 3, right = 1>>, #attn.not<#attn.window<left = 4, right = 1>>, #attn.not<#attn.window<left = 5, right = 1>>, #attn.not<#attn.window<left = 6, right = 1>>]>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @mask_is_no_mask(%q: tensor<2x8x4x64xf16>) {
  // expected-error @below {{expects a mask of the attn dialect, but got "causal"; use causal, window, prefix, key_length, and, or, not}}
  attn.forward %q, %q, %q mask("causal") : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @layout_unknown(%q: tensor<2x8x4x64xf16>) {
  // expected-error @below {{expects layout bshd or bhsd, but got sbhd}}
  attn.forward %q, %q, %q layout(sbhd) : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @layout_in_dictionary(%q: tensor<2x8x4x64xf16>) {
  // expected-error @below {{expects 'layout' in its own place, but it stands in the attribute dictionary; write mask(...), scale(...) or layout(...)}}
  attn.forward %q, %q, %q {layout = #attn.layout<bhsd>} : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @captures_alone(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.forward' op expects captures only with a score region, but has 1 captures and no region; add the region or drop the captures}}
  %o, %l = attn.forward %q, %k, %v captures(%c : tensor<4xf32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>)
  return
}

// -----

func.func @capture_element(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %c: tensor<4xf64>) {
  // expected-error @below {{'attn.forward' op expects captures of f16, bf16, f32, i1, i8, i16, i32 or i64, but capture 0 holds 'f64'; convert it first}}
  %o, %l = attn.forward %q, %k, %v captures(%c : tensor<4xf64>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf64>):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @capture_index(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %c: tensor<4xindex>) {
  // expected-error @below {{'attn.forward' op expects captures of f16, bf16, f32, i1, i8, i16, i32 or i64, but capture 0 holds 'index'; convert it first}}
  %o, %l = attn.forward %q, %k, %v captures(%c : tensor<4xindex>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xindex>):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @capture_encoding(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %c: tensor<4xf32, "csr">) {
  // expected-error @below {{'attn.forward' op expects plain dense tensors, but capture 0 has the encoding "csr"; remove it}}
  %o, %l = attn.forward %q, %k, %v captures(%c : tensor<4xf32, "csr">)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4xf32, "csr">):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @capture_empty(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %c: tensor<4x0xf32>) {
  // expected-error @below {{'attn.forward' op expects captures that hold at least one element, but capture 0 is 'tensor<4x0xf32>'; drop it}}
  %o, %l = attn.forward %q, %k, %v captures(%c : tensor<4x0xf32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<4x0xf32>):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @argument_count(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the score region to have 5 arguments (score, batch, head, query, key, captures), but it has 4; one for each is needed}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @argument_type(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects argument 3 of the score region (query) to be 'index', but it is 'i32'; change the argument}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: i32, %j: index):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @capture_argument(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>, %c: tensor<4xf32>) {
  // expected-error @below {{'attn.forward' op expects argument 5 of the score region (capture 0) to be 'tensor<4xf32>', but it is 'tensor<5xf32>'; change the argument}}
  %o, %l = attn.forward %q, %k, %v captures(%c : tensor<4xf32>)
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %m: tensor<5xf32>):
      attn.yield %s : f32
  }
  return
}

// -----

func.func @control_flow(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %c = arith.constant true
      // expected-error @below {{'scf.if' op in a score region is none of the scalar arith, math and tensor.extract ops that may stand there; rewrite it with these}}
      %t = scf.if %c -> f32 { scf.yield %s : f32 } else { scf.yield %s : f32 }
      attn.yield %s : f32
  }
  return
}

// -----

func.func @foreign_op(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error @below {{'tensor.empty' op in a score region is none of the scalar arith, math and tensor.extract ops that may stand there; rewrite it with these}}
      %e = tensor.empty() : tensor<4xf32>
      attn.yield %s : f32
  }
  return
}

// -----

func.func @no_form(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %c = arith.constant 2 : i32
      // expected-error @below {{'math.ipowi' op in a score region is none of the scalar arith, math and tensor.extract ops that may stand there; rewrite it with these}}
      %e = math.ipowi %c, %c : i32
      attn.yield %s : f32
  }
  return
}

// -----

func.func @vector(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error @below {{'arith.constant' op in a score region expects scalars of f16, bf16, f32, i1, i8, i16, i32, i64 or index, but uses 'vector<4xf32>'; work on one score at a time}}
      %e = arith.constant dense<0.0> : vector<4xf32>
      attn.yield %s : f32
  }
  return
}

// -----

func.func @double(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error @below {{'arith.extf' op in a score region expects scalars of f16, bf16, f32, i1, i8, i16, i32, i64 or index, but uses 'f64'; work on one score at a time}}
      %e = arith.extf %s : f32 to f64
      attn.yield %s : f32
  }
  return
}

// -----

func.func @computed_divisor(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      // expected-error @below {{'arith.remsi' op in a score region expects to divide by a constant, but the divisor is computed; a zero there would trap}}
      %e = arith.remsi %i, %j : index
      attn.yield %s : f32
  }
  return
}

// -----

func.func @divide_by_zero(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      %z = arith.constant 0 : index
      // expected-error @below {{'arith.divui' op in a score region expects a divisor other than 0 and -1, but it is 0; use another constant}}
      %e = arith.divui %i, %z : index
      attn.yield %s : f32
  }
  return
}

// -----

func.func @other_end(%q: tensor<2x8x4x64xf16>, %k: tensor<2x8x4x64xf16>, %v: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op expects the score region to end in attn.yield, but it ends in llvm.unreachable; yield the new score}}
  %o, %l = attn.forward %q, %k, %v
      : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
    ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
      llvm.unreachable
  }
  return
}

// -----

func.func @two_blocks(%q: tensor<2x8x4x64xf16>) {
  // expected-error @below {{'attn.forward' op region #0 ('score') failed to verify constraint: region with at most 1 blocks}}
  attn.forward %q, %q, %q : tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16>, tensor<2x8x4x64xf16> -> (tensor<2x8x4x64xf16>, tensor<2x4x8xf32>) {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    cf.br ^bb1
  ^bb1:
    attn.yield %s : f32
  }
  return
}

// -----

func.func @yield_elsewhere(%s: f32) {
  // expected-error @below {{'attn.yield' op expects parent op to be one of 'attn.forward, attn.backward'}}
  attn.yield %s : f32
}

// -----

func.func @input_is_no_tensor(%q: f32) {
  // expected-error @below {{'attn.forward' op operand #0 must be ranked tensor of any type values, but got 'f32'}}
  attn.forward %q, %q, %q : f32, f32, f32 -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
  return
}

// -----

func.func @input_has_no_rank(%q: tensor<*xf16>) {
  // expected-error @below {{'attn.forward' op operand #0 must be ranked tensor of any type values, but got 'tensor<*xf16>'}}
  attn.forward %q, %q, %q : tensor<*xf16>, tensor<*xf16>, tensor<*xf16> -> (tensor<1x1x1x1xf32>, tensor<1x1x1xf32>)
  return
}
