#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTATTNTOTILE
#include "Conversion/ConversionPasses.h.inc"

namespace {
struct ConvertAttnToTile : impl::ConvertAttnToTileBase<ConvertAttnToTile> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc
