// The `warp` dialect: how one streaming multiprocessor runs it.
#ifndef FLASHC_DIALECT_WARP_IR_WARP_H
#define FLASHC_DIALECT_WARP_IR_WARP_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Warp/WarpDialect.h.inc"
#include "Warp/WarpEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Warp/WarpAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Warp/WarpTypes.h.inc"

#define GET_OP_CLASSES
#include "Warp/WarpOps.h.inc"

namespace flashc::warp {
/// Bytes of the queue of tiles of a kernel with roles: two slots, each a full
/// and an empty barrier of 8 bytes and a tile's three coordinates in 16.
constexpr int64_t kQueueBytes = 64;

/// The receive that first named what `buffer` is, through aliases and what
/// loops carry; null for other buffers.
ReceiveOp getReceive(mlir::Value buffer);
/// The kernel's warpgroup that loads: its producer or reducer; null for none.
RoleOp getLoadingRole(KernelOp kernel);
/// The roles that compute: one of all groups, or one for each, in their order.
llvm::SmallVector<RoleOp> getConsumers(KernelOp kernel);
} // namespace flashc::warp

#endif // FLASHC_DIALECT_WARP_IR_WARP_H
