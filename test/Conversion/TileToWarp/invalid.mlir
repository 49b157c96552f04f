// RUN: flashc-opt %s --convert-tile-to-warp --split-input-file --verify-diagnostics

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @f32(%q: !view) attributes {schedule = #schedule} {
  %b, %h, %i = tile.program
  // expected-error @+1 {{'tile.load' op buffer holds f16 or bf16, but this one holds 'f32'; convert the elements first}}
  %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x64xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @not_expanded(%q: !view) attributes {schedule = #schedule} {
  %s = arith.constant dense<0.0> : tensor<64x64xf32>
  %m = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @+1 {{'tile.softmax_update' op has no form on the warp level, which knows maps, reduces, dots, loops and branches; run 'tile-expand-softmax' first}}
  %p, %m1, %l1, %alpha = tile.softmax_update %s, %m, %m base(two) scale(0.125) : tensor<64x64xf32>, tensor<64xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @computed_rhs(%q: !view) attributes {schedule = #schedule} {
  %a = arith.constant dense<0.0> : tensor<64x64xf16>
  %s = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-error @+1 {{'tile.dot' op reads its right operand from shared memory, but it is neither a 'tile.load' nor a 'tile.next'; put the computed tile on the left}}
  %d = tile.dot %a, %a acc(%s) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 16, kv = 64, stages = 1, warps = 1, q_in_registers = false, sram = 101376>
tile.kernel @not_splat(%q: !view) attributes {schedule = #schedule} {
  // expected-error @+1 {{'arith.constant' op is a tile of different constants, but a fragment is filled with one; compute it with a 'tile.map' over its coordinates}}
  %a = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : tensor<16xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
!lse = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @parts_as_sum(%q: !view, %lse: !lse {tile.output}) attributes {schedule = #schedule} {
  %b, %h, %i = tile.program
  %p = arith.constant dense<0.0> : tensor<64x64xf32>
  %z = arith.constant dense<0.0> : tensor<64xf32>
  %c1 = arith.constant 1 : index
  %l = scf.for %j = %b to %h step %c1 iter_args(%l0 = %z) -> (tensor<64xf32>) {
    %l1 = tile.reduce add %p init(%l0) deferred : tensor<64x64xf32>, tensor<64xf32>
    scf.yield %l1 : tensor<64xf32>
  }
  // expected-error @+1 {{'tile.store' op uses a deferred sum as operand 0, but only deferred reduces, maps that multiply it by a row factor and 'tile.collect' may; collect it first}}
  tile.store %l, %lse[%b, %h, %i] : tensor<64xf32>, !lse
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 1024, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @too_large(%q: !view) attributes {schedule = #schedule} {
  // expected-error @+1 {{'arith.constant' op fragment fits a block's 65536 registers, but this one has 1024 x 128 elements; choose smaller tiles}}
  %a = arith.constant dense<0.0> : tensor<1024x128xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
// expected-error @+1 {{has a grid of its own, but kernels on the warp level have a program for each query block; run this one on the CPU}}
tile.kernel @grid(%q: !view) attributes {grid = #tile.grid<batch = [], heads = [], blocks = [], rows = 64>, schedule = #schedule} {
  tile.return
}

// -----

!view = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @row_values(%q: memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, %lse: !view) attributes {schedule = #schedule} {
  %b, %h, %i = tile.program
  // expected-error @+1 {{'tile.load' op has no form on the warp level, which knows products with B transposed, blocks of rows and values for each row; run this kernel on the CPU}}
  %x = tile.load %lse[%b, %h, %i] : !view -> tensor<64xf32>
  tile.return
}
