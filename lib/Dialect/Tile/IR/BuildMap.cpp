// A short way to write a tile.map; used wherever elementwise code is made.
#include "flashc/Dialect/Tile/IR/BuildMap.h"

using namespace mlir;

namespace flashc::tile {

ResultRange buildMap(ImplicitLocOpBuilder &b, TypeRange types,
                     ValueRange inputs, ValueRange origin,
                     function_ref<SmallVector<Value>(ValueRange)> body) {
  auto map = MapOp::create(b, types, inputs, origin);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&map.getBody());
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input.getType()), b.getLoc());
  for (size_t i = 0; i < origin.size(); ++i)
    block->addArgument(b.getIndexType(), b.getLoc());
  SmallVector<Value> results = body(block->getArguments());
  YieldOp::create(b, results);
  return map.getResults();
}

Value buildSplat(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape,
                 float value) {
  auto type = RankedTensorType::get(shape, b.getF32Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, value));
}

Value buildF32(ImplicitLocOpBuilder &b, float value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}
} // namespace flashc::tile
