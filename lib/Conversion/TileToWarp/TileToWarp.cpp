#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Warp/IR/Warp.h"


using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTTILETOWARP
#include "Conversion/ConversionPasses.h.inc"

namespace {
struct ConvertTileToWarp : impl::ConvertTileToWarpBase<ConvertTileToWarp> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc
