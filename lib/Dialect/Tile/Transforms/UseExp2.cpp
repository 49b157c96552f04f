#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEUSEEXP2
#include "Tile/TilePasses.h.inc"

namespace {
struct TileUseExp2 : impl::TileUseExp2Base<TileUseExp2> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc::tile
