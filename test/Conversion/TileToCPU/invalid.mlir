// RUN: flashc-opt %s --convert-tile-to-cpu --split-input-file --verify-diagnostics

tile.kernel @not_expanded(%o: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %zeros = arith.constant dense<0.0> : tensor<16xf32>
  %tile = arith.constant dense<0.0> : tensor<16x16xf32>
  // expected-error @+1 {{'tile.rescale' op has no form on the CPU; run tile-expand-softmax before convert-tile-to-cpu}}
  %r = tile.rescale %tile by %zeros : tensor<16x16xf32>, tensor<16xf32>
  tile.return
}

// -----

tile.kernel @stream_in_a_loop(%v: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b, %h, %i = tile.program
  %s = tile.stream %v[%b, %h] blocks(%c0 to %i) : memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>> -> !tile.stream<16x16xf32>
  // expected-error @+1 {{'scf.for' op carries a tile.stream, but on the CPU a stream is known where it is read; use the tile.stream itself}}
  %r = scf.for %j = %c0 to %i step %c1 iter_args(%t = %s) -> (!tile.stream<16x16xf32>) {
    %x = tile.next %t[%j] : !tile.stream<16x16xf32> -> tensor<16x16xf32>
    scf.yield %t : !tile.stream<16x16xf32>
  }
  tile.return
}

// -----

tile.kernel @ragged(%o: memref<?x?x?x20xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  // expected-error @+1 {{'arith.constant' op makes a tile whose last dimension is 20, which is no multiple of 16; pad it}}
  %t = arith.constant dense<0.0> : tensor<16x20xf32>
  tile.return
}

// -----

tile.kernel @integers(%o: memref<?x?x?x16xf32, strided<[?, ?, ?, 1], offset: ?>>) attributes {
    schedule = #tile.schedule<q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>} {
  // expected-error @+1 {{'arith.constant' op makes a 'tensor<16xi32>', but a tile on the CPU has one or two static dimensions of f16, bf16, f32 or i1; change its type}}
  %t = arith.constant dense<0> : tensor<16xi32>
  tile.return
}
