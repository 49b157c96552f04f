// The main kernel of a backward whose warps have roles, of
// convert-tile-to-warp: what of the kernel a consumer needs for its results.
// The sum of dQ is the reducer's, so nobody else needs it; and of groups that
// share the results each has those of one output.
#include "GradientConverter.h"

using namespace mlir;

namespace flashc {

/// Whether it stores dV, not dK or the sums of its rows.
bool GradientConverter::isValueGradient(tile::StoreOp store) {
  auto argument = cast<BlockArgument>(store.getView());
  auto name = kernel.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                  "tile.argument");
  return name && name.getValue() == "dv";
}

void GradientConverter::findNeeded() {
  needed.clear();
  carried.clear();
  for (auto store : kernel.getBody().getOps<tile::StoreOp>())
    if (!groupNow || isValueGradient(store) == (*groupNow == kValueGroup))
      needOp(store);
  if (groupNow && *groupNow == kValueGroup)
    toVisit.push_back(weights);
  else // of dS, or of dK
    kernel.walk([&](Operation *op) {
      if (isa<tile::ScatterOp>(op) ||
          (isa<tile::AccumulateOp>(op) && op != accumulate))
        needOp(op);
    });
  while (!toVisit.empty())
    needValue(toVisit.pop_back_val());
}

/// A block that comes through a ring is where the reducer says.
void GradientConverter::needOp(Operation *op) {
  if (!needed.insert(op).second)
    return;
  if (Operation *around = op->getParentOp(); around != kernel)
    needOp(around);
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (rowsOf.contains(op) || isStreamed(load))
      return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    toVisit.append(
        {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    return;
  }
  op->walk([&](Operation *inner) {
    needed.insert(inner);
    llvm::append_range(toVisit, inner->getOperands());
  });
}

void GradientConverter::needValue(Value value) {
  if (groupNow && *groupNow == kKeyGroup && value == weights)
    return; // received
  auto argument = dyn_cast<BlockArgument>(value);
  if (auto result = value.getDefiningOp<scf::ForOp>())
    argument = result.getRegionIterArg(cast<OpResult>(value).getResultNumber());
  if (!argument)
    return needOp(value.getDefiningOp());
  auto around = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!around)
    return; // of the kernel, or of a map's body
  needOp(around);
  if (OpOperand *init = around.getTiedLoopInit(argument);
      init && carried.insert(argument).second)
    toVisit.append(
        {init->get(), around.getTiedLoopYieldedValue(argument)->get()});
}

/// Whether the group reads a streamed block only in the pair that carries it
/// on: then it is received there, as a wait for it in the pair before would
/// hold up what that gives back.
bool GradientConverter::isLate(tile::LoadOp load) {
  return groupNow && isStreamed(load) &&
         llvm::none_of(load->getUsers(), [&](Operation *user) {
           return needed.contains(user) && !isa<scf::ForOp>(user);
         });
}

bool GradientConverter::isLate(BlockArgument argument) {
  auto around = cast<scf::ForOp>(argument.getOwner()->getParentOp());
  OpOperand *next = around.getTiedLoopYieldedValue(argument);
  auto load = next ? next->get().getDefiningOp<tile::LoadOp>() : tile::LoadOp();
  return load && isLate(load);
}

} // namespace flashc
