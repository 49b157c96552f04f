// Part of convert-tile-to-cpu: which buffer may be written when. Tile values
// are immutable; a buffer is reused, or updated in place, only where the value
// in it has no reader left on any path from there.
#include "Buffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace flashc::cpu {

/// Does `user` run after `op` in one pass over the code, loops aside?
static bool runsAfter(Operation *user, Operation *op) {
  if (user == op)
    return false;
  for (Operation *at = user; at; at = at->getParentOp()) {
    Operation *other =
        at->getBlock() ? at->getBlock()->findAncestorOpInBlock(*op) : nullptr;
    if (!other)
      continue;
    if (other != at)
      return other->isBeforeInBlock(at);
    // One is inside the other, or they are in two branches of one op.
    return at == op;
  }
  return false;
}

bool isLiveAfter(Value value, Operation *op) {
  // Loops around `op` that the value enters from outside.
  SmallVector<Operation *> loops;
  for (Operation *at = op->getParentOp(); at; at = at->getParentOp())
    if (isa<LoopLikeOpInterface>(at) &&
        !at->getRegion(0).isAncestor(value.getParentRegion()))
      loops.push_back(at);
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return runsAfter(user, op) || llvm::any_of(loops, [&](Operation *loop) {
             return loop->isProperAncestor(user);
           });
  });
}

bool BufferPool::isVacatedBy(const Buffer &buffer, Operation *op) {
  return llvm::none_of(buffer.tenants,
                       [&](Value tenant) { return isLiveAfter(tenant, op); });
}

static bool isReadBy(Value value, Operation *op) {
  return llvm::is_contained(value.getUsers(), op);
}

Buffer *BufferPool::claim(MemRefType type, Operation *at) {
  for (Buffer &buffer : buffers)
    if (!buffer.reserved && buffer.type == type && isVacatedBy(buffer, at) &&
        llvm::none_of(buffer.tenants,
                      [&](Value tenant) { return isReadBy(tenant, at); }))
      return &buffer;

  constexpr int64_t kLine = 64; // bytes of a cache line, and of a vector
  ImplicitLocOpBuilder b(scratch.getLoc(), scratch.getContext());
  if (lastView)
    b.setInsertionPointAfter(lastView);
  else
    b.setInsertionPointToStart(entry);
  Value offset = arith::ConstantIndexOp::create(b, size);
  Value view = memref::ViewOp::create(b, type, scratch, offset, ValueRange{});
  lastView = view.getDefiningOp();
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  size += (bytes + kLine - 1) / kLine * kLine;
  buffers.push_back({view, type, {}, false});
  return &buffers.back();
}

} // namespace flashc::cpu
