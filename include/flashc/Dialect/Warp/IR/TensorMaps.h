// The tensor maps of a kernel with roles: part of its ABI, so both its lowering
// and its manifest ask here.
#ifndef FLASHC_DIALECT_WARP_IR_TENSORMAPS_H
#define FLASHC_DIALECT_WARP_IR_TENSORMAPS_H

#include "flashc/Dialect/Warp/IR/Warp.h"

namespace flashc::warp {

/// Boxes of `rows` rows and 64 columns of one argument. With a head dim that is
/// a multiple of 64 a box has all columns (a third dimension counts the
/// segments), else one segment.
struct TensorMap {
  unsigned argument;
  int64_t rows;
  bool operator==(const TensorMap &) const = default;
};

/// In the order of the parameters, which follow those of the views.
mlir::SmallVector<TensorMap> getTensorMaps(KernelOp kernel);

/// Where the map of a copy stands in that list.
size_t getTensorMapIndex(mlir::ArrayRef<TensorMap> maps, mlir::Value view,
                         int64_t rows);

} // namespace flashc::warp

#endif // FLASHC_DIALECT_WARP_IR_TENSORMAPS_H
