// Score regions and their gradients as code inside of a tile.map.
#ifndef FLASHC_LIB_CONVERSION_ATTNTOTILE_REGIONCLONER_H
#define FLASHC_LIB_CONVERSION_ATTNTOTILE_REGIONCLONER_H

#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashc {

/// An attn.add_gradient as it was cloned: indices are inside the capture.
struct Addition {
  unsigned capture;
  mlir::Value value;
  llvm::SmallVector<mlir::Value> indices;
};

class RegionCloner {
public:
  /// `captures` are the views of the op's captured tensors. Builds their last
  /// indices here.
  RegionCloner(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange captures);

  /// The ops of `region` with `scalars` for its arguments before the captures;
  /// returns what became of its values.
  mlir::IRMapping cloneOps(mlir::Block &region, mlir::ValueRange scalars,
                           llvm::SmallVectorImpl<Addition> *additions = {});
  /// The ops of `region` with `scalars` for its arguments before the captures;
  /// returns what it yields. Additions go to `additions`, in order.
  mlir::Value clone(mlir::Block &region, mlir::ValueRange scalars,
                    llvm::SmallVectorImpl<Addition> *additions = nullptr);
  /// The same, but returns what became of `result`, a value of the region.
  mlir::Value clone(mlir::Block &region, mlir::ValueRange scalars,
                    mlir::Value result,
                    llvm::SmallVectorImpl<Addition> *additions = nullptr);

  mlir::ValueRange getCaptures() const { return captures; }
  /// The last index of each dimension of each captured tensor.
  llvm::ArrayRef<llvm::SmallVector<mlir::Value>> getEnds() const {
    return ends;
  }

private:
  llvm::SmallVector<mlir::Value> keepInside(unsigned capture,
                                            mlir::ValueRange indices,
                                            const mlir::IRMapping &mapping);

  mlir::ImplicitLocOpBuilder &b;
  llvm::SmallVector<mlir::Value> captures;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> ends;
};

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_ATTNTOTILE_REGIONCLONER_H
