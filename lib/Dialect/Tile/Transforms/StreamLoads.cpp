#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILESTREAMLOADS
#include "Tile/TilePasses.h.inc"

namespace {
struct TileStreamLoads : impl::TileStreamLoadsBase<TileStreamLoads> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc::tile
