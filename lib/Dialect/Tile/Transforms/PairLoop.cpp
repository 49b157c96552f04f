// The loop of a backward over pairs of blocks, found by its parts; for
// tile-overlap-pairs.
#include "PairLoop.h"

using namespace mlir;

namespace flashc::tile {
namespace {
/// The op's operand number `number` as an OpTy of `block`.
template <typename OpTy> OpTy definedIn(Block *block, Value value) {
  auto op = value.getDefiningOp<OpTy>();
  return op && op->getBlock() == block ? op : OpTy();
}

/// A map of two tiles' products, element by element.
MapOp findProduct(Block *block, Value value) {
  auto map = definedIn<MapOp>(block, value);
  if (!map || map.getInputs().size() != 2 || map.getNumResults() != 1)
    return {};
  Block &body = map.getBody().front();
  auto product =
      body.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  return product && product.getLhs() == body.getArgument(0) &&
                 product.getRhs() == body.getArgument(1)
             ? map
             : MapOp();
}

/// A map that rounds one tile.
MapOp findRounding(Block *block, Value value) {
  auto map = definedIn<MapOp>(block, value);
  return map && map.getInputs().size() == 1 && map.getOrigin().empty()
             ? map
             : MapOp();
}
} // namespace

std::optional<PairLoop> matchPairLoop(scf::ForOp loop) {
  Block *body = loop.getBody();
  PairLoop p;
  p.loop = loop;
  auto probs = llvm::to_vector(body->getOps<ProbsOp>());
  if (probs.size() != 1)
    return std::nullopt;
  for (Operation &op : *body) {
    auto sum = dyn_cast<AccumulateOp>(op);
    if (sum && definedIn<DotOp>(body, sum.getTile())) {
      if (p.accumulate)
        return std::nullopt;
      p.accumulate = sum;
    } else if (sum || isa<ScatterOp>(op)) {
      p.beside.push_back(&op);
    }
  }
  if (!p.accumulate)
    return std::nullopt;
  p.probs = probs[0];
  p.ofQueries = definedIn<DotOp>(body, p.accumulate.getTile());
  if (!p.ofQueries || !p.ofQueries.getTransposeA())
    return std::nullopt;
  p.roundedGradient = findRounding(body, p.ofQueries.getLhs());
  if (!p.roundedGradient)
    return std::nullopt;
  Value gradient = p.roundedGradient.getInputs().front();
  p.scaledGradient = findProduct(body, gradient);
  if (p.scaledGradient)
    gradient = p.scaledGradient.getInputs().front();
  p.scoreGradient = definedIn<ProbsGradientOp>(body, gradient);
  if (!p.scoreGradient || p.scoreGradient.getProbs() != p.probs.getResult())
    return std::nullopt;
  p.gradient = definedIn<DotOp>(body, p.scoreGradient.getGradient());
  p.delta = definedIn<LoadOp>(body, p.scoreGradient.getDelta());
  p.lse = definedIn<LoadOp>(body, p.probs.getLse());
  for (auto dot : body->getOps<DotOp>()) {
    if (dot == p.ofQueries || dot == p.gradient)
      continue;
    if (dot.getLhs() == p.roundedGradient.getResult(0))
      p.ofKeys = dot;
    else if (dot.getTransposeB())
      p.scores = dot;
    else
      p.ofValues = dot;
  }
  if (!p.gradient || !p.delta || !p.lse || !p.ofKeys || !p.scores ||
      !p.ofValues)
    return std::nullopt;
  p.roundedProbs = findRounding(body, p.ofValues.getLhs());
  p.query = definedIn<LoadOp>(body, p.scores.getRhs());
  p.outputGradient = definedIn<LoadOp>(body, p.gradient.getRhs());
  bool fits = p.roundedProbs && p.query && p.outputGradient &&
              p.roundedProbs.getInputs().front() == p.probs.getResult() &&
              p.ofKeys.getRhs() == p.query.getTile() &&
              p.ofValues.getRhs() == p.outputGradient.getTile() &&
              loop.isDefinedOutsideOfLoop(p.scores.getLhs()) &&
              loop.isDefinedOutsideOfLoop(p.gradient.getLhs());
  return fits ? std::optional(p) : std::nullopt;
}

} // namespace flashc::tile
