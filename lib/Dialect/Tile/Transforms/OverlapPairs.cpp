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
// Where groups share the results and not the rows, one has the scores and dV
// and the other dP and dK: each finds its tile ready when a pair's turn begins,
// and starts that of the next pair behind its product for the sum. Of P, or P
// times the factors, the rounded form passes between them.
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

class PairOverlapper {
public:
  PairOverlapper(ImplicitLocOpBuilder &b, PairLoop parts, bool byResults)
      : b(b), parts(parts), byResults(byResults) {}
  void run();

private:
  /// Clones what `values` are made of, up to what `mapping` and the code before
  /// the loop have.
  void cloneFor(ValueRange values, IRMapping &mapping);
  void cloneWith(Operation *op, IRMapping &mapping) {
    cloneFor(op->getOperands(), mapping);
    b.clone(*op, mapping);
  }
  void cloneBeside(IRMapping &mapping);
  bool loadsElements();
  Value unround(Value tile, Type type);
  Value scaled(Value tile, Value factors, Type element);
  Value roundedFactors(IRMapping &mapping);
  void mapNext(IRMapping &mapping, IRMapping &next);
  SmallVector<Value> getNext(IRMapping &mapping, ArrayRef<Value> ahead);
  SmallVector<Value> startFirst(IRMapping &first);
  SmallVector<Value> buildByRows(ValueRange carried);
  SmallVector<Value> startByResults(IRMapping &mapping);
  SmallVector<Value> buildByResults(ValueRange carried);

