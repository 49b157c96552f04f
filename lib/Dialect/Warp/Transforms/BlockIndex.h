// What the passes on puts and gets share: block numbers of a channel, and which
// ops meet at a barrier.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_BLOCKINDEX_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_BLOCKINDEX_H

#include "flashc/Dialect/Warp/IR/Warp.h"

namespace flashc::warp {

/// `base + offset`; a constant has no base.
struct BlockIndex {
  mlir::Value base;
  int64_t offset = 0;

  bool operator==(const BlockIndex &) const = default;
};

/// Takes constants off a sum: `%lo + 1` is (%lo, 1), `3` is (null, 3).
BlockIndex getBlockIndex(mlir::Value value);

/// Do all threads of the block meet here? (get, wait, barrier)
inline bool isBarrier(mlir::Operation *op) {
  return mlir::isa<GetOp, WaitOp, BarrierOp>(op);
}

/// The next op after `op` in its block where all threads meet, or null.
mlir::Operation *getNextBarrier(mlir::Operation *op);

/// The last op of `body` that reads (or holds a reader of) `buffer`, or null.
mlir::Operation *getLastReader(mlir::Value buffer, mlir::Block *body);

/// The first such op, or null.
mlir::Operation *getFirstReader(mlir::Value buffer, mlir::Block *body);

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_BLOCKINDEX_H
