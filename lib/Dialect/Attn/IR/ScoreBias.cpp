// Looks for the form that attn-simplify-score leaves sums in.
#include "flashc/Dialect/Attn/IR/ScoreBias.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace flashc::attn {
namespace {
/// The region's arguments, which the captures follow.
enum Argument : unsigned { Score, Batch, Head, Query, Key };
} // namespace

bool dependsOn(Value value, llvm::function_ref<bool(BlockArgument)> isOne) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) { // grows on the way
    if (auto argument = dyn_cast<BlockArgument>(reached[i])) {
      if (isOne(argument))
        return true;
    } else {
      auto operands = reached[i].getDefiningOp()->getOperands();
      reached.insert(operands.begin(), operands.end());
    }
  }
  return false;
}

bool isSameForHead(Value value) {
  return !dependsOn(value, [](BlockArgument argument) {
    unsigned number = argument.getArgNumber();
    return number == Score || number == Query || number == Key;
  });
}

std::optional<ScoreBias> matchScoreBias(AttentionInterface op) {
  if (!op.hasScore())
    return std::nullopt;
  Block &body = op.getScore().front();
  Value score = body.getArgument(Score);
  auto sum = body.getTerminator()->getOperand(0).getDefiningOp<math::FmaOp>();
  if (!sum || sum.getC() != score || !score.hasOneUse())
    return std::nullopt;
  for (auto [slope, term] :
       {std::pair{sum.getA(), sum.getB()}, std::pair{sum.getB(), sum.getA()}})
    if (isSameForHead(slope))
      return ScoreBias{sum, slope, term};
  return std::nullopt;
}

bool isDistance(const ScoreBias &bias) {
  Value term = bias.term;
  if (auto size = term.getDefiningOp<math::AbsFOp>())
    term = size.getOperand();
  auto number = term.getDefiningOp<arith::SIToFPOp>();
  auto cast = number ? number.getIn().getDefiningOp<arith::IndexCastOp>()
                     : arith::IndexCastOp();
  auto distance =
      cast ? cast.getIn().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  if (!distance)
    return false;
  auto isArgument = [](Value value, Argument which) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getArgNumber() == which;
  };
  return isArgument(distance.getLhs(), Key) &&
         isArgument(distance.getRhs(), Query);
}
} // namespace flashc::attn
