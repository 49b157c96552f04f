// Part of convert-tile-to-cpu: short names for what every emitter builds.
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

Value Emitter::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value Emitter::add(Value a, Value other) {
  return arith::AddIOp::create(b, a, other);
}

VectorType Emitter::vectorOf(Type element, int64_t count) {
  return VectorType::get({count ? count : lanes}, element);
}

Value Emitter::loadVector(Value memref, ValueRange indices, Type element) {
  if (!element)
    element = cast<MemRefType>(memref.getType()).getElementType();
  return vector::LoadOp::create(b, vectorOf(element), memref, indices);
}

void Emitter::storeVector(Value vector, Value memref, ValueRange indices) {
  vector::StoreOp::create(b, vector, memref, indices);
}

void Emitter::loop(Value count, int64_t step,
                   llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, index(0), count, index(step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  body(loop.getInductionVar());
}

void Emitter::loop(int64_t count, int64_t step,
                   llvm::function_ref<void(Value)> body) {
  loop(index(count), step, body);
}

} // namespace flashc::cpu
