#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEEXPANDSOFTMAX
#include "Tile/TilePasses.h.inc"

namespace {
struct TileExpandSoftmax : impl::TileExpandSoftmaxBase<TileExpandSoftmax> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc::tile
