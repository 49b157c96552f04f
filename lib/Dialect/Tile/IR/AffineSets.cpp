// The linear form of the inequalities of a tile.mask.
#include "flashc/Dialect/Tile/IR/AffineSets.h"

#include "mlir/Analysis/FlatLinearValueConstraints.h"

using namespace mlir;

namespace flashc::tile {

std::optional<LinearInequality> getLinearInequality(AffineExpr e,
                                                    unsigned numSymbols) {
  constexpr unsigned kNumDims = 2;
  SmallVector<int64_t> flat;
  if (failed(getFlattenedAffineExpr(e, kNumDims, numSymbols, &flat)) ||
      flat.size() != kNumDims + numSymbols + 1) // more: a local for a division
    return std::nullopt;
  LinearInequality result;
  result.row = flat[0];
  result.key = flat[1];
  result.symbols.assign(flat.begin() + kNumDims, flat.end() - 1);
  result.constant = flat.back();
  return result;
}

SmallVector<LinearInequality> getLinearInequalities(IntegerSet set) {
  SmallVector<LinearInequality> result;
  for (AffineExpr e : set.getConstraints()) {
    std::optional<LinearInequality> linear =
        getLinearInequality(e, set.getNumSymbols());
    assert(linear && "the verifier of tile.mask lets linear sets through only");
    result.push_back(std::move(*linear));
  }
  return result;
}
} // namespace flashc::tile
