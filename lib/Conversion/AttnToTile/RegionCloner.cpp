// Used by convert-attn-to-tile: score regions and their gradients as the body
// of a tile.map. Reads of captured tensors become loads that stay inside.
#include "RegionCloner.h"

using namespace mlir;

namespace flashc {

RegionCloner::RegionCloner(ImplicitLocOpBuilder &b, ValueRange captures)
    : b(b), captures(captures) {
  for (Value capture : captures) {
    SmallVector<Value> &last = ends.emplace_back();
    for (int64_t i = 0; i < cast<MemRefType>(capture.getType()).getRank();
         ++i) {
      Value one = arith::ConstantIndexOp::create(b, 1);
      Value size = b.createOrFold<memref::DimOp>(
          capture, arith::ConstantIndexOp::create(b, i));
      last.push_back(b.createOrFold<arith::SubIOp>(size, one));
    }
  }
}

/// Rows and keys past the ends are computed too (nobody reads their scores),
/// and a score function may compute any index, so indices are kept inside. A
/// region's own arguments are never negative.
SmallVector<Value> RegionCloner::keepInside(unsigned capture,
                                            ValueRange indices,
                                            const IRMapping &mapping) {
  SmallVector<Value> inside;
  for (auto [i, end] : llvm::zip_equal(indices, ends[capture])) {
    Value index = arith::MinSIOp::create(b, mapping.lookup(i), end);
    if (!isa<BlockArgument>(i))
      index = arith::MaxSIOp::create(b, index,
                                     arith::ConstantIndexOp::create(b, 0));
    inside.push_back(index);
  }
  return inside;
}

Value RegionCloner::clone(Block &region, ValueRange scalars,
                          SmallVectorImpl<Addition> *additions) {
  return clone(region, scalars, region.getTerminator()->getOperand(0),
               additions);
}

Value RegionCloner::clone(Block &region, ValueRange scalars, Value result,
                          SmallVectorImpl<Addition> *additions) {
  return cloneOps(region, scalars, additions).lookup(result);
}

IRMapping RegionCloner::cloneOps(Block &region, ValueRange scalars,
                                 SmallVectorImpl<Addition> *additions) {
  IRMapping mapping;
  unsigned first = scalars.size();
  mapping.map(region.getArguments().take_front(first), scalars);
  mapping.map(region.getArguments().drop_front(first), ValueRange(captures));
  auto number = [&](Value tensor) {
    return cast<BlockArgument>(tensor).getArgNumber() - first;
  };
  for (Operation &inner : region.without_terminator()) {
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      unsigned capture = number(extract.getTensor());
      SmallVector<Value> indices =
          keepInside(capture, extract.getIndices(), mapping);
      mapping.map(
          extract.getResult(),
          memref::LoadOp::create(b, captures[capture], indices).getResult());
    } else if (auto add = dyn_cast<attn::AddGradientOp>(inner)) {
      unsigned capture = number(add.getCapture());
      additions->push_back({capture, mapping.lookup(add.getValue()),
                            keepInside(capture, add.getIndices(), mapping)});
    } else {
      b.clone(inner, mapping);
    }
  }
  return mapping;
}
} // namespace flashc
