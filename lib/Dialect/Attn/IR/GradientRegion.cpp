// What gradient regions of attn.backward make of dx.
#include "flashc/Dialect/Attn/IR/ScoreBias.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace flashc::attn;

namespace {
/// Of a gradient region's arguments.
constexpr unsigned kGradient = 5;

/// Values of a gradient region, by how they depend on dx.
class Dependence {
public:
  explicit Dependence(Value gradient) : gradient(gradient) {}

  bool depends(Value value) const {
    return dependsOn(
        value, [&](BlockArgument argument) { return argument == gradient; });
  }

  /// Is it dx times a factor?
  bool isLinear(Value value) const {
    if (value == gradient || matchPattern(value, m_AnyZeroFloat()))
      return true;
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::NegFOp>(op))
      return isLinear(op->getOperand(0));
    if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op))
      return isLinear(op->getOperand(0)) && isLinear(op->getOperand(1));
    if (isa_and_nonnull<arith::DivFOp>(op))
      return isLinear(op->getOperand(0)) && !depends(op->getOperand(1));
    if (isa_and_nonnull<arith::MulFOp>(op))
      return isProduct(op->getOperand(0), op->getOperand(1)) ||
             isProduct(op->getOperand(1), op->getOperand(0));
    if (auto fma = dyn_cast_or_null<math::FmaOp>(op))
      return (isProduct(fma.getA(), fma.getB()) ||
              isProduct(fma.getB(), fma.getA())) &&
             isLinear(fma.getC());
    if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
      return !depends(select.getCondition()) &&
             isLinear(select.getTrueValue()) &&
             isLinear(select.getFalseValue());
    return false;
  }

private:
  bool isProduct(Value linear, Value factor) const {
    return isLinear(linear) && !depends(factor);
  }

  Value gradient;
};
} // namespace

bool BackwardOp::hasPlainScoreGradient() {
  Block &region = getScoreGradient().front();
  return cast<YieldOp>(region.getTerminator()).getScore() ==
         region.getArgument(kGradient);
}

bool BackwardOp::hasGradientFactor() {
  Block &region = getScoreGradient().front();
  return Dependence(region.getArgument(kGradient))
      .isLinear(cast<YieldOp>(region.getTerminator()).getScore());
}
