// Part of tile-overlap: recognises the loops that convert-attn-to-tile makes.
#include "KeyLoop.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace flashc::tile {
namespace {
/// Carried values of a key loop, and of the overlapped one before P.
constexpr unsigned kCarried = 3;

/// Whether `value` is made of the induction variable and of what is known
/// before the loop alone.
bool isIndexOf(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar() || loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *def = value.getDefiningOp();
  return def && def->getBlock() == loop.getBody() && isPure(def) &&
         def->getNumRegions() == 0 && value.getType().isIntOrIndex() &&
         llvm::all_of(def->getOperands(),
                      [&](Value x) { return isIndexOf(x, loop); });
}

/// The block that `tile` is, if its number goes by the induction variable, in a
/// stream from outside, and only a product reads it.
NextOp findNext(Value tile, scf::ForOp loop) {
  auto next = tile.getDefiningOp<NextOp>();
  bool isBlock = next && next->getBlock() == loop.getBody() &&
                 isIndexOf(next.getBlock(), loop) &&
                 next.getStream().getDefiningOp<StreamOp>() &&
                 next.getResult().hasOneUse();
  return isBlock ? next : NextOp();
}

/// P as the product reads it: a softmax_update's result, or its cast.
SoftmaxUpdateOp findUpdate(Value probs) {
  if (auto cast = probs.getDefiningOp<MapOp>();
      cast && cast.getInputs().size() == 1 && cast.getOrigin().empty() &&
      cast.getResults().size() == 1)
    probs = cast.getInputs().front();
  auto update = probs.getDefiningOp<SoftmaxUpdateOp>();
  return update && update.getProbs() == probs ? update : SoftmaxUpdateOp();
}

class Matcher {
public:
  Matcher(scf::ForOp loop, std::string &why) : why(why) { parts.loop = loop; }
  std::optional<KeyLoop> match();

private:
  bool fail(StringRef reason) {
    why = reason.str();
    return false;
  }
  bool matchLoop();
  bool matchValues();
  bool matchUpdate();
  bool matchScores();
  bool collectSoftmax();
  bool isInBody(Operation *op) {
    return op && op->getBlock() == parts.loop.getBody();
  }
  bool isOutside(Value value) {
    return parts.loop.isDefinedOutsideOfLoop(value);
  }
  Value carried(unsigned i) { return parts.loop.getRegionIterArg(i); }
  Value yielded(unsigned i) { return parts.loop.getYieldedValues()[i]; }

  KeyLoop parts;
  std::string &why;
};

bool Matcher::matchLoop() {
  return (isConstantIntValue(parts.loop.getStep(), 1) &&
          parts.loop.getNumRegionIterArgs() == kCarried) ||
         fail("does not carry the accumulator, the maximum and the sum from "
              "block to block");
}

/// acc' = values(p, next values[j], rescale(acc)).
bool Matcher::matchValues() {
  parts.values = yielded(0).getDefiningOp<DotOp>();
  if (!parts.values || !isInBody(parts.values) ||
      parts.values.getTransposeB() || !parts.values.getResult().hasOneUse())
    return fail("does not carry a product with V on");
  parts.valueNext = findNext(parts.values.getRhs(), parts.loop);
  if (!parts.valueNext)
    return fail("does not read V as a stream");
  parts.rescale = parts.values.getAcc().getDefiningOp<RescaleOp>();
  bool rescales =
      isInBody(parts.rescale) && parts.rescale.getResult().hasOneUse() &&
      parts.rescale.getTile() == carried(0) && carried(0).hasOneUse();
  return rescales || fail("does not rescale the accumulator before the product "
                          "with V");
}

/// p, m', l', alpha = softmax_update(.., m, l).
bool Matcher::matchUpdate() {
  parts.update = findUpdate(parts.getProbs());
  bool updates = isInBody(parts.update) &&
                 isInBody(parts.getProbs().getDefiningOp()) &&
                 parts.rescale.getFactor() == parts.update.getRescale() &&
                 parts.update.getRowMax() == carried(1) &&
                 parts.update.getRowSum() == carried(2) &&
                 parts.update.getNewMax() == yielded(1) &&
                 parts.update.getNewSum() == yielded(2);
  return updates || fail("does not carry one softmax_update's results on");
}

/// s = scores(q, next keys[j]): the other product of the body.
bool Matcher::matchScores() {
  for (auto dot : parts.loop.getBody()->getOps<DotOp>()) {
    if (dot == parts.values)
      continue;
    if (parts.scores)
      return fail("has more than two products");
    parts.scores = dot;
  }
  if (!parts.scores || !isOutside(parts.scores.getLhs()) ||
      !isOutside(parts.scores.getAcc()))
    return fail("does not compute its scores from a tile of queries");
  parts.keyNext = findNext(parts.scores.getRhs(), parts.loop);
  return parts.keyNext || fail("does not read K as a stream");
}

/// Everything else may run behind both products: it neither reads what they
/// read nor writes.
bool Matcher::collectSoftmax() {
  for (Operation &op : parts.loop.getBody()->without_terminator()) {
    if (&op == parts.keyNext || &op == parts.scores || &op == parts.valueNext ||
        &op == parts.values)
      continue;
    if (!isa<MapOp>(op) && !isPure(&op))
      return fail("has an op with effects beside its products");
    if (auto map = dyn_cast<MapOp>(op);
        map && readsMemory(map) &&
        !llvm::equal(map.getInputs().getTypes(), map.getResultTypes()))
      return fail("has a map that reads memory and is no score function");
    parts.isMasked |= isa<MaskOp>(op);
    parts.softmax.push_back(&op);
  }
  return true;
}

std::optional<KeyLoop> Matcher::match() {
  if (matchLoop() && matchValues() && matchUpdate() && matchScores() &&
      collectSoftmax())
    return parts;
  return std::nullopt;
}
} // namespace

Value cloneIndex(OpBuilder &b, Value index, scf::ForOp loop, Value j) {
  if (index == loop.getInductionVar())
    return j;
  if (loop.isDefinedOutsideOfLoop(index))
    return index;
  Operation *def = index.getDefiningOp();
  IRMapping mapping;
  for (Value operand : def->getOperands())
    mapping.map(operand, cloneIndex(b, operand, loop, j));
  return b.clone(*def, mapping)
      ->getResult(cast<OpResult>(index).getResultNumber());
}

bool readsMemory(MapOp map) {
  return map.walk([](memref::LoadOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

std::optional<KeyLoop> matchKeyLoop(scf::ForOp loop, std::string &why) {
  return Matcher(loop, why).match();
}
} // namespace flashc::tile
