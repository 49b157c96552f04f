// Part of convert-tile-to-cpu: 16-bit floats as f32. Products and sums are in
// f32 anyway, so a 16-bit tile is widened once, when it is read. f16 uses the
// hardware's conversions (F16C on x86). bf16 is shifts and adds: AVX512_BF16's
// conversion flushes subnormals, and most machines lack it.
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

static Type withElement(Type like, Type element) {
  if (auto vector = dyn_cast<VectorType>(like))
    return vector.clone(element);
  return element;
}

bool isHalfFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

Type heldType(Type type) {
  return isHalfFloat(type)
             ? withElement(type, Float32Type::get(type.getContext()))
             : type;
}

static Value constantLike(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  auto number = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vector, Attribute(number)));
  return arith::ConstantOp::create(b, number);
}

static Value bits(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType();
  auto integer =
      b.getIntegerType(getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  return arith::BitcastOp::create(b, withElement(type, integer), value);
}

Value hold(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType();
  if (!isHalfFloat(type))
    return value;
  Type f32 = withElement(type, b.getF32Type());
  if (getElementTypeOrSelf(type).isF16())
    return arith::ExtFOp::create(b, f32, value);
  Type i32 = withElement(type, b.getI32Type());
  Value wide = arith::ExtUIOp::create(b, i32, bits(b, value));
  Value shifted = arith::ShLIOp::create(b, wide, constantLike(b, i32, 16));
  return arith::BitcastOp::create(b, f32, shifted);
}

Value unhold(ImplicitLocOpBuilder &b, Value held, Type element) {
  Type type = withElement(held.getType(), element);
  if (element.isF16())
    return arith::TruncFOp::create(b, type, held);
  if (!element.isBF16())
    return held;
  Value wide = bits(b, held);
  Value high =
      arith::ShRUIOp::create(b, wide, constantLike(b, wide.getType(), 16));
  Value narrow =
      arith::TruncIOp::create(b, withElement(type, b.getI16Type()), high);
  return arith::BitcastOp::create(b, type, narrow);
}

/// bits + 0x7fff + (the last bit that stays), cut off: ties go to even, a carry
/// goes into the exponent. NaN would become infinite or lose its payload, so it
/// is kept and made quiet.
static Value roundToBF16(ImplicitLocOpBuilder &b, Value value) {
  Value wide = bits(b, value);
  Type i32 = wide.getType();
  auto number = [&](int64_t n) { return constantLike(b, i32, n); };
  Value high = arith::ShRUIOp::create(b, wide, number(16));
  Value odd = arith::AndIOp::create(b, high, number(1));
  Value half = arith::AddIOp::create(b, wide, number(0x7fff));
  Value up = arith::AddIOp::create(b, half, odd);
  Value quiet = arith::OrIOp::create(b, wide, number(0x400000));
  Value isNan =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, value, value);
  Value any = arith::SelectOp::create(b, isNan, quiet, up);
  Value cut = arith::AndIOp::create(b, any, number(int32_t(0xffff0000)));
  return arith::BitcastOp::create(b, value.getType(), cut);
}

Value roundTo(ImplicitLocOpBuilder &b, Value value, Type element) {
  if (element.isF16())
    return hold(b, arith::TruncFOp::create(
                       b, withElement(value.getType(), element), value));
  if (element.isBF16())
    return roundToBF16(b, value);
  return value;
}

} // namespace flashc::cpu
