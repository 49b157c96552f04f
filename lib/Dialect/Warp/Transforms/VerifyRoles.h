// warp-verify-protocol for kernels whose warps have roles.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_VERIFYROLES_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_VERIFYROLES_H

#include "flashc/Dialect/Warp/IR/Warp.h"

namespace flashc::warp {

/// Fails with an error at the op that breaks the protocol of a kernel with
/// `groups`.
mlir::LogicalResult verifyRoles(KernelOp kernel);

/// No two rings, buffers, barriers or the queue share bytes or go past the
/// kernel's shared bytes; what has no offset yet is not judged.
mlir::LogicalResult verifyRoleBytes(KernelOp kernel);

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_VERIFYROLES_H
