// What the verifiers of the `warp` ops inside roles share.
#ifndef FLASHC_LIB_DIALECT_WARP_IR_ROLEVERIFIERS_H
#define FLASHC_LIB_DIALECT_WARP_IR_ROLEVERIFIERS_H

#include "flashc/Dialect/Warp/IR/Warp.h"

namespace flashc::warp {

/// Groups that run the op, between which its tiles' rows are dealt; of an op
/// outside the roles, all that compute.
int64_t groupsOf(mlir::Operation *op);
bool isInReducer(mlir::Operation *op);
/// The role around an op of it; an error where there is none or the other.
/// With `mayReduce` the reducer does, too.
mlir::LogicalResult verifyInRole(mlir::Operation *op, RoleKind kind,
                                 bool mayReduce = false);
/// A tensor map is made of each argument that is copied.
mlir::LogicalResult verifyMapped(mlir::Operation *op, mlir::Value view);

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_IR_ROLEVERIFIERS_H
