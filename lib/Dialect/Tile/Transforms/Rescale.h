// What a kernel's roles say about the running softmax.
#ifndef FLASHC_LIB_DIALECT_TILE_TRANSFORMS_RESCALE_H
#define FLASHC_LIB_DIALECT_TILE_TRANSFORMS_RESCALE_H

#include "flashc/Dialect/Tile/IR/Redo.h"

namespace flashc::tile {

/// The roles of the kernel around `op`; null where it has none, and in the
/// redo, which does without.
inline RolesAttr getRoles(mlir::Operation *op) {
  if (isInRedo(op))
    return {};
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getSchedule().getRoles() : RolesAttr();
}

/// When the accumulators of the kernel around `op` follow a new maximum: `lazy`
/// where the kernel has no roles.
inline Rescale getRescale(mlir::Operation *op) {
  RolesAttr roles = getRoles(op);
  return roles ? roles.getRescale() : Rescale::Lazy;
}

} // namespace flashc::tile

#endif // FLASHC_LIB_DIALECT_TILE_TRANSFORMS_RESCALE_H
