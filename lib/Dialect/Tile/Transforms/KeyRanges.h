// Which key blocks a tile.mask lets through, as index arithmetic.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_KEYRANGES_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_KEYRANGES_H

#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashc::tile {

/// Blocks `lo` to `hi` (exclusive).
struct BlockRange {
  mlir::Value lo, hi;
};

/// Rows `first` to `end` (exclusive) that exist: a row past the queries would
/// widen a range.
struct RowRange {
  mlir::Value first, end;
};

/// lo <= fullLo <= fullHi <= hi, as block numbers.
struct KeyRanges {
  /// Outside of it no row of the query block sees a key.
  BlockRange any;
  /// Inside of it every row sees every key.
  BlockRange full;
};

/// The ranges of `mask` for `rows`. Of a transposed mask, ranges of query
/// blocks for the keys from `rows.first` on; there keys past the end do widen
/// them, as the mask itself has to hide these. Builds in front of the loop over
/// blocks `loop`, in which every range lies. Numbers stay within the lengths'
/// own size: `index` has 32 bits on a GPU.
KeyRanges buildKeyRanges(mlir::ImplicitLocOpBuilder &b, MaskOp mask,
                         RowRange rows, BlockRange loop);

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_KEYRANGES_H
