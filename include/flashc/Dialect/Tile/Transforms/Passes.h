// Passes that start and end on the `tile` level.
#ifndef FLASHC_DIALECT_TILE_TRANSFORMS_PASSES_H
#define FLASHC_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace flashc::tile {
#define GEN_PASS_DECL
#include "Tile/TilePasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "Tile/TilePasses.h.inc"
} // namespace flashc::tile

#endif // FLASHC_DIALECT_TILE_TRANSFORMS_PASSES_H
