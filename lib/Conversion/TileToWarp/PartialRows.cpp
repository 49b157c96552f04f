// Finds the deferred row sums of a tile kernel. Input of convert-tile-to-warp:
// the sums become `partial` fragments, four lanes with a part each.
#include "PartialRows.h"

using namespace mlir;

namespace flashc {

void PartialRows::add(Value value) {
  if (value.getDefiningOp<arith::ConstantOp>())
    return;
  if (values.insert(value).second)
    pending.push_back(value);
}

void PartialRows::addLoopValue(scf::ForOp loop, unsigned index) {
  add(loop.getInitArgs()[index]);
  add(loop.getRegionIterArg(index));
  add(loop.getYieldedValues()[index]);
  add(loop.getResult(index));
}

void PartialRows::addBranchValue(scf::IfOp branch, unsigned index) {
  add(branch.thenYield().getOperand(index));
  add(branch.elseYield().getOperand(index));
  add(branch.getResult(index));
}

void PartialRows::followDefinition(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (loop && argument.getArgNumber() >= loop.getNumInductionVars())
      addLoopValue(loop, argument.getArgNumber() - loop.getNumInductionVars());
    return;
  }
  unsigned index = cast<OpResult>(value).getResultNumber();
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    addLoopValue(loop, index);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    addBranchValue(branch, index);
  else if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    add(reduce.getInit());
}

LogicalResult PartialRows::followUses(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    unsigned index = use.getOperandNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      addLoopValue(loop, index - loop.getNumControlOperands());
    } else if (isa<scf::YieldOp>(op)) {
      if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()))
        addLoopValue(loop, index);
      else if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp()))
        addBranchValue(branch, index);
    } else if (isa<tile::MapOp>(op)) {
      for (Value result : op->getResults())
        add(result);
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op);
               reduce && reduce.getDeferred()) {
      add(reduce.getResult());
    } else if (!isa<tile::CollectOp>(op)) {
      return op->emitOpError("uses a deferred sum as operand ")
             << index
             << ", but only deferred reduces, maps that multiply it by a row "
                "factor and 'tile.collect' may; collect it first";
    }
  }
  return success();
}

FailureOr<PartialRows> PartialRows::compute(tile::KernelOp kernel) {
  PartialRows rows;
  kernel.walk([&](tile::ReduceOp reduce) {
    if (reduce.getDeferred())
      rows.add(reduce.getResult());
  });
  kernel.walk([&](tile::CollectOp collect) { rows.add(collect.getParts()); });
  while (!rows.pending.empty()) {
    Value value = rows.pending.pop_back_val();
    rows.followDefinition(value);
    if (failed(rows.followUses(value)))
      return failure();
  }
  return rows;
}

} // namespace flashc
