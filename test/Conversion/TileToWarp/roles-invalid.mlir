// RUN: flashc-opt %s --convert-tile-to-warp --split-input-file --verify-diagnostics
//
// Kernels with roles.

!view = memref<?x?x?x64xf32, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = false, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>
tile.kernel @f32(%q: !view) attributes {schedule = #schedule} {
  %b, %h, %i = tile.program
  // expected-error @+1 {{'tile.load' op ring holds f16 or bf16, but this one holds 'f32'; convert the elements first}}
  %qt = tile.load %q[%b, %h, %i] : !view -> tensor<64x64xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = false, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 272, stages = 1, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>
tile.kernel @tall(%q: !view) attributes {schedule = #schedule} {
  %b, %h, %i = tile.program
  // expected-error @+1 {{'tile.stream' op ring is filled by TMA in boxes of at most 256 rows and segments of 64, but this one has 272 rows in 1 parts and segments of 64; choose smaller tiles}}
  %ks = tile.stream %q[%b, %h] blocks(%b to %h) : !view -> !tile.stream<272x64xf16>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = false, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>
tile.kernel @passed_around(%q: !view) attributes {schedule = #schedule} {
  %c1 = arith.constant 1 : index
  %b, %h, %i = tile.program
  %ks = tile.stream %q[%b, %h] blocks(%b to %h) : !view -> !tile.stream<64x64xf16>
  %r = scf.for %j = %b to %h step %c1 iter_args(%s = %ks) -> (!tile.stream<64x64xf16>) {
    // expected-error @+1 {{'tile.next' op reads a stream that is passed around, but a ring is named by its 'tile.stream'; use that}}
    %kt = tile.next %s[%j] : !tile.stream<64x64xf16> -> tensor<64x64xf16>
    scf.yield %s : !tile.stream<64x64xf16>
  }
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = false, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>
tile.kernel @computed_rhs(%q: !view) attributes {schedule = #schedule} {
  %a = arith.constant dense<0.0> : tensor<64x64xf16>
  %s = arith.constant dense<0.0> : tensor<64x64xf32>
  %b, %h, %i = tile.program
  // expected-error @+1 {{'tile.dot' op reads its right operand from shared memory, but it is neither a 'tile.load' nor a 'tile.next'; put the computed tile on the left}}
  %d = tile.dot %a, %a acc(%s) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  tile.return
}

// -----

!view = memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>
#roles = #tile.roles<groups = 1, producer = 24, consumer = 240, overlap = false, turns = false, rescale = late, apart = false, ahead = false, skip = false>
#schedule = #tile.schedule<q = 64, kv = 64, stages = 1, warps = 4, q_in_registers = false, sram = 232448, roles = #roles>
tile.kernel @computed_again(%q: !view) attributes {schedule = #schedule} {
  %a = arith.constant dense<0.0> : tensor<64x64xf16>
  %s = arith.constant dense<0.0> : tensor<64x64xf32>
  %b, %h, %i = tile.program
  %again = tile.any_not_finite %s : tensor<64x64xf32>
  scf.if %again {
    // expected-error @+1 {{'tile.dot' op reads its right operand from memory and its left one from registers, but one is elsewhere; load the right one in the same branch}}
    %d = tile.dot %a, %a acc(%s) : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  }
  tile.return
}
