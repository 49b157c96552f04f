// Kernels with roles compute a tile whose result is not finite a second time,
// with care, in a branch behind the key loops (docs/decisions/012).
#ifndef FLASHC_DIALECT_TILE_IR_REDO_H
#define FLASHC_DIALECT_TILE_IR_REDO_H

#include "flashc/Dialect/Tile/IR/Tile.h"

namespace flashc::tile {

/// Whether `op` stands in that branch, where nothing is streamed, split or
/// overlapped.
inline bool isInRedo(mlir::Operation *op) {
  for (auto branch = op->getParentOfType<mlir::scf::IfOp>(); branch;
       branch = branch->getParentOfType<mlir::scf::IfOp>())
    if (branch.getCondition().getDefiningOp<AnyNotFiniteOp>())
      return true;
  return false;
}

} // namespace flashc::tile

#endif // FLASHC_DIALECT_TILE_IR_REDO_H
