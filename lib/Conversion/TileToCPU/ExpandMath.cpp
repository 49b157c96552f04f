// cpu-expand-math: exponentials as polynomials. Runs after convert-tile-to-cpu
// and before math goes to LLVM, whose vector forms are one libm call a lane.
#include "flashc/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CPUEXPANDMATH
#include "Conversion/ConversionPasses.h.inc"

namespace {
/// f32 arithmetic on scalars or vectors, whatever `like` is.
class Floats {
public:
  Floats(PatternRewriter &rewriter, Operation *op)
      : b(op->getLoc(), rewriter), type(op->getResult(0).getType()) {}

  Value number(float value) { return constant(type, b.getF32FloatAttr(value)); }
  Value integer(int32_t value) {
    return constant(bitsType(), b.getI32IntegerAttr(value));
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, bitsType(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
  Value less(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
  }
  Value select(Value c, Value x, Value y) {
    return arith::SelectOp::create(b, c, x, y);
  }
  /// NaN stays: both comparisons are false for it.
  Value clamp(Value x, float limit) {
    Value low = number(-limit), high = number(limit);
    Value above = select(less(x, low), low, x);
    return select(less(high, above), high, above);
  }
  /// c[0] + x * (c[1] + x * ...)
  Value polynomial(Value x, ArrayRef<float> c) {
    Value sum = number(c.back());
    for (float next : llvm::reverse(c.drop_back()))
      sum = fma(sum, x, number(next));
    return sum;
  }

  ImplicitLocOpBuilder b;

private:
  Type bitsType() {
    Type i32 = b.getI32Type();
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(i32)) : i32;
  }
  Value constant(Type of, TypedAttr value) {
    if (auto vector = dyn_cast<VectorType>(of))
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(vector, Attribute(value)));
    return arith::ConstantOp::create(b, value);
  }
  Type type;
};

/// What |x| is clamped to in 2^x: past it the result is 0 or infinite.
constexpr float kExp2Limit = 160.0f;
/// 1.5 * 2^23: adding it rounds to an integer, which is then in the low bits.
constexpr float kRound = 12582912.0f;
/// 2^f for |f| <= 1/2, relative error 2^-26.7 (interpolated at Chebyshev
/// nodes).
constexpr float kExp2[] = {1.0f,           0.693147182f,   0.240226507f,
                           0.0555035695f,  0.00961808302f, 0.00133908633f,
                           0.000154531634f};

/// 2^n * 2^f with n in the low bits of `shifted` = n + kRound. The power of two
/// is applied in two halves, so that subnormal and infinite results come out by
/// rounding.
Value scaleBack(Floats &f, Value fraction, Value shifted) {
  Value n =
      arith::SubIOp::create(f.b, f.bits(shifted), f.bits(f.number(kRound)));
  Value half = arith::ShRSIOp::create(f.b, n, f.integer(1));
  Value rest = arith::SubIOp::create(f.b, n, half);
  auto power = [&](Value exponent) {
    Value biased = arith::AddIOp::create(f.b, exponent, f.integer(127));
    return f.fromBits(arith::ShLIOp::create(f.b, biased, f.integer(23)));
  };
  Value p = f.polynomial(fraction, kExp2);
  return f.mul(f.mul(p, power(half)), power(rest));
}

/// 2^x = 2^n * 2^(x - n), n the integer nearest to x.
Value exp2(Floats &f, Value x) {
  x = f.clamp(x, kExp2Limit);
  Value shifted = f.add(x, f.number(kRound));
  Value n = f.sub(shifted, f.number(kRound));
  return scaleBack(f, f.sub(x, n), shifted);
}

/// e^x = 2^n * 2^(x * log2(e) - n), log2(e) in two parts.
Value exp(Floats &f, Value x) {
  constexpr float kHigh = 1.44269502f, kLow = 1.92596303e-08f;
  x = f.clamp(x, kExp2Limit / kHigh);
  Value shifted = f.fma(x, f.number(kHigh), f.number(kRound));
  Value n = f.sub(shifted, f.number(kRound));
  Value fraction = f.fma(x, f.number(kHigh), f.sub(f.number(-0.0f), n));
  return scaleBack(f, f.fma(x, f.number(kLow), fraction), shifted);
}

/// tanh(x) = sign(x) * (1 - 2 / (e^(2|x|) + 1)), and an odd polynomial where
/// that cancels (Cephes, tanhf.c).
Value tanh(Floats &f, Value x) {
  constexpr float kOdd[] = {-3.33332819422e-1f, 1.33314422036e-1f,
                            -5.37397155531e-2f, 2.06390887954e-2f,
                            -5.70498872745e-3f};
  Value size = math::AbsFOp::create(f.b, x);
  Value power = exp(f, f.add(size, size));
  Value far = f.sub(f.number(1), f.div(f.number(2), f.add(power, f.number(1))));
  Value square = f.mul(x, x);
  Value near = f.fma(f.mul(f.polynomial(square, kOdd), square), x, x);
  Value isNear = f.less(size, f.number(0.625f));
  return f.select(isNear, near, math::CopySignOp::create(f.b, far, x));
}

/// Replaces an f32 function of one argument.
template <typename Op, Value (*Formula)(Floats &, Value)>
struct ExpandFunction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    Floats f(rewriter, op);
    rewriter.replaceOp(op, Formula(f, op.getOperand()));
    return success();
  }
};

struct CpuExpandMath : impl::CpuExpandMathBase<CpuExpandMath> {
  using Base::Base;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandFunction<math::Exp2Op, exp2>,
                 ExpandFunction<math::ExpOp, exp>,
                 ExpandFunction<math::TanhOp, tanh>>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
} // namespace flashc
