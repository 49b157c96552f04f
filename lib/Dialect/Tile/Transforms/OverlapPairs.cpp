//===- OverlapPairs.cpp - tile-overlap-pairs ------------------------------===//
//
// After tile-join-heads and tile-drop-guards, before tile-expand-softmax. In:
// a loop over pairs of blocks (PairLoop.h) of a kernel whose roles say
// `overlap`. Out: the same, in the order in which a warpgroup of Hopper does
// best: a pair's scores stand ready when its turn begins, the product for dP
// runs beside the exponentials' rounding, the product for dV and what comes
// next are queued before dP is waited for, and the next pair's scores behind
// the product for dK. Of P only the rounded form is kept.
//
//===----------------------------------------------------------------------===//
#include "PairLoop.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEOVERLAPPAIRS
#include "Tile/TilePasses.h.inc"

namespace {
/// Queries of a block whose values each take a thread of a warpgroup 16
/// registers.
constexpr int64_t kShortBlock = 64;

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
  auto sums = llvm::to_vector(body->getOps<AccumulateOp>());
  auto probs = llvm::to_vector(body->getOps<ProbsOp>());
  if (sums.size() != 1 || probs.size() != 1)
    return std::nullopt;
  p.accumulate = sums[0];
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

namespace {
class PairOverlapper {
public:
  PairOverlapper(ImplicitLocOpBuilder &b, PairLoop parts)
      : b(b), parts(parts) {}
  void run();

private:
  /// Clones what `values` are made of, up to what `mapping` and the code before
  /// the loop have.
  void cloneFor(ValueRange values, IRMapping &mapping);
  void cloneWith(Operation *op, IRMapping &mapping) {
    cloneFor(op->getOperands(), mapping);
    b.clone(*op, mapping);
  }
  Value unround(Value tile, Type type);
  Value scaled(Value gradient, Value factors);
  Value roundedFactors(IRMapping &mapping);
  SmallVector<Value> buildBody(ValueRange carried);

  ImplicitLocOpBuilder &b;
  PairLoop parts;
};

void PairOverlapper::cloneFor(ValueRange values, IRMapping &mapping) {
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != parts.loop.getBody() ||
        mapping.contains(value))
      continue;
    llvm::SetVector<Value> needed;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        needed.insert(operand);
    });
    cloneFor(needed.getArrayRef(), mapping);
    b.clone(*op, mapping);
  }
}

Value PairOverlapper::unround(Value tile, Type type) {
  return buildMap(b, type, tile, {}, [&](ValueRange x) {
    return SmallVector<Value>{arith::ExtFOp::create(b, b.getF32Type(), x[0])};
  })[0];
}

/// `factors` are widened where they are used: there are no registers for all.
Value PairOverlapper::scaled(Value gradient, Value factors) {
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value factor = arith::ExtFOp::create(b, b.getF32Type(), x[1]);
    return {arith::MulFOp::create(b, x[0], factor)};
  };
  return buildMap(b, gradient.getType(), {gradient, factors}, {}, body)[0];
}

/// The factors of a pair in 16 bits, like P: as many registers are there.
Value PairOverlapper::roundedFactors(IRMapping &mapping) {
  Value factors = parts.scaledGradient.getInputs()[1];
  Type element = getElementTypeOrSelf(parts.roundedProbs.getResult(0));
  auto type = cast<RankedTensorType>(factors.getType()).clone(element);
  return buildMap(b, type, mapping.lookup(factors), {}, [&](ValueRange x) {
    return SmallVector<Value>{arith::TruncFOp::create(b, element, x[0])};
  })[0];
}

