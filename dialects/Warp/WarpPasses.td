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
    to the slot's last reader, so that the next block is under way during what follows. Where all rings have more slots and none is freed
    between the gets, these are joined at the first: one barrier instead of several. Runs first on this level.
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

    Kernels with roles: the producer and each consumer warpgroup run together, for three tiles, with each loop run 0 to 2 *
    depth + 1 times (256 runs at most; the roles' loops that take slots must correspond, and the n-th of each runs as often).
    Reported are: a send or receive whose stage and phase are not those of the ring's next slot; roles that wait for each
    other for ever, with what each waits for; a read of a slot, or an emit through it, that the group has released; a slot
    released twice, never, or while a product under way reads it; an emit through a slot that a product under way reads, or
    that another group may read; a slot never received; a product's result touched by anything but a settle that covers it
    (its accumulator too: a chained product waits for its settle), and products under way at the end of a loop's body, tile or
    role; turns that do not alternate; parts of the protocol that may be skipped; rings, buffers, barriers and queue that
    share bytes or pass `shared_bytes`. Not checked: which rows are sent, and the queue of tiles.
    ```mlir
    // Refused: block j + 1 goes to the one slot of a ring that is read behind it
    %k = warp.get %kc[%j] pending(0) : !warp.channel<64x64xf16, 64, depth = 1> -> !warp.buffer<64x64xf16, 64>
    warp.put %kc[%j1] : !warp.channel<64x64xf16, 64, depth = 1>
    %s = warp.mma %q, %k acc(%zero) transpose_b : !warp.buffer<128x64xf16, 64>, !warp.buffer<64x64xf16, 64> -> !warp.fragment<128x64xf32>
    ```
  }];
}

def WarpAssignStages : Pass<"warp-assign-stages"> {
  let summary = "Number the slots of each ring: stage and phase of every send and receive";
  let description = [{
    A ring's sends, and its receives, go through the slots in program order. The pass carries stage and phase of each ring
    through the loops that use it, from tile to tile, and advances them behind each use. Rings of one depth that a
    loop takes a slot each of in an iteration share them. Runs first on kernels with roles.
    ```mlir
    // Before
    scf.for %j = %lo to %hi step %c1 {
      %k = warp.receive %kr : !warp.ring<64x64xf16, 64, depth = 2> -> !warp.buffer<64x64xf16, 64>
    }
    // After
    %r:2 = scf.for %j = %lo to %hi step %c1 iter_args(%s = %s0, %p = %p0) -> (i32, i32) {
      %k = warp.receive %kr at(%s, %p) : !warp.ring<64x64xf16, 64, depth = 2> -> !warp.buffer<64x64xf16, 64>
      %s1, %p1 = warp.advance %s, %p depth(2)
      scf.yield %s1, %p1 : i32, i32
    }
    ```
  }];
}

def WarpPlaceSettles : Pass<"warp-place-settles"> {
  let summary = "Wait for products before their results are touched, and release slots behind their last reader";
  let description = [{
    Before the first op that touches a product's result stands a `warp.settle` that leaves under way only what was started
    later; values beside a slot that are read for that op alone are read behind the settle. A received slot is released behind the
    settle that covers its last reader, or behind the loop that holds it. Nothing is under way at the end of a loop's body.
    ```mlir
    // Before
    %s = warp.wgmma %q, %k transpose_b depth(64) : ...
    %o1 = warp.wgmma %p, %v acc(%o : ...) depth(64) : ...
    %m1 = warp.reduce max %s init(%m) : ...
    // After
    %s = warp.wgmma %q, %k transpose_b depth(64) : ...
    %o1 = warp.wgmma %p, %v acc(%o : ...) depth(64) : ...
    %s1 = warp.settle %s pending(1) : ...
    warp.release %k : ...
    %m1 = warp.reduce max %s1 init(%m) : ...
    ```
  }];
}

def WarpOrderGroups : Pass<"warp-order-groups"> {
  let summary = "Let the warpgroups take turns on the tensor cores (ping-pong)";
  let description = [{
    In each innermost loop of the consumer, the products of an iteration, from the first to the last that is started before a
    settle, are framed by `warp.await_turn` and `warp.pass_turn`: while one group's products run, the others have the
    exponentials. Source: FlashAttention-3 (arXiv 2407.08608), section 3.1. Runs after `warp-place-settles`; only on kernels with
    `turns` and more than one group.
    ```mlir
    // Before
    %s = warp.wgmma %q, %k transpose_b depth(64) : ...
    %o1 = warp.wgmma %p, %v acc(%o : ...) depth(64) : ...
    // After
    warp.await_turn
    %s = warp.wgmma %q, %k transpose_b depth(64) : ...
    %o1 = warp.wgmma %p, %v acc(%o : ...) depth(64) : ...
    warp.pass_turn
    ```
  }];
}

#endif
