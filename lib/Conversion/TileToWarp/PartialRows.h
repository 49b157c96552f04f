// Which row values of a tile kernel live as parts between a deferred sum and
// its collect.
#ifndef FLASHC_LIB_CONVERSION_TILETOWARP_PARTIALROWS_H
#define FLASHC_LIB_CONVERSION_TILETOWARP_PARTIALROWS_H

#include "flashc/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/DenseSet.h"

namespace flashc {

/// The values that become `partial` fragments: those joined to a deferred
/// `tile.reduce` or a `tile.collect` through loops, branches and maps that
/// multiply by a row factor. Constants are left out: one constant may start
/// a partial sum and a plain one, so each use decides for itself.
class PartialRows {
public:
  /// Fails with an error at the op that uses a deferred sum as a plain value.
  static mlir::FailureOr<PartialRows> compute(tile::KernelOp kernel);

  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  void add(mlir::Value value);
  void addLoopValue(mlir::scf::ForOp loop, unsigned index);
  void addBranchValue(mlir::scf::IfOp branch, unsigned index);
  void followDefinition(mlir::Value value);
  mlir::LogicalResult followUses(mlir::Value value);

  llvm::DenseSet<mlir::Value> values;
  llvm::SmallVector<mlir::Value> pending;
};

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_TILETOWARP_PARTIALROWS_H
