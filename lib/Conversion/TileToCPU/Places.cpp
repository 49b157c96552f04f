// Part of convert-tile-to-cpu: tiles and their buffers. Which buffers may be
// written is decided in Buffers.cpp; here values settle in them, are taken
// over in place, or are moved.
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

/// Tiles are row-major; a truth value takes a byte.
MemRefType Emitter::bufferType(RankedTensorType tile) {
  Type element = tile.getElementType().isInteger(1)
                     ? b.getI8Type()
                     : heldType(tile.getElementType());
  return MemRefType::get(tile.getShape(), element);
}

Buffer *Emitter::claim(MemRefType type, Operation *at) {
  Buffer *buffer = pool->claim(type, at);
  buffer->reserved = true;
  claims.push_back(buffer);
  return buffer;
}

void Emitter::releaseClaims() {
  for (Buffer *buffer : claims)
    buffer->reserved = false;
  claims.clear();
}

void Emitter::settle(Value tile, Buffer *buffer) {
  homes[tile] = buffer;
  buffer->tenants.push_back(tile);
}

/// The element of a constant tile, as its buffer would hold it.
std::optional<TypedAttr> Emitter::splat(Value tile) {
  auto constant = tile.getDefiningOp<arith::ConstantOp>();
  auto elements =
      constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!elements)
    return std::nullopt;
  Type element = elements.getElementType();
  if (element.isInteger(1))
    return b.getI8IntegerAttr(elements.getSplatValue<bool>());
  double value = elements.getSplatValue<APFloat>().convertToDouble();
  return b.getF32FloatAttr(value);
}

Buffer *Emitter::takeOver(Value tile, Operation *op) {
  Buffer *buffer = home(tile);
  if (buffer && !buffer->reserved && BufferPool::isVacatedBy(*buffer, op)) {
    buffer->reserved = true;
    claims.push_back(buffer);
    return buffer;
  }
  buffer = claim(bufferType(cast<RankedTensorType>(tile.getType())), op);
  emitMove(tile, buffer);
  return buffer;
}

Buffer *Emitter::readable(Value tile, Operation *op) {
  if (Buffer *buffer = home(tile))
    return buffer;
  Buffer *buffer =
      claim(bufferType(cast<RankedTensorType>(tile.getType())), op);
  emitMove(tile, buffer);
  return buffer;
}

void Emitter::emitMove(Value tile, Buffer *to) {
  if (std::optional<TypedAttr> value = splat(tile))
    return emitFill(to->memref, *value);
  memref::CopyOp::create(b, home(tile)->memref, to->memref);
}

/// Moves that happen at once: first those whose target no other one reads; a
/// cycle is broken by setting one source aside.
void Emitter::emitMoves(SmallVector<Move> moves, Operation *at) {
  DenseMap<Value, Buffer *> aside;
  auto source = [&](Value tile) {
    Buffer *moved = aside.lookup(tile);
    return moved ? moved : home(tile);
  };
  llvm::erase_if(moves, [&](Move &m) { return home(m.tile) == m.to; });
  while (!moves.empty()) {
    auto *ready = llvm::find_if(moves, [&](Move &m) {
      return llvm::none_of(moves, [&](Move &other) {
        return &other != &m && source(other.tile) == m.to;
      });
    });
    if (ready == moves.end()) {
      Value tile = moves.front().tile;
      Buffer *spare = claim(moves.front().to->type, at);
      emitMove(tile, spare);
      aside[tile] = spare;
      continue;
    }
    if (Buffer *moved = aside.lookup(ready->tile))
      memref::CopyOp::create(b, moved->memref, ready->to->memref);
    else
      emitMove(ready->tile, ready->to);
    moves.erase(ready);
  }
}

void Emitter::emitFill(Value memref, TypedAttr value) {
  auto type = cast<MemRefType>(memref.getType());
  VectorType vector = vectorOf(type.getElementType());
  Value lane = arith::ConstantOp::create(
      b, DenseElementsAttr::get(vector, Attribute(value)));
  if (type.getRank() == 1)
    return loop(type.getDimSize(0), lanes,
                [&](Value r) { storeVector(lane, memref, {r}); });
  loop(type.getDimSize(0), 1, [&](Value r) {
    loop(type.getDimSize(1), lanes,
         [&](Value c) { storeVector(lane, memref, {r, c}); });
  });
}

} // namespace flashc::cpu