  ImplicitLocOpBuilder &b;
  PairLoop parts;
  bool byResults;
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

/// Behind the product that reads ds, too.
void PairOverlapper::cloneBeside(IRMapping &mapping) {
  for (Operation *op : parts.beside) {
    llvm::SetVector<Value> needed;
    op->walk(
        [&](Operation *inner) { needed.insert_range(inner->getOperands()); });
    cloneFor(needed.getArrayRef(), mapping);
    b.clone(*op, mapping);
  }
}

/// Does what the scores pass through read memory for each of them?
bool PairOverlapper::loadsElements() {
  return parts.loop.getBody()
      ->walk([](MapOp map) {
        auto loads = map.getBody().getOps<memref::LoadOp>();
        return loads.empty() ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

Value PairOverlapper::unround(Value tile, Type type) {
  return buildMap(b, type, tile, {}, [&](ValueRange x) {
    return SmallVector<Value>{arith::ExtFOp::create(b, b.getF32Type(), x[0])};
  })[0];
}

/// In f32, and rounded to `element`: `factors` are widened where they are used,
/// as there are no registers for all.
Value PairOverlapper::scaled(Value tile, Value factors, Type element) {
  auto body = [&](ValueRange x) -> SmallVector<Value> {
    Value factor = arith::ExtFOp::create(b, b.getF32Type(), x[1]);
    Value product = arith::MulFOp::create(b, x[0], factor);
    if (element != product.getType())
      product = arith::TruncFOp::create(b, element, product);
    return {product};
  };
  auto type = cast<RankedTensorType>(tile.getType()).clone(element);
  return buildMap(b, type, {tile, factors}, {}, body)[0];
}

/// The factors of a pair in 16 bits, like P: as many registers are there.
/// Rounded in the map that makes them, where there is one, so that no tile of
/// f32 lives behind it beside that of the scores.
Value PairOverlapper::roundedFactors(IRMapping &mapping) {
  Value factors = mapping.lookup(parts.scaledGradient.getInputs()[1]);
  Type element = getElementTypeOrSelf(parts.roundedProbs.getResult(0));
  auto type = cast<RankedTensorType>(factors.getType()).clone(element);
  auto map = factors.getDefiningOp<MapOp>();
  if (!map || !factors.use_empty())
    return buildMap(b, type, factors, {}, [&](ValueRange x) {
      return SmallVector<Value>{arith::TruncFOp::create(b, element, x[0])};
    })[0];
  Operation *yield = map.getBody().front().getTerminator();
  OpOperand &made =
      yield->getOpOperand(cast<OpResult>(factors).getResultNumber());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(yield);
  made.set(arith::TruncFOp::create(b, element, made.get()));
  factors.setType(type);
  return factors;
}

/// Says in `next` where the pair behind `mapping`'s is.
void PairOverlapper::mapNext(IRMapping &mapping, IRMapping &next) {
  scf::ForOp loop = parts.loop;
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (argument.getType().isIndex()) {
      cloneFor(value, mapping);
      next.map(argument, mapping.lookupOrDefault(value));
    }
}

/// What the loop yields: what it did, and what is ready of the next pair.
SmallVector<Value> PairOverlapper::getNext(IRMapping &mapping,
                                           ArrayRef<Value> ahead) {
  SmallVector<Value> results =
      llvm::map_to_vector(parts.loop.getYieldedValues(), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  llvm::append_range(results, ahead);
  return results;
}

/// `carried`: what the loop carried, then the pair's Q, masked scores, LSE and
/// factors.
SmallVector<Value> PairOverlapper::buildByRows(ValueRange carried) {
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
  IRMapping next;
  mapNext(mapping, next);
  cloneWith(parts.query, next);
  cloneWith(parts.delta, mapping);
  Value rounded = mapping.lookup(parts.roundedProbs.getResult(0));
  mapping.map(parts.probs.getResult(), unround(rounded, parts.probs.getType()));
  if (parts.scaledGradient) {
    cloneWith(parts.scoreGradient, mapping);
    mapping.map(parts.scaledGradient.getResult(0),
                scaled(mapping.lookup(parts.scoreGradient.getResult()),
                       carried[old + 3], b.getF32Type()));
  }
  cloneWith(parts.roundedGradient, mapping);
  cloneWith(parts.ofKeys, mapping);
  cloneBeside(mapping);
  // Loads queue behind the reads of a product, so a short block's LSE is read
  // before it; for that of a long one there are no registers beside it, nor
  // beside what a score function loads for each element.
  bool isShort =
      cast<RankedTensorType>(parts.lse.getTile().getType()).getDimSize(1) <=
      kShortBlock;
  if (isShort && !loadsElements())
    cloneWith(parts.lse, next);
  cloneWith(parts.scores, next);
  if (!isShort)
    cloneWith(parts.lse, next);
  // Masked here, where the sums are all that lives beside them.
  cloneFor(parts.probs.getScores(), next);
  if (isShort && loadsElements())
    cloneWith(parts.lse, next);
  Value factors = parts.scaledGradient ? roundedFactors(next) : Value();
  cloneWith(parts.accumulate, mapping);
  SmallVector<Value> ahead = {next.lookup(parts.query.getTile()),
                              next.lookup(parts.probs.getScores()),
                              next.lookup(parts.lse.getTile())};
  if (factors)
    ahead.push_back(factors);
  return getNext(mapping, ahead);
}

/// `carried`: what the loop carried, then the pair's Q, scores, LSE, dO, dP and
/// D.
SmallVector<Value> PairOverlapper::buildByResults(ValueRange carried) {
  scf::ForOp loop = parts.loop;
  size_t old = loop.getNumRegionIterArgs();
  IRMapping mapping;
  mapping.map(loop.getRegionIterArgs(), carried.take_front(old));
  mapping.map(parts.query.getTile(), carried[old]);
  mapping.map(parts.scores.getResult(), carried[old + 1]);
  mapping.map(parts.lse.getTile(), carried[old + 2]);
  mapping.map(parts.outputGradient.getTile(), carried[old + 3]);
  mapping.map(parts.gradient.getResult(), carried[old + 4]);
  mapping.map(parts.delta.getTile(), carried[old + 5]);
  cloneFor(parts.probs.getScores(), mapping);
  Value factors;
  if (parts.scaledGradient) {
    cloneFor(parts.scaledGradient.getInputs()[1], mapping);
    factors = roundedFactors(mapping);
  }
  cloneWith(parts.roundedProbs, mapping);
  Value weights = mapping.lookup(parts.roundedProbs.getResult(0));
  if (factors)
    weights = scaled(mapping.lookup(parts.probs.getResult()), factors,
                     getElementTypeOrSelf(weights));
  cloneWith(parts.ofValues, mapping);
  mapping.map(parts.probs.getResult(), unround(weights, parts.probs.getType()));
  cloneWith(parts.scoreGradient, mapping);
  if (factors)
    mapping.map(parts.scaledGradient.getResult(0),
                mapping.lookup(parts.scoreGradient.getResult()));
  cloneWith(parts.roundedGradient, mapping);
  cloneWith(parts.ofKeys, mapping);
  cloneBeside(mapping);
  IRMapping next;
  mapNext(mapping, next);
  SmallVector<Value> ahead = startByResults(next);
  cloneWith(parts.accumulate, mapping);
  return getNext(mapping, ahead);
}

/// What groups that share the results start of a pair in the one before.
SmallVector<Value> PairOverlapper::startByResults(IRMapping &mapping) {
  for (Operation *op : std::initializer_list<Operation *>{
           parts.query, parts.lse, parts.scores, parts.outputGradient,
           parts.delta, parts.gradient})
    cloneWith(op, mapping);
  return {mapping.lookup(parts.query.getTile()),
          mapping.lookup(parts.scores.getResult()),
          mapping.lookup(parts.lse.getTile()),
          mapping.lookup(parts.outputGradient.getTile()),
          mapping.lookup(parts.gradient.getResult()),
          mapping.lookup(parts.delta.getTile())};
}

/// In front of the loop: what its first pair finds ready.
SmallVector<Value> PairOverlapper::startFirst(IRMapping &first) {
  auto value = parts.gradient.getLhs().getDefiningOp<LoadOp>();
  // Nothing waits for V before there is something to multiply it with.
  if (byResults) {
    SmallVector<Value> ready = startByResults(first);
    if (value)
      value->moveBefore(
          first.lookup(parts.outputGradient.getTile()).getDefiningOp());
    return ready;
  }
  cloneWith(parts.query, first);
  cloneWith(parts.lse, first);
  cloneWith(parts.scores, first);
  cloneFor(parts.probs.getScores(), first);
  if (value)
    value->moveBefore(parts.loop);
  SmallVector<Value> ready = {first.lookup(parts.query.getTile()),
                              first.lookup(parts.probs.getScores()),
                              first.lookup(parts.lse.getTile())};
  if (parts.scaledGradient)
    ready.push_back(roundedFactors(first));
  return ready;
}

void PairOverlapper::run() {
  scf::ForOp loop = parts.loop;
  b.setInsertionPoint(loop);
  IRMapping first;
  first.map(loop.getRegionIterArgs(), loop.getInitArgs());
  SmallVector<Value> inits(loop.getInitArgs());
  llvm::append_range(inits, startFirst(first));
  auto body = [&](OpBuilder &, Location, Value, ValueRange carried) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(carried.front().getParentBlock());
    scf::YieldOp::create(b, byResults ? buildByResults(carried)
                                      : buildByRows(carried));
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
      auto kernel = parts.loop->getParentOfType<KernelOp>();
      PairOverlapper(b, parts, kernel.getSchedule().isSharedByResults()).run();
    }
  }
};
} // namespace
} // namespace flashc::tile
