// Choices of trip counts, for the symbolic runs of warp-verify-protocol.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_TRIPCOUNTS_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_TRIPCOUNTS_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace flashc::warp {

/// Trip counts of loops; for branches, 1 takes the first arm and 0 the second.
using Trips = llvm::DenseMap<mlir::Operation *, int64_t>;

/// Loops and branches whose counts are chosen, with the largest choice.
using Limits = llvm::MapVector<mlir::Operation *, int64_t>;

/// Calls `run` with each choice of 0 to the limit, as long as it succeeds. With
/// more than `mostRuns` of them the limits are lowered, down to loops that run
/// once.
mlir::LogicalResult
forEachChoice(Limits limits, int64_t mostRuns,
              llvm::function_ref<mlir::LogicalResult(const Trips &)> run);

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_TRIPCOUNTS_H
