// RUN: flashc-opt %s --convert-tile-to-warp --split-input-file --verify-diagnostics

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @f32(%q: !view) attributes {schedule = #schedule} {
  %b, %h, %i = tile.program
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x64xf32>
  // expected-error @+1 {{'tile.dot' op multiplies tiles of f32, but shared memory and the tensor cores take f16 and bf16; convert the elements first}}
  %s = tile.dot %qt, %qt acc(%z) transpose_b : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
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

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @ordered(%sums: !view {tile.output}) attributes {grid = #tile.grid<batch = [0, 0], heads = [0, 1], blocks = [0, 2], rows = 64>, schedule = #schedule} {
  %b, %h, %i = tile.program
  %x = tile.load %sums[%b, %h, %i] : !view -> tensor<64x64xf32>
  // expected-error @+1 {{'tile.accumulate' op adds in the order of the blocks, but the blocks of a GPU's grid add in any; leave out 'deterministic', or use target cpu}}
  tile.accumulate %x, %sums[%b, %h, %i] ordered : tensor<64x64xf32>, !view
  tile.return
}

// -----

!view = memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @limited(%rows: !view, %end: memref<1xi32>) attributes {grid = #tile.grid<batch = [0, 0], heads = [0, 1], blocks = [0, 2], rows = 64>, schedule = #schedule} {
  %b, %h, %i = tile.program
  // expected-error @+1 {{'tile.load' op loads f32 up to a limit, but on the warp level such loads end with their view; drop the limit}}
  %x = tile.load %rows[%b, %h, %i] limit(%h) : !view -> tensor<64xf32>
  tile.return
}

// -----

#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 8, q_in_registers = false, sram = 101376>
tile.kernel @split_rows(%rows: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>) attributes {grid = #tile.grid<batch = [0, 0], heads = [0, 1], blocks = [0, 2], rows = 64>, schedule = #schedule} {
  %p = arith.constant dense<0.0> : tensor<64x64xf32>
  %z = arith.constant dense<0.0> : tensor<64xf32>
  // expected-error @+1 {{'tile.reduce' op sums rows, but 8 warps have fewer rows each than they take of 'tensor<64x64xf32>'; use larger blocks or fewer warps}}
  %l = tile.reduce add %p init(%z) : tensor<64x64xf32>, tensor<64xf32>
  tile.return
}

// -----

#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 101376>
tile.kernel @two_heights(%rows: memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>>) attributes {grid = #tile.grid<batch = [0, 0], heads = [0, 1], blocks = [0, 2], rows = 64>, schedule = #schedule} {
  %b, %h, %i = tile.program
  %c = tile.load %rows[%b, %h, %i] : memref<?x?x?xf32, strided<[?, ?, 1], offset: ?>> -> tensor<1x64xf32>
  %x = arith.constant dense<0.0> : tensor<64x64xf32>
  %y = arith.constant dense<0.0> : tensor<128x64xf32>
  %u = tile.map ins(%x, %c : tensor<64x64xf32>, tensor<1x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: f32, %d: f32):
    tile.yield %d : f32
  }
  // expected-error @+1 {{'tile.map' op meets column values with a tile of 128 rows, but another map does with 64; use one block size for both}}
  %v = tile.map ins(%y, %c : tensor<128x64xf32>, tensor<1x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%a: f32, %d: f32):
    tile.yield %d : f32
  }
  tile.return
}
