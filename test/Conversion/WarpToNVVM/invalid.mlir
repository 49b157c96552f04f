// RUN: flashc-opt %s --convert-warp-to-nvvm=arch=sm_75 --expand-math --split-input-file --verify-diagnostics

// expected-error@+1 {{'warp.kernel' op needs sm_80 (bf16 mma.sync), but the target is sm_75; use f16 or a newer arch}}
warp.kernel @bf16_on_turing(%q: memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {warps = 1, q_block = 16} {
  warp.return
}

// -----

warp.kernel @memref_op(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {warps = 1, q_block = 16} {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{'memref.extract_aligned_pointer_as_index' op has no form on the GPU; expected scalar arith, math or memref.load here}}
  %a = memref.extract_aligned_pointer_as_index %q : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>> -> index
  warp.return
}

// -----

// expected-error@+1 {{'warp.kernel' op has f32 tensors, but tensor-core products are exact for f16 and bf16 only; use one of these or the cpu target}}
warp.kernel @f32(%q: memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {warps = 1, q_block = 16} {
  warp.return
}

// -----

// expected-error@+1 {{'warp.kernel' op needs sm_90a (TMA and wgmma), but the target is sm_75; give that target to all passes}}
warp.kernel @roles_on_turing(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>) attributes {q_block = 64 : i64, warps = 4 : i64, groups = 1 : i64} {
  warp.return
}
