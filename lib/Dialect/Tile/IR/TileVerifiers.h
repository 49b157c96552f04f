// Checks that several verifiers of the `tile` dialect share.
#ifndef FLASHC_LIB_DIALECT_TILE_IR_TILEVERIFIERS_H
#define FLASHC_LIB_DIALECT_TILE_IR_TILEVERIFIERS_H

#include "flashc/Dialect/Tile/IR/Tile.h"

namespace flashc::tile {

/// One row value for each row of a block.
llvm::LogicalResult checkRows(mlir::Operation *op, mlir::RankedTensorType block,
                              llvm::StringRef blockName,
                              mlir::RankedTensorType rows,
                              llvm::StringRef rowsName);

/// No tile that fits on a chip has more rows or columns, and products of two
/// such sizes cannot overflow.
constexpr int64_t kMaxTileSize = 65536;

/// Tiles have constant sizes: what fits on chip is decided when compiling.
llvm::LogicalResult checkStatic(mlir::Operation *op);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_IR_TILEVERIFIERS_H