/// `carried`: what the loop carried, then the pair's Q, masked scores, LSE and
/// factors.
SmallVector<Value> PairOverlapper::buildBody(ValueRange carried) {
  scf::ForOp loop = parts.loop;
  size_t old = loop.getNumRegionIterArgs();
  IRMapping mapping;
  mapping.map(loop.getRegionIterArgs(), carried.take_front(old));
  mapping.map(parts.query.getTile(), carried[old]);
  mapping.map(parts.probs.getScores(), carried[old + 1]);
  mapping.map(parts.lse.getTile(), carried[old + 2]);
  cloneWith(parts.roundedProbs, mapping);
  cloneWith(parts.gradient, mapping);
  cloneWith(parts.ofValues, mapping);
  // The pair behind this one.
  IRMapping next;
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (argument.getType().isIndex()) {
      cloneFor(value, mapping);
      next.map(argument, mapping.lookupOrDefault(value));
    }
  cloneWith(parts.query, next);
  cloneWith(parts.delta, mapping);
  Value rounded = mapping.lookup(parts.roundedProbs.getResult(0));
  mapping.map(parts.probs.getResult(), unround(rounded, parts.probs.getType()));
  if (parts.scaledGradient) {
    cloneWith(parts.scoreGradient, mapping);
    mapping.map(parts.scaledGradient.getResult(0),
                scaled(mapping.lookup(parts.scoreGradient.getResult()),
                       carried[old + 3]));
  }
  cloneWith(parts.roundedGradient, mapping);
  cloneWith(parts.ofKeys, mapping);
  // Loads queue behind the reads of a product, so a short block's LSE is read
  // before it; for that of a long one there are no registers beside it.
  bool isShort =
      cast<RankedTensorType>(parts.lse.getTile().getType()).getDimSize(1) <=
      kShortBlock;
  if (isShort)
    cloneWith(parts.lse, next);
  cloneWith(parts.scores, next);
  if (!isShort)
    cloneWith(parts.lse, next);
  // Masked here, where the sums are all that lives beside them.
  cloneFor(parts.probs.getScores(), next);
  Value factors = parts.scaledGradient ? roundedFactors(next) : Value();
  cloneWith(parts.accumulate, mapping);
  SmallVector<Value> results =
      llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  results.append({next.lookup(parts.query.getTile()),
                  next.lookup(parts.probs.getScores()),
                  next.lookup(parts.lse.getTile())});
  if (parts.scaledGradient)
    results.push_back(factors);
  return results;
}

void PairOverlapper::run() {
  scf::ForOp loop = parts.loop;
  b.setInsertionPoint(loop);
  IRMapping first;
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  cloneWith(parts.query, first);
  cloneWith(parts.lse, first);
  cloneWith(parts.scores, first);
  cloneFor(parts.probs.getScores(), first);
  // Nothing waits for V before there is something to multiply it with.
  if (auto value = parts.gradient.getLhs().getDefiningOp<LoadOp>())
    value->moveBefore(loop);
  SmallVector<Value> inits(loop.getInitArgs());
  inits.append({first.lookup(parts.query.getTile()),
                first.lookup(parts.probs.getScores()),
                first.lookup(parts.lse.getTile())});
  if (parts.scaledGradient)
    inits.push_back(roundedFactors(first));
  auto body = [&](OpBuilder &, Location, Value, ValueRange carried) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(carried.front().getParentBlock());
    scf::YieldOp::create(b, buildBody(carried));
  };
  auto overlapped =
      scf::ForOp::create(b, loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), inits, body);
  loop.replaceAllUsesWith(
      overlapped.getResults().take_front(loop.getNumResults()));
  loop.erase();
}

struct TileOverlapPairs : impl::TileOverlapPairsBase<TileOverlapPairs> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<PairLoop> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      auto kernel = loop->getParentOfType<KernelOp>();
      RolesAttr roles = kernel ? kernel.getSchedule().getRoles() : RolesAttr();
      if (!roles || !roles.getOverlap())
        return;
      if (std::optional<PairLoop> parts = matchPairLoop(loop))
        loops.push_back(*parts);
    });
    for (PairLoop &parts : loops) {
      ImplicitLocOpBuilder b(parts.loop.getLoc(), &getContext());
      PairOverlapper(b, parts).run();
    }
  }
};
} // namespace
} // namespace flashc::tile
