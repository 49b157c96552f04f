// warp-order-groups: the warpgroups of a kernel with roles take turns on the
// tensor cores. In: settles in place. Out: turns around the products of each
// loop's iteration.
#include "flashc/Dialect/Warp/IR/Warp.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPORDERGROUPS
#include "Warp/WarpPasses.h.inc"

namespace {

/// A loop that lets the other groups' blocks pass.
bool skipsBlocks(scf::ForOp loop) {
  return !loop.getBody()->getOps<SkipOp>().empty();
}

/// Frames the products of a loop's body that are started before its first
/// settle.
void order(scf::ForOp loop) {
  Operation *first = nullptr, *last = nullptr;
  for (Operation &op : *loop.getBody()) {
    if (isa<SettleOp>(op))
      break;
    if (!isa<WgmmaOp>(op))
      continue;
    first = first ? first : &op;
    last = &op;
  }
  if (!first && !skipsBlocks(loop))
    return;
  if (!first) { // the others wait for every group's turn
    auto b = OpBuilder::atBlockBegin(loop.getBody());
    AwaitTurnOp::create(b, loop.getLoc());
    PassTurnOp::create(b, loop.getLoc());
    return;
  }
  OpBuilder b(first);
  AwaitTurnOp::create(b, first->getLoc());
  b.setInsertionPointAfter(last);
  PassTurnOp::create(b, last->getLoc());
}

struct WarpOrderGroups : impl::WarpOrderGroupsBase<WarpOrderGroups> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](KernelOp kernel) {
      if (kernel.getGroups().value_or(0) > 1 && kernel.getTurns())
        kernel.walk([](scf::ForOp loop) { order(loop); });
    });
  }
};
} // namespace
} // namespace flashc::warp
