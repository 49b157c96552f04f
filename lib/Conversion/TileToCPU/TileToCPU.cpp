#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTTILETOCPU
#include "Conversion/ConversionPasses.h.inc"

namespace {
struct ConvertTileToCPU : impl::ConvertTileToCPUBase<ConvertTileToCPU> {
  using Base::Base;
  void runOnOperation() override { signalPassFailure(); }
};
} // namespace
} // namespace flashc
