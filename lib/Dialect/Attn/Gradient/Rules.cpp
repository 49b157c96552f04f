// The derivative of every arith and math op that a score region may hold: one
// line for each. u is the gradient of the op's result y.
#include "Rules.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numbers>

using namespace mlir;
using namespace flashc::attn;
using Predicate = arith::CmpFPredicate;

Value OpGradient::widen(Value value) {
  Type type = value.getType();
  if (type.isF16() || type.isBF16())
    return arith::ExtFOp::create(b, b.getF32Type(), value);
  return value;
}

bool flashc::attn::hasNoDerivative(Operation *op) {
  return isa<math::CeilOp, math::FloorOp, math::RoundOp, math::RoundEvenOp,
             math::TruncOp, arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp>(
      op);
}

namespace {
/// u * derivative for operand 0.
void scale(OpGradient &g, Value derivative) {
  g.give(0, g.mul(g.u, derivative));
}
/// u / divisor for operand 0.
void divide(OpGradient &g, Value divisor) { g.give(0, g.div(g.u, divisor)); }

/// u for the operand that is the result; the first of two equal ones.
void giveChosen(OpGradient &g, Predicate firstWins) {
  Value first = g.compare(firstWins, g.x(0), g.x(1));
  g.give(0, g.select(first, g.u, g.number(0)));
  g.give(1, g.select(first, g.number(0), g.u));
}

Value one(OpGradient &g) { return g.number(1); }
Value square(OpGradient &g, Value x) { return g.mul(x, x); }
/// (1 - x)(1 + x): exact near the ends, where 1 - x^2 is not.
Value oneLessSquare(OpGradient &g, Value x) {
  return g.mul(g.sub(one(g), x), g.add(one(g), x));
}
Value root(OpGradient &g, Value x) { return g.unary<math::SqrtOp>(x); }

bool giveArith(OpGradient &g) {
  Value u = g.u;
  return llvm::TypeSwitch<Operation *, bool>(g.copy)
      .Case([&](arith::AddFOp) { return g.give(0, u), g.give(1, u), true; })
      .Case([&](arith::SubFOp) {
        return g.give(0, u), g.give(1, g.neg(u)), true;
      })
      .Case([&](arith::MulFOp) {
        return g.give(0, g.mul(u, g.x(1))), g.give(1, g.mul(u, g.x(0))), true;
      })
      .Case([&](arith::DivFOp) { // d(a/b) = da/b - (a/b) db/b
        Value part = g.div(u, g.x(1));
        return g.give(0, part), g.give(1, g.neg(g.mul(part, g.y()))), true;
      })
      .Case([&](arith::RemFOp) { // a - b trunc(a/b)
        Value whole = g.unary<math::TruncOp>(g.div(g.x(0), g.x(1)));
        return g.give(0, u), g.give(1, g.neg(g.mul(u, whole))), true;
      })
      .Case([&](arith::NegFOp) { return g.give(0, g.neg(u)), true; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return giveChosen(g, Predicate::OGE), true; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return giveChosen(g, Predicate::OLE), true; })
      .Case<arith::ExtFOp, arith::TruncFOp>(
          [&](auto) { return g.give(0, u), true; })
      .Case([&](arith::SelectOp op) {
        g.give(1, g.select(op.getCondition(), u, g.number(0)));
        g.give(2, g.select(op.getCondition(), g.number(0), u));
        return true;
      })
      .Default([](Operation *) { return false; });
}

/// x^p: p x^(p-1) and, where x > 0, x^p ln x.
void givePower(OpGradient &g) {
  Value x = g.x(0), p = g.x(1);
  Value less = math::PowFOp::create(g.b, x, g.sub(p, one(g)));
  g.give(0, g.mul(g.u, g.mul(p, less)));
  Value part = g.mul(g.u, g.mul(g.y(), g.unary<math::LogOp>(x)));
  Value positive = g.compare(Predicate::OGT, x, g.number(0));
  g.give(1, g.select(positive, part, g.number(0)));
}

/// |x| with the sign of s: u where x has it already, else -u.
void giveCopySign(OpGradient &g) {
  Value same = math::CopySignOp::create(g.b, one(g), g.x(0));
  Value wanted = math::CopySignOp::create(g.b, one(g), g.x(1));
  scale(g, g.mul(same, wanted));
}

/// u to the bound that holds the value, or to the value between them.
void giveClamp(OpGradient &g) {
  Value low = g.compare(Predicate::OLT, g.x(0), g.x(1));
  Value high = g.compare(Predicate::OGT, g.x(0), g.x(2));
  Value zero = g.number(0);
  g.give(0, g.select(low, zero, g.select(high, zero, g.u)));
  g.give(1, g.select(low, g.u, zero));
  g.give(2, g.select(high, g.u, zero));
}

void giveArcTangent2(OpGradient &g) { // atan2(y, x)
  Value y = g.x(0), x = g.x(1);
  Value part = g.div(g.u, g.add(square(g, x), square(g, y)));
  g.give(0, g.mul(part, x));
  g.give(1, g.neg(g.mul(part, y)));
}

void giveAbsolute(OpGradient &g) {
  Value x = g.x(0), zero = g.number(0);
  Value below = g.select(g.compare(Predicate::OLT, x, zero), g.neg(g.u), zero);
  g.give(0, g.select(g.compare(Predicate::OGT, x, zero), g.u, below));
}

/// 2/sqrt(pi) exp(-x^2), or with `sign` -1 its negative.
void giveError(OpGradient &g, double sign) {
  Value bell = g.unary<math::ExpOp>(g.neg(square(g, g.x(0))));
  scale(g, g.mul(g.number(sign * 2 * std::numbers::inv_sqrtpi), bell));
}

bool giveTrigonometric(OpGradient &g) {
  return llvm::TypeSwitch<Operation *, bool>(g.copy)
      .Case([&](math::SinOp) {
        return scale(g, g.unary<math::CosOp>(g.x(0))), true;
      })
      .Case([&](math::CosOp) {
        return scale(g, g.neg(g.unary<math::SinOp>(g.x(0)))), true;
      })
      .Case([&](math::TanOp) {
        return scale(g, g.add(one(g), square(g, g.y()))), true;
      })
      .Case([&](math::AsinOp) {
        return divide(g, root(g, oneLessSquare(g, g.x(0)))), true;
      })
      .Case([&](math::AcosOp) {
        return divide(g, g.neg(root(g, oneLessSquare(g, g.x(0))))), true;
      })
      .Case([&](math::AtanOp) {
        return divide(g, g.add(one(g), square(g, g.x(0)))), true;
      })
      .Case([&](math::Atan2Op) { return giveArcTangent2(g), true; })
      .Case([&](math::SinhOp) {
        return scale(g, g.unary<math::CoshOp>(g.x(0))), true;
      })
      .Case([&](math::CoshOp) {
        return scale(g, g.unary<math::SinhOp>(g.x(0))), true;
      })
      .Case(
          [&](math::TanhOp) { return scale(g, oneLessSquare(g, g.y())), true; })
      .Case([&](math::AsinhOp) {
        return divide(g, root(g, g.add(square(g, g.x(0)), one(g)))), true;
      })
      .Case([&](math::AcoshOp) {
        Value x = g.x(0);
        return divide(g, root(g, g.mul(g.sub(x, one(g)), g.add(x, one(g))))),
               true;
      })
      .Case([&](math::AtanhOp) {
        return divide(g, oneLessSquare(g, g.x(0))), true;
      })
      .Default([](Operation *) { return false; });
}

bool giveExponential(OpGradient &g) {
  using std::numbers::ln10, std::numbers::ln2;
  return llvm::TypeSwitch<Operation *, bool>(g.copy)
      .Case([&](math::ExpOp) { return scale(g, g.y()), true; })
      .Case([&](math::Exp2Op) {
        return scale(g, g.mul(g.number(ln2), g.y())), true;
      })
      .Case([&](math::ExpM1Op) { return scale(g, g.add(g.y(), one(g))), true; })
      .Case([&](math::LogOp) { return divide(g, g.x(0)), true; })
      .Case([&](math::Log2Op) {
        return divide(g, g.mul(g.number(ln2), g.x(0))), true;
      })
      .Case([&](math::Log10Op) {
        return divide(g, g.mul(g.number(ln10), g.x(0))), true;
      })
      .Case(
          [&](math::Log1pOp) { return divide(g, g.add(one(g), g.x(0))), true; })
      .Case([&](math::SqrtOp) {
        return divide(g, g.mul(g.number(2), g.y())), true;
      })
      .Case([&](math::RsqrtOp) { // -1/2 x^(-3/2)
        Value y = g.y();
        return scale(g, g.mul(g.number(-0.5), g.mul(y, square(g, y)))), true;
      })
      .Case([&](math::CbrtOp) {
        return divide(g, g.mul(g.number(3), square(g, g.y()))), true;
      })
      .Case([&](math::PowFOp) { return givePower(g), true; })
      .Case([&](math::ErfOp) { return giveError(g, 1), true; })
      .Case([&](math::ErfcOp) { return giveError(g, -1), true; })
      .Default([](Operation *) { return false; });
}

bool giveOther(OpGradient &g) {
  return llvm::TypeSwitch<Operation *, bool>(g.copy)
      .Case([&](math::FmaOp) {
        g.give(0, g.mul(g.u, g.x(1)));
        g.give(1, g.mul(g.u, g.x(0)));
        return g.give(2, g.u), true;
      })
      .Case([&](math::AbsFOp) { return giveAbsolute(g), true; })
      .Case([&](math::CopySignOp) { return giveCopySign(g), true; })
      .Case([&](math::ClampFOp) { return giveClamp(g), true; })
      .Default([](Operation *) { return false; });
}
} // namespace

bool flashc::attn::giveGradients(OpGradient &g) {
  return giveArith(g) || giveExponential(g) || giveTrigonometric(g) ||
         giveOther(g);
}
