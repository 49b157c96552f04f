//===- LazyRescale.cpp - tile-lazy-rescale --------------------------------===//
//
// After convert-attn-to-tile and before tile-expand-softmax. In: running
// softmax updates that follow the maximum exactly. Out: the same with a slack.
//
//===----------------------------------------------------------------------===//
#include "Rescale.h"

#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILELAZYRESCALE
#include "Tile/TilePasses.h.inc"

namespace {
/// p stays below 2^threshold, and f16 ends at 2^16: a bound above that would
/// turn probabilities into infinities.
constexpr double kMaxThreshold = 15.0;

struct TileLazyRescale : impl::TileLazyRescaleBase<TileLazyRescale> {
  using Base::Base;
  void runOnOperation() override {
    if (!(threshold > 0) || threshold > kMaxThreshold) {
      getOperation()->emitError()
          << "tile-lazy-rescale: threshold " << threshold.getValue()
          << " is outside 0 to " << kMaxThreshold
          << ", where f16 probabilities overflow; use 8";
      return signalPassFailure();
    }
    Builder b(&getContext());
    getOperation()->walk([&](SoftmaxUpdateOp op) {
      if (!op.getLazyAttr() && getRescale(op) != Rescale::Always)
        op.setLazyAttr(b.getF32FloatAttr(float(threshold)));
    });
  }
};
} // namespace
} // namespace flashc::tile
