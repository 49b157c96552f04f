//===- ScoreGradient.cpp - Reverse mode over a score region ---------------===//
//
// In: an attn.backward with a score region and an empty gradient region. Out:
// the gradient region filled: a copy of the score function's ops, then, from
// the last op to the first, what each hands to its operands. Single ops are in
// Rules.cpp.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Attn/Gradient/ScoreGradient.h"

#include "Rules.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace flashc::attn;

namespace {
class Differentiator {
public:
  explicit Differentiator(BackwardOp op)
      : op(op), score(op.getScore().front()), b(op.getLoc(), op) {}
  LogicalResult run();

private:
  void createBlock();
  bool isWanted(tensor::ExtractOp extract);
  void findActive();
  LogicalResult propagate(Operation &inner, Value gradient);
  void addToCapture(tensor::ExtractOp extract, Value gradient);
  void accumulate(Value value, Value gradient);
  LogicalResult refuse(Operation &inner, bool isKnown);

  BackwardOp op;
  Block &score;
  ImplicitLocOpBuilder b;
  IRMapping mapping; // from the score region to its copy
  /// Floats that depend on the score or on a capture whose gradient is wanted.
  llvm::DenseSet<Value> active;
  llvm::DenseMap<Value, Value> gradients;
};

/// Arguments and a copy of the score function.
void Differentiator::createBlock() {
  SmallVector<Type> types(score.getArgumentTypes());
  types.insert(types.begin() + kScoreArguments, b.getF32Type());
  Block *block =
      b.createBlock(&op.getScoreGradient(), {}, types,
                    SmallVector<Location>(types.size(), op.getLoc()));
  for (BlockArgument argument : score.getArguments()) {
    unsigned i = argument.getArgNumber();
    mapping.map(argument, block->getArgument(i < kScoreArguments ? i : i + 1));
  }
  for (Operation &inner : score.without_terminator())
    b.clone(inner, mapping);
}

bool Differentiator::isWanted(tensor::ExtractOp extract) {
  auto capture = cast<BlockArgument>(extract.getTensor());
  return llvm::is_contained(op.getGradients(),
                            capture.getArgNumber() - kScoreArguments);
}

void Differentiator::findActive() {
  active.insert(score.getArgument(0));
  for (Operation &inner : score.without_terminator()) {
    auto extract = dyn_cast<tensor::ExtractOp>(inner);
    bool depends = extract
                       ? isWanted(extract)
                       : llvm::any_of(inner.getOperands(), [&](Value operand) {
                           return active.contains(operand);
                         });
    // Of integers only those count that may become a float again.
    bool carries =
        isa<FloatType>(inner.getResult(0).getType()) || hasNoDerivative(&inner);
    if (depends && carries)
      active.insert(inner.getResult(0));
  }
}

void Differentiator::accumulate(Value value, Value gradient) {
  if (!gradient || !active.contains(value))
    return;
  Value &sum = gradients[value];
  sum = sum ? Value(arith::AddFOp::create(b, sum, gradient)) : gradient;
}

void Differentiator::addToCapture(tensor::ExtractOp extract, Value gradient) {
  SmallVector<Value> indices;
  for (Value index : extract.getIndices())
    indices.push_back(mapping.lookup(index));
  AddGradientOp::create(b, gradient, mapping.lookup(extract.getTensor()),
                        indices);
}

LogicalResult Differentiator::refuse(Operation &inner, bool isKnown) {
  InFlightDiagnostic diagnostic =
      inner.emitOpError()
      << "stands between the score, or a captured tensor whose gradient is "
         "asked for, and the new score, but has no "
      << (isKnown ? "useful derivative: it is 0 or undefined everywhere"
                  : "known derivative")
      << "; use a smooth function";
  diagnostic.attachNote(inner.getLoc())
      << "a gradient of your own (straight-through, for one) goes into the "
         "gradient region of attn.backward";
  return diagnostic;
}

LogicalResult Differentiator::propagate(Operation &inner, Value gradient) {
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
    return addToCapture(extract, gradient), success();
  b.setLoc(inner.getLoc());
  Operation *copy = mapping.lookup(inner.getResult(0)).getDefiningOp();
  OpGradient g(b, copy, gradient);
  if (!giveGradients(g))
    return refuse(inner, /*isKnown=*/false);
  for (auto [operand, part] : llvm::zip_equal(inner.getOperands(), g.parts))
    accumulate(operand, part);
  return success();
}

LogicalResult Differentiator::run() {
  createBlock();
  findActive();
  for (Operation &inner : score.without_terminator())
    if (hasNoDerivative(&inner) && active.contains(inner.getResult(0)))
      return refuse(inner, /*isKnown=*/true);
  Block &block = op.getScoreGradient().front();
  Value upstream = block.getArgument(kScoreArguments);
  accumulate(cast<YieldOp>(score.getTerminator()).getScore(), upstream);
  for (Operation &inner : llvm::reverse(score.without_terminator()))
    if (Value gradient = gradients.lookup(inner.getResult(0)))
      if (failed(propagate(inner, gradient)))
        return failure();
  Value result = gradients.lookup(score.getArgument(0));
  if (!result)
    result = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  YieldOp::create(b, result);
  return success();
}

/// Folds and patterns of the dialects of a score region, and common
/// subexpressions.
LogicalResult simplify(BackwardOp op) {
  RewritePatternSet patterns(op.getContext());
  for (StringRef name : {"arith", "math", "tensor"})
    if (Dialect *dialect = op.getContext()->getLoadedDialect(name))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name :
       op.getContext()->getRegisteredOperations())
    if (isa<arith::ArithDialect, math::MathDialect>(name.getDialect()))
      name.getCanonicalizationPatterns(patterns, op.getContext());
  if (failed(applyPatternsGreedily(op.getScoreGradient(), std::move(patterns))))
    return op.emitOpError("has a gradient region that the canonicalizer does "
                          "not come to an end with; please report it");
  IRRewriter rewriter(op.getContext());
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, op);
  return success();
}
} // namespace

LogicalResult flashc::attn::buildScoreGradient(BackwardOp op) {
  if (op.getScore().empty())
    return success();
  return failure(failed(Differentiator(op).run()) || failed(simplify(op)));
}
