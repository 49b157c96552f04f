// convert-warp-to-nvvm, coordinates of a map's elements as floats.
//
// An element's row and column are its lane's first ones plus constants, and so
// are their sums and differences. float(base + c) is made as float(base) + c:
// one conversion a lane, which all elements share, and an addition that fits
// into the instructions around it. Both are exact below 2^24; beyond, the sum
// may be off by a unit in the last place, which is what rounding the index
// takes from it in any case.
#include "KernelEmitter.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace flashc {
namespace {
/// base + offset, where base is made of origins alone; null: no base.
struct Position {
  Value base;
  int64_t offset;
};

class PositionFinder {
public:
  PositionFinder(ImplicitLocOpBuilder &b, ArrayRef<Value> origin)
      : b(b), origin(origin) {}

  /// `value` as base + offset; none where something else is in it.
  std::optional<Position> find(Value value) {
    if (llvm::is_contained(origin, value))
      return Position{value, 0};
    llvm::APInt constant;
    if (matchPattern(value, m_ConstantInt(&constant)))
      return Position{Value(), constant.getSExtValue()};
    Operation *op = value.getDefiningOp();
    if (op && isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
      return find(op->getOperand(0));
    if (!op || !isa<arith::AddIOp, arith::SubIOp>(op))
      return std::nullopt;
    auto left = find(op->getOperand(0)), right = find(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    return isa<arith::AddIOp>(op) ? add(*left, *right)
                                  : subtract(*left, *right);
  }

  /// A position, or the |x| of one, as an f32; null for anything else.
  Value convert(Value value) {
    if (auto position = find(value))
      return position->base ? convert(*position) : Value();
    Operation *op = value.getDefiningOp();
    if (auto size = dyn_cast_or_null<math::AbsIOp>(op)) {
      Value x = convert(size.getOperand());
      return x ? math::AbsFOp::create(b, x).getResult() : Value();
    }
    return {};
  }

private:
  Position add(Position x, Position y) {
    if (x.base && y.base)
      return {arith::AddIOp::create(b, x.base, y.base), x.offset + y.offset};
    return {x.base ? x.base : y.base, x.offset + y.offset};
  }
  Position subtract(Position x, Position y) {
    if (!y.base)
      return {x.base, x.offset - y.offset};
    Value minus = x.base;
    if (!minus)
      minus = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
    return {arith::SubIOp::create(b, minus, y.base), x.offset - y.offset};
  }
  Value convert(const Position &position) {
    Value base = arith::SIToFPOp::create(b, b.getF32Type(), position.base);
    Value offset =
        arith::ConstantOp::create(b, b.getF32FloatAttr(float(position.offset)));
    return arith::AddFOp::create(b, base, offset);
  }

  ImplicitLocOpBuilder &b;
  ArrayRef<Value> origin;
};
} // namespace

// Emits `op` if it converts a position to f32. What it converts was emitted
// before, and goes where nothing else reads it.
bool KernelEmitter::convertPosition(Operation *op, ArrayRef<Value> origin,
                                    IRMapping &map) {
  auto conversion = dyn_cast<arith::SIToFPOp>(op);
  if (!conversion || !conversion.getType().isF32() ||
      conversion.getIn().getType().getIntOrFloatBitWidth() < 32)
    return false;
  Value value = PositionFinder(b, origin).convert(
      map.lookupOrDefault(conversion.getIn()));
  if (value)
    map.map(conversion.getResult(), value);
  return bool(value);
}

} // namespace flashc
