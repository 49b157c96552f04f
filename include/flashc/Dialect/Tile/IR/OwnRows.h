// Key loops of kernels whose warpgroups skip blocks (docs/decisions/019).
#ifndef FLASHC_DIALECT_TILE_IR_OWNROWS_H
#define FLASHC_DIALECT_TILE_IR_OWNROWS_H

#include "flashc/Dialect/Tile/IR/Tile.h"

namespace flashc::tile {

/// Whether the scalar `value` is made of a `tile.own_rows`, so that it differs
/// from group to group.
inline bool isOfOwnRows(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && (mlir::isa<OwnRowsOp>(op) ||
                llvm::any_of(op->getOperands(), isOfOwnRows));
}

} // namespace flashc::tile

#endif // FLASHC_DIALECT_TILE_IR_OWNROWS_H
