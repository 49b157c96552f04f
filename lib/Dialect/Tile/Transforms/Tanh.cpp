//===- Tanh.cpp - tanh in multiply-adds -----------------------------------===//
//
// Used by tile-split-tanh and tile-expand-tanh. The coefficients are minimax in
// the relative error, found by reweighted least squares on a Chebyshev grid
// (Lawson's algorithm) in double and rounded to f32; the unit tests hold their
// accuracy in place.
//
//===----------------------------------------------------------------------===//
#include "Tanh.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace flashc::tile {
namespace {
constexpr double kPolynomialEnd = 0.625, kRationalEnd = 7.9;
/// tanh(x) / x on |x| <= 5/8, in powers of x^2.
constexpr double kPolynomial[] = {1, -0.33332342, 0.13308175, -0.051947903,
                                  0.0151953725};
/// The same on |x| <= 13/32.
constexpr double kShortEnd = 0.40625;
constexpr double kShort[] = {0.9999998894, -0.3333117879, 0.1326722145,
                             -0.04736912142};
/// The same as P / Q on |x| <= 7.9.
constexpr double kNumerator[] = {1, 0.12934418, 0.0029604733, 1.1531839e-05};
constexpr double kDenominator[] = {1, 0.46267644, 0.023854082, 0.00024001204,
                                   2.492548e-07};

/// sum of c[i] * k^(2i + shift) * y^i
Value buildSum(ImplicitLocOpBuilder &b, ArrayRef<double> c, double k, int shift,
               Value y) {
  auto coefficient = [&](size_t i) {
    return buildF32(b, float(c[i] * std::pow(k, 2.0 * double(i) + shift)));
  };
  Value sum = coefficient(c.size() - 1);
  for (size_t i = c.size() - 1; i-- > 0;)
    sum = math::FmaOp::create(b, sum, y, coefficient(i));
  return sum;
}

/// Whether k can be part of the coefficients: all of them, and the squares of
/// what is multiplied with them, are far from the ends of f32.
bool isFoldable(double k) {
  constexpr double kLeast = 0x1p-100;
  double last = kDenominator[4] * std::pow(k, 8);
  return k != 0 && std::fabs(last) > kLeast && std::fabs(k) < 0x1p10;
}
} // namespace

bool isExactTanh(math::TanhOp op) {
  return op.getType().isF32() &&
         !arith::bitEnumContainsAny(op.getFastmath(),
                                    arith::FastMathFlags::afn);
}

TanhArgument::TanhArgument(math::TanhOp op) : base(op.getOperand()), factor(1) {
  auto product = base.getDefiningOp<arith::MulFOp>();
  FloatAttr constant;
  if (!product || !matchPattern(product.getRhs(), m_Constant(&constant)))
    return;
  double k = constant.getValueAsDouble();
  if (!isFoldable(k))
    return;
  base = product.getLhs();
  factor = k;
}

float TanhArgument::getPolynomialEnd() const {
  return float(kPolynomialEnd / std::fabs(factor));
}

Value TanhArgument::buildPolynomial(ImplicitLocOpBuilder &b) const {
  Value y = arith::MulFOp::create(b, base, base);
  return arith::MulFOp::create(b, buildSum(b, kPolynomial, factor, 1, y), base);
}

float TanhArgument::getShortEnd() const { return float(kShortEnd / factor); }

Value TanhArgument::buildShort(ImplicitLocOpBuilder &b, Value v, double c,
                               Value start) const {
  SmallVector<double> coefficients;
  for (double coefficient : kShort)
    coefficients.push_back(c * coefficient);
  Value y = arith::MulFOp::create(b, v, v);
  return math::FmaOp::create(b, buildSum(b, coefficients, factor, 1, y), v,
                             start);
}

Value TanhArgument::buildExponential(ImplicitLocOpBuilder &b) const {
  float exponent = float(2 * factor / llvm::numbers::ln2);
  Value e = math::Exp2Op::create(
      b, arith::MulFOp::create(b, base, buildF32(b, exponent)));
  Value one = buildF32(b, 1.0f);
  Value inverse = arith::DivFOp::create(
      b, one, arith::AddFOp::create(b, e, one), arith::FastMathFlags::afn);
  return math::FmaOp::create(b, inverse, buildF32(b, -2.0f), one);
}

Value TanhArgument::buildRational(ImplicitLocOpBuilder &b) const {
  float end = float(kRationalEnd / std::fabs(factor));
  Value v = arith::MinimumFOp::create(b, base, buildF32(b, end));
  v = arith::MaximumFOp::create(b, v, buildF32(b, -end));
  Value y = arith::MulFOp::create(b, v, v);
  Value numerator =
      arith::MulFOp::create(b, buildSum(b, kNumerator, factor, 1, y), v);
  Value denominator = buildSum(b, kDenominator, factor, 0, y);
  // The denominator is between 1 and 100: a reciprocal is safe.
  return arith::DivFOp::create(b, numerator, denominator,
                               arith::FastMathFlags::arcp);
}
} // namespace flashc::tile
