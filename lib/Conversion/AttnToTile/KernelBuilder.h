// The body of the tile kernel of one attn.forward.
#ifndef FLASHC_LIB_CONVERSION_ATTNTOTILE_KERNELBUILDER_H
#define FLASHC_LIB_CONVERSION_ATTNTOTILE_KERNELBUILDER_H

#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/IntegerSet.h"

namespace flashc {

/// Global views of a kernel: those of the op's operands, and of its results.
struct KernelViews {
  mlir::Value query, key, value, kvLengths;
  llvm::SmallVector<mlir::Value> captures;
  mlir::Value output;
  mlir::Value lse; // null: not asked for
};

/// The 4-D view (batch, head, length, head dim) of a tensor in `layout`.
mlir::MemRefType getViewType(mlir::RankedTensorType tensor,
                             attn::Layout layout);
/// The 3-D view of LSE.
mlir::MemRefType getRowViewType(mlir::RankedTensorType tensor);

/// Appends to `builder`'s block: the program's numbers, one loop over all key
/// blocks, the stores and the terminator. `sets` is the mask.
void buildKernelBody(mlir::OpBuilder &builder, attn::ForwardOp op,
                     tile::ScheduleAttr schedule, const KernelViews &views,
                     llvm::ArrayRef<mlir::IntegerSet> sets);

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_ATTNTOTILE_KERNELBUILDER_H
