#include "flashc/Dialect/Warp/IR/Warp.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPCOUNTGROUPS
#include "Warp/WarpPasses.h.inc"

namespace {
struct WarpCountGroups : impl::WarpCountGroupsBase<WarpCountGroups> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc::warp
