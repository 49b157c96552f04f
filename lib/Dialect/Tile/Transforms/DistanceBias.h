// Score functions that add a bias by distance, as the tile level has them.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_DISTANCEBIAS_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_DISTANCEBIAS_H

#include "flashc/Dialect/Tile/IR/Tile.h"

#include <optional>

namespace flashc::tile {

/// A map of s + slope * (j - i), or of s + slope * |j - i|.
struct DistanceBias {
  MapOp map;
  mlir::Value slope; // a scalar from outside
  bool isAbsolute = false;

  mlir::Value row() { return map.getOrigin()[0]; }
  mlir::Value key() { return map.getOrigin()[1]; }
};

/// The map that `scores` come from, if it is one of these.
std::optional<DistanceBias> matchDistanceBias(mlir::Value scores);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_DISTANCEBIAS_H
