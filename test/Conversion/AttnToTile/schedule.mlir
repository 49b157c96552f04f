// A whole schedule that is asked for is taken as it is, if it fits.
// RUN: flashc-opt %s --convert-attn-to-tile='arch=sm_90a schedule="#tile.schedule<q = 128, kv = 96, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = <groups = 2, producer = 24, consumer = 240, overlap = false, turns = true, rescale = late, apart = true, ahead = false, skip = false>>"' | FileCheck %s
// RUN: flashc-opt %s --convert-attn-to-tile='arch=sm_80 schedule="#tile.schedule<q = 64, kv = 32, stages = 2, warps = 4, q_in_registers = true, sram = 166912>"' | FileCheck %s --check-prefix=SM80

// RUN: not flashc-opt %s --convert-attn-to-tile='arch=sm_90a schedule="#tile.schedule<q = 128, kv = 256, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = <groups = 2, producer = 32, consumer = 232, overlap = true, turns = true, rescale = late, apart = true, ahead = false, skip = false>>"' 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not flashc-opt %s --convert-attn-to-tile='arch=sm_80 schedule="#tile.schedule<q = 128, kv = 96, stages = 2, warps = 8, q_in_registers = false, sram = 232448>"' 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not flashc-opt %s --convert-attn-to-tile='schedule="#tile.schedule<q = 100, kv = 96, stages = 2, warps = 8, q_in_registers = false, sram = 166912>"' 2>&1 | FileCheck %s --check-prefix=VERIFY
// RUN: not flashc-opt %s --convert-attn-to-tile='schedule="#attn.causal"' 2>&1 | FileCheck %s --check-prefix=OTHER

!t = tensor<?x?x?x128xf16>

// CHECK: tile.kernel @attention({{.*}} {schedule = #tile.schedule<q = 128, kv = 96, stages = 2, warps = 8, q_in_registers = false, sram = 232448, roles = <groups = 2, producer = 24, consumer = 240, overlap = false, turns = true, rescale = late, apart = true, ahead = false, skip = false>>
// SM80: tile.kernel @attention({{.*}} {schedule = #tile.schedule<q = 64, kv = 32, stages = 2, warps = 4, q_in_registers = true, sram = 166912>
// BUDGET: error: 'attn.forward' op a schedule with roles, blocks of 128x256 and 2 stages does not fit head dims 128 and 128 on sm_90a with 232448 bytes on chip; take one that was made for this attention and target
// TARGET: error: 'attn.forward' op the schedule was made for 232448 bytes on chip, but sm_80 has 166912; make it anew
// VERIFY: error: 'attn.forward' op '#tile.schedule<q = 100{{.*}} is no schedule: expects q to be a multiple of 16 rows for each warp
// OTHER: error: 'attn.forward' op '#attn.causal' is no schedule: it is another attribute; write it as flashc --emit=tile prints it
func.func @attention(%q: !t, %k: !t, %v: !t) -> !t {
  %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> (!t, tensor<?x?x?xf32>)
  return %o : !t
}
