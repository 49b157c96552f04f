//===- ExpandTanh.cpp - tile-expand-tanh ----------------------------------===//
//
// After tile-split-tanh. In: maps with tanh. Out: the same in multiply-adds and
// one division that may be by a reciprocal.
//
//===----------------------------------------------------------------------===//
#include "Tanh.h"

#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEEXPANDTANH
#include "Tile/TilePasses.h.inc"

namespace {
struct TileExpandTanh : impl::TileExpandTanhBase<TileExpandTanh> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<math::TanhOp> work;
    getOperation()->walk([&](math::TanhOp op) {
      if (op->getParentOfType<MapOp>() && isExactTanh(op))
        work.push_back(op);
    });
    for (math::TanhOp op : work) {
      ImplicitLocOpBuilder b(op.getLoc(), op);
      op.replaceAllUsesWith(TanhArgument(op).buildRational(b));
      op.erase();
    }
  }
};
} // namespace
} // namespace flashc::tile
