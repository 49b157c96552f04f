// Block numbers, barriers and readers, for the passes on puts and gets.
#include "BlockIndex.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace flashc::warp {

BlockIndex getBlockIndex(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {Value(), constant.getSExtValue()};
  if (auto sum = value.getDefiningOp<arith::AddIOp>()) {
    BlockIndex lhs = getBlockIndex(sum.getLhs());
    BlockIndex rhs = getBlockIndex(sum.getRhs());
    if (!lhs.base || !rhs.base)
      return {lhs.base ? lhs.base : rhs.base, lhs.offset + rhs.offset};
  }
  return {value, 0};
}

Operation *getNextBarrier(Operation *op) {
  do
    op = op->getNextNode();
  while (op && !isBarrier(op));
  return op;
}

Operation *getLastReader(Value buffer, Block *body) {
  Operation *last = nullptr;
  for (Operation *user : buffer.getUsers())
    if (Operation *op = body->findAncestorOpInBlock(*user))
      if (!last || last->isBeforeInBlock(op))
        last = op;
  return last;
}

Operation *getFirstReader(Value buffer, Block *body) {
  Operation *first = nullptr;
  for (Operation *user : buffer.getUsers())
    if (Operation *op = body->findAncestorOpInBlock(*user))
      if (!first || op->isBeforeInBlock(first))
        first = op;
  return first;
}

} // namespace flashc::warp
