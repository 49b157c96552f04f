#ifndef FLASHC_WARP_PASSES
#define FLASHC_WARP_PASSES

include "mlir/Pass/PassBase.td"

def WarpPlacePuts : Pass<"warp-place-puts"> {
  let summary = "Fetch ahead: place the puts of each channel";
  let description = [{
    `convert-tile-to-warp` leaves channels with gets only. In each loop that reads it, a channel of depth d gets the put of block j + d
    after the first barrier that follows the last reader of block j: behind another channel's get in the same iteration, or
    behind the first get of the next one (there it is the put of block j + d - 1). So no barrier is added for a release where a get
    already brings one. Before the loops stand the puts of as many blocks as these run ahead, d or d - 1.

    Gets move to their first reader, so that a copy has the most time; but where a ring has one slot, the get that frees it moves up
    to the slot's last reader, so that the next block is under way during what follows. Runs first on this level.
    ```mlir
    // Before
    scf.for %j = %lo to %hi step %c1 {
      %k = warp.get %kc[%j] : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
      // S = Q K^T, softmax
      %v = warp.get %vc[%j] : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
      // O = O + P V
    }
    // After
    warp.put %kc[%lo] : !warp.channel<64x64xf16, 64, depth = 1>
    scf.for %j = %lo to %hi step %c1 {
      %k = warp.get %kc[%j] : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
      warp.put %vc[%j] : !warp.channel<64x64xf16, 64, depth = 1>
      // S = Q K^T
      %v = warp.get %vc[%j] : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
      warp.put %kc[%j1] : !warp.channel<64x64xf16, 64, depth = 1>
      // softmax, O = O + P V
    }
    ```
  }];
}

def WarpCountGroups : Pass<"warp-count-groups"> {
  let summary = "Set how many copy groups may be under way at each get and wait";
  let description = [{
    Runs the kernel as a queue of groups (each put and copy_in commits one, in program order) and sets `pending` of each `warp.get`
    to the number of groups committed after its block's, or after the newest `warp.copy_in` if that is later: a get
    also waits for plain copies, so Q needs no wait of its own. A `warp.wait` waits for the plain copies alone, and keeps a `pending` that is
    there already. Where paths differ the smallest number holds. Runs after `warp-place-puts`.
    ```mlir
    // Before
    warp.copy_in %q[%b, %h, %row] to %buf : memref<?x?x?x64xf16, strided<[?, ?, ?, 1], offset: ?>>, !warp.buffer<128x64xf16, 64>
    warp.put %kc[%lo] : !warp.channel<64x64xf16, 64, depth = 2>
    warp.put %vc[%lo] : !warp.channel<64x64xf16, 64, depth = 2>
    warp.put %kc[%lo1] : !warp.channel<64x64xf16, 64, depth = 2>
    warp.wait
    // After: for Q alone
    warp.wait pending(3)
    ```
  }];
}

def WarpAllocateShared : Pass<"warp-allocate-shared"> {
  let summary = "Give every buffer and channel its place in shared memory";
  let description = [{
    First fit by live range: buffers that are never live together may share bytes (Q and the staged O). A buffer is live until the
    first barrier behind its last reader, a channel until the first `warp.wait pending(0)`, as its last copies may be under way. Offsets are
    multiples of 128. Sets `shared_bytes`; more than the budget is an error that names both numbers. Runs after `warp-count-groups`.
    ```mlir
    // Before
    %ob = warp.alloc : !warp.buffer<128x64xf16, 64>
    // After: in the bytes of Q
    %ob = warp.alloc offset(0) : !warp.buffer<128x64xf16, 64>
    ```
  }];
  let options = [Option<"budget", "budget", "int64_t", "0", "bytes of shared memory that one block may use; 0: no check">];
}

def WarpVerifyProtocol : Pass<"warp-verify-protocol"> {
  let summary = "Check that copies, barriers and readers fit together";
  let description = [{
    Runs the kernel's protocol with each loop run 0 to 2 * depth + 1 times (fewer where there are many loops) and reports, at the
    op: a get whose block was not put, or whose `pending` leaves it under way; a put over a block that was not read; a write to bytes
    that some warp may still read (no barrier since the reader) or that a copy is under way to, also where two buffers share
    bytes; a read of what is not there or not behind a barrier; a barrier under a condition that differs from warp to
    warp. Changes nothing. Runs last on this level.
    ```mlir
    // Refused: block j + 1 goes to the one slot of a ring that is read behind it
    %k = warp.get %kc[%j] pending(0) : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
    warp.put %kc[%j1] : !warp.channel<64x64xf16, 64, depth = 1>
    %s = warp.mma %q, %k acc(%zero) transpose_b : !warp.buffer<128x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
    ```
  }];
}

#endif
