#include "flashc/Dialect/Warp/IR/Warp.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPPLACEPUTS
#include "Warp/WarpPasses.h.inc"

namespace {
struct WarpPlacePuts : impl::WarpPlacePutsBase<WarpPlacePuts> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc::warp
