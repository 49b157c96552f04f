#ifndef FLASHC_WARP_PASSES
#define FLASHC_WARP_PASSES

include "mlir/Pass/PassBase.td"

def WarpPlacePuts : Pass<"warp-place-puts"> {
  let summary = "Fetch ahead: place the puts of each channel";
  let description = [{
    `convert-tile-to-warp` leaves channels with gets only. A channel of depth d gets puts of its first d blocks at its head
    (only those whose slots are free) and, in each loop that reads it, the put of block j + d after the first barrier that follows the last reader of block j:
    behind another channel's get in the same iteration, or behind the next get in the next one. So no barrier is added
    for a release where a get already brings one.
  }];
}

def WarpCountGroups : Pass<"warp-count-groups"> {
  let summary = "Set how many copy groups may be under way at each get and wait";
  let description = [{
    Walks the kernel as a queue of groups (each put and copy_in commits one, in program order, the same on every path) and sets
    `pending` of each `warp.get` and `warp.wait` to the number of groups committed after the one it waits for.
  }];
}

def WarpAllocateShared : Pass<"warp-allocate-shared"> {
  let summary = "Give every buffer and channel its place in shared memory";
  let description = [{
    First fit by live range: buffers that are never live together may share bytes (Q and the staged O). Offsets are multiples of 128. Sets
    `shared_bytes`; more than the budget is an error that names both numbers.
  }];
  let options = [Option<"budget", "budget", "int64_t", "0", "bytes of shared memory that one block may use; 0: no check">];
}

#endif
