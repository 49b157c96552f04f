//===- DropGuards.cpp - tile-drop-guards ----------------------------------===//
//
// After tile-stream-loads. In: kernels with `guarded` products and gradients.
// Out: the same without, where warps have roles; the one place that says so.
//
//===----------------------------------------------------------------------===//
#include "Rescale.h"

#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEDROPGUARDS
#include "Tile/TilePasses.h.inc"

namespace {
struct TileDropGuards : impl::TileDropGuardsBase<TileDropGuards> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      if (!getRoles(op))
        return;
      if (auto dot = dyn_cast<DotOp>(op))
        dot.setGuarded(false);
      else if (auto gradient = dyn_cast<ProbsGradientOp>(op))
        gradient.setGuarded(false);
    });
  }
};
} // namespace
} // namespace flashc::tile
