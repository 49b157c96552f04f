// A short way to write a tile.map.
#ifndef FLASHC_DIALECT_TILE_IR_BUILDMAP_H
#define FLASHC_DIALECT_TILE_IR_BUILDMAP_H

#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashc::tile {

/// A tile.map over `inputs` with results of `types`. `body` gets the scalars of
/// the inputs and then, if `origin` is given, the coordinates; it builds with
/// the same builder and returns one scalar for each result.
mlir::ResultRange buildMap(
    mlir::ImplicitLocOpBuilder &b, mlir::TypeRange types,
    mlir::ValueRange inputs, mlir::ValueRange origin,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);

/// A rank-1 or rank-2 f32 tile of one value.
mlir::Value buildSplat(mlir::ImplicitLocOpBuilder &b,
                       llvm::ArrayRef<int64_t> shape, float value);

/// A scalar f32 constant.
mlir::Value buildF32(mlir::ImplicitLocOpBuilder &b, float value);

} // namespace flashc::tile

#endif // FLASHC_DIALECT_TILE_IR_BUILDMAP_H
