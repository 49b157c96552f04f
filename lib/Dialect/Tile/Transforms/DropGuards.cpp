//===- DropGuards.cpp - tile-drop-guards ----------------------------------===//
//
// After tile-stream-loads. In: kernels with `guarded` products. Out: the same
// without, where warps have roles; the one place that says so.
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
    getOperation()->walk([](DotOp dot) {
      if (getRoles(dot))
        dot.setGuarded(false);
    });
  }
};
} // namespace
} // namespace flashc::tile
