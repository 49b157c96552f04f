// Used by tile-turn-keys and tile-relative-bias.
#include "DistanceBias.h"

using namespace mlir;

namespace flashc::tile {

/// Whether `value` is j - i of the map that it stands in, as an f32.
static bool isDistance(Value value, Block &body) {
  auto number = value.getDefiningOp<arith::SIToFPOp>();
  auto cast = number ? number.getIn().getDefiningOp<arith::IndexCastOp>()
                     : arith::IndexCastOp();
  auto distance =
      cast ? cast.getIn().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  return distance && number.getType().isF32() &&
         cast.getType().getIntOrFloatBitWidth() >= 32 &&
         distance.getLhs() == body.getArguments().back() &&
         distance.getRhs() == body.getArguments().drop_back().back();
}

std::optional<DistanceBias> matchDistanceBias(Value scores) {
  auto map = scores.getDefiningOp<MapOp>();
  if (!map || map.getInputs().size() != 1 || map.getOrigin().size() != 2 ||
      map.getNumResults() != 1)
    return std::nullopt;
  Block &body = map.getBody().front();
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<math::FmaOp>();
  if (!sum || sum->getBlock() != &body || sum.getC() != body.getArgument(0) ||
      !body.getArgument(0).hasOneUse())
    return std::nullopt;
  for (auto [slope, term] :
       {std::pair{sum.getA(), sum.getB()}, std::pair{sum.getB(), sum.getA()}}) {
    auto size = term.getDefiningOp<math::AbsFOp>();
    if (slope.getParentBlock() != &body &&
        isDistance(size ? size.getOperand() : term, body))
      return DistanceBias{map, slope, bool(size)};
  }
  return std::nullopt;
}
} // namespace flashc::tile
