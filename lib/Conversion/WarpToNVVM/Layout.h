// Where an element of a fragment or buffer is: the arithmetic behind the
// layouts that WarpDialect.td defines, in one place.
#ifndef FLASHC_CONVERSION_WARPTONVVM_LAYOUT_H
#define FLASHC_CONVERSION_WARPTONVVM_LAYOUT_H

#include "flashc/Dialect/Warp/IR/Warp.h"

#include <algorithm>

namespace flashc {

/// A block's warps that compute, and the fewest rows of a tile that one has.
struct WarpGrid {
  int64_t warps, leastRows;
};

/// How a tile's rows are dealt to the warps: `warpRows` for each; where these
/// would be too few, to some of the warps, and the columns to `parts` groups of
/// those.
struct Deal {
  int64_t warpRows, parts;
  Deal(int64_t rows, WarpGrid grid)
      : warpRows(std::max(rows / grid.warps, grid.leastRows)),
        parts(std::max<int64_t>(grid.leastRows * grid.warps / rows, 1)) {}
};

/// The 16 x 8 tiles of one warp's part of a fragment.
struct FragmentLayout {
  int64_t rowTiles, columnTiles; // columnTiles is 0 for rank 1
  int64_t parts;                 // of the columns
  bool isColumns;                // a value for each column
  FragmentLayout(warp::FragmentType type, WarpGrid grid)
      : rowTiles(Deal(type.getRows(), grid).warpRows / 16),
        columnTiles(type.getRank() == 2 ? type.getShape()[1] / 8 : 0),
        parts(Deal(type.getRows(), grid).parts), isColumns(type.isColumns()) {
    columnTiles /= parts;
  }
  /// Columns of one warp's part.
  int64_t columns() const { return columnTiles * 8; }
  /// How many registers a lane holds; 16-bit elements are packed in pairs.
  int64_t registers(bool packed) const {
    if (isColumns)
      return columnTiles * 2;
    int64_t rows = rowTiles * 2;
    return columnTiles == 0 ? rows : rows * columnTiles * (packed ? 1 : 2);
  }
  /// Register of (row half 0 or 1 of a row tile) of a rank-1 fragment.
  static int64_t row(int64_t rowTile, int64_t half) {
    return rowTile * 2 + half;
  }
  /// Register of an f32 or i1 element: column 0 or 1 of the lane's pair.
  int64_t element(int64_t rowTile, int64_t columnTile, int64_t half,
                  int64_t column) const {
    return ((rowTile * columnTiles + columnTile) * 2 + half) * 2 + column;
  }
  /// Register of a packed pair of 16-bit elements.
  int64_t pair(int64_t rowTile, int64_t columnTile, int64_t half) const {
    return (rowTile * columnTiles + columnTile) * 2 + half;
  }
};

/// One element that a lane holds, as a map sees it.
struct ElementPosition {
  int64_t rowTile, columnTile, half, column;
  bool rankOne;
};

/// The part a lane plays in touching a buffer.
enum class LaneRole {
  OperandA,      // ldmatrix.x4 of a 16 x 16 block, rows dealt to the warps
  OperandB,      // ldmatrix.x4 of rows n, columns k: the B operand of A B^T
  OperandBTrans, // ldmatrix.x4.trans of rows k, columns n: the B operand of A B
  OperandATrans, // ldmatrix.x4.trans of rows k, columns m, the columns dealt to
                 // the warps: the A operand of A^T B
  Accumulator    // the lane's pair in a 16 x 8 tile, rows dealt to the warps
};

/// The swizzle of a buffer: 16-byte pieces of a row of `segment` elements.
struct Swizzle {
  int64_t segment;
  int64_t pieces() const { return segment / 8; }
  int64_t pitch() const { return segment * 2; } // bytes of a row in its slab
  /// Row r is permuted by (r / rowGroup()) % pieces().
  int64_t rowGroup() const { return 8 / pieces(); }
};

inline int64_t slabBytes(warp::BufferType type) {
  return type.getShape()[0] * type.getSegment() * 2;
}

} // namespace flashc

#endif // FLASHC_CONVERSION_WARPTONVVM_LAYOUT_H
