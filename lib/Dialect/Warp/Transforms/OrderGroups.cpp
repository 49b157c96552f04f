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
  if (!first)
    return;
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
