// The derivative of single ops, as reverse mode needs it.
#ifndef FLASHC_LIB_DIALECT_ATTN_GRADIENT_RULES_H
#define FLASHC_LIB_DIALECT_ATTN_GRADIENT_RULES_H

#include "flashc/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace flashc::attn {

/// One op y = f(x0, x1, ...) whose result has the gradient u: its operands and
/// result as f32 at the place where gradients are built, and short names for
/// arithmetic on f32.
class OpGradient {
public:
  using Value = mlir::Value;
  /// `copy` is the op where gradients are built, its result computed again.
  OpGradient(mlir::ImplicitLocOpBuilder &b, mlir::Operation *copy, Value u)
      : b(b), copy(copy), u(u), parts(copy->getNumOperands()) {}

  /// Operand `i` and the result.
  Value x(unsigned i) { return widen(copy->getOperand(i)); }
  Value y() { return widen(copy->getResult(0)); }

  Value number(double value) {
    return mlir::arith::ConstantOp::create(b, b.getF32FloatAttr(float(value)));
  }
  Value add(Value p, Value q) { return mlir::arith::AddFOp::create(b, p, q); }
  Value sub(Value p, Value q) { return mlir::arith::SubFOp::create(b, p, q); }
  Value mul(Value p, Value q) { return mlir::arith::MulFOp::create(b, p, q); }
  Value div(Value p, Value q) { return mlir::arith::DivFOp::create(b, p, q); }
  Value neg(Value p) { return mlir::arith::NegFOp::create(b, p); }
  Value select(Value c, Value p, Value q) {
    return mlir::arith::SelectOp::create(b, c, p, q);
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value p, Value q) {
    return mlir::arith::CmpFOp::create(b, predicate, p, q);
  }
  template <typename OpTy> Value unary(Value p) { return OpTy::create(b, p); }

  /// The gradient of operand `i` is `value`.
  void give(unsigned i, Value value) { parts[i] = value; }

  mlir::ImplicitLocOpBuilder &b;
  mlir::Operation *copy;
  Value u;
  /// Of each operand; null: none.
  llvm::SmallVector<Value> parts;

private:
  Value widen(Value value);
};

/// Whether the op has no derivative that is of use: it rounds or reinterprets
/// bits.
bool hasNoDerivative(mlir::Operation *op);

/// Gives the float operands of an op their gradients. False where the op is not
/// known.
bool giveGradients(OpGradient &g);

} // namespace flashc::attn

#endif // FLASHC_LIB_DIALECT_ATTN_GRADIENT_RULES_H
