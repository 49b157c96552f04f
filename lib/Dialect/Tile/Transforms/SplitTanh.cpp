//===- SplitTanh.cpp - tile-split-tanh ------------------------------------===//
//
// After tile-overlap, which knows score functions by their one map. In: maps
// that take tanh of an input times a constant. Out: a branch on whether some
// element of the group is beyond the range of a polynomial.
//
//===----------------------------------------------------------------------===//
#include "Tanh.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/IR/Redo.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILESPLITTANH
#include "Tile/TilePasses.h.inc"

namespace {
/// The map's one tanh; null where there are none or several, as a branch for
/// each would be too many.
math::TanhOp findTanh(MapOp map) {
  math::TanhOp found;
  for (auto tanh : map.getBody().getOps<math::TanhOp>()) {
    if (found || !isExactTanh(tanh))
      return {};
    found = tanh;
  }
  return found;
}

/// The tile that tanh's argument is an element of, before its factor.
Value findInput(MapOp map, math::TanhOp tanh) {
  auto argument = dyn_cast<BlockArgument>(TanhArgument(tanh).getBase());
  if (!argument || argument.getOwner() != &map.getBody().front() ||
      argument.getArgNumber() >= map.getInputs().size())
    return {};
  Value input = map.getInputs()[argument.getArgNumber()];
  return input.getType() == map.getResult(0).getType() ? input : Value();
}

void split(MapOp map, math::TanhOp tanh, Value input) {
  ImplicitLocOpBuilder b(map.getLoc(), map);
  float end = TanhArgument(tanh).getPolynomialEnd();
  auto type = cast<RankedTensorType>(input.getType());
  Value isWide =
      buildMap(b, type.clone(b.getI1Type()), input, {}, [&](ValueRange x) {
        return SmallVector<Value>{arith::CmpFOp::create(
            b, arith::CmpFPredicate::OGT, math::AbsFOp::create(b, x[0]),
            buildF32(b, end))};
      })[0];
  Value someWide = AnyOp::create(b, b.getI1Type(), isWide);
  auto branch = scf::IfOp::create(b, map.getResultTypes(), someWide,
                                  /*withElse=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, b.clone(*map)->getResults());
  b.setInsertionPointToStart(branch.elseBlock());
  auto narrow = cast<MapOp>(b.clone(*map));
  scf::YieldOp::create(b, narrow.getResults());
  math::TanhOp copy = findTanh(narrow);
  b.setInsertionPoint(copy);
  copy.replaceAllUsesWith(TanhArgument(copy).buildPolynomial(b));
  copy.erase();
  map.replaceAllUsesWith(branch.getResults());
  map.erase();
}

struct TileSplitTanh : impl::TileSplitTanhBase<TileSplitTanh> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation()->walk([&](MapOp map) {
      if (cast<RankedTensorType>(map.getResult(0).getType()).getRank() == 2 &&
          !isInRedo(map))
        maps.push_back(map);
    });
    for (MapOp map : maps)
      if (math::TanhOp tanh = findTanh(map))
        if (Value input = findInput(map, tanh))
          split(map, tanh, input);
  }
};
} // namespace
} // namespace flashc::tile
