// Part of convert-tile-to-cpu: maps and scatters. A body is scalar code. What
// depends on the lane (an input of the result's rank, the coordinate along the
// vector, and all that follows) becomes a vector; the rest stays scalar and is
// computed once a row.
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

class MapEmitter {
public:
  MapEmitter(Emitter &e, tile::MapOp op)
      : e(e), b(e.b), inputs(op.getInputs()), origin(op.getOrigin()),
        body(op.getBody().front()) {}
  MapEmitter(Emitter &e, tile::ScatterOp op)
      : e(e), b(e.b), inputs(op.getInputs()), origin(op.getOrigin()),
        body(op.getBody().front()) {}
  LogicalResult emit(ArrayRef<Buffer *> results);
  /// The same without results: `memory` is written instead.
  LogicalResult emitScatter(MemRefType type, Value memory,
                            tile::ScatterKind kind);

private:
  struct Lane {
    Value value;
    bool varying; // a vector with an element for each lane
  };
  LogicalResult emitBody(MemRefType type);
  void makeLoops(MemRefType type);
  void bindInputs();
  void bindCoordinates();
  LogicalResult emitOp(Operation &inner);
  Lane resolve(Value value);
  Value asVector(Value value);
  void emitLoad(memref::LoadOp load);
  bool emitHalfCast(Operation &inner, Lane from);
  void emitResults(ArrayRef<Buffer *> results);
  void bind(Value value, Value to, bool varying) {
    values[value] = {to, varying};
  }
  void at(bool varying) { b.setInsertionPoint(varying ? inLoop : beforeLoop); }

  Emitter &e;
  ImplicitLocOpBuilder &b;
  ValueRange inputs, origin;
  Block &body;
  DenseMap<Value, Lane> values;
  Operation *beforeLoop = nullptr, *inLoop = nullptr;
  /// Where in the tile: (row) or (row, column), the last one that of lane 0.
  SmallVector<Value> position;
};

void MapEmitter::makeLoops(MemRefType type) {
  auto open = [&](int64_t count, int64_t step) {
    auto loop =
        scf::ForOp::create(b, e.index(0), e.index(count), e.index(step));
    position.push_back(loop.getInductionVar());
    beforeLoop = loop;
    inLoop = loop.getBody()->getTerminator();
    b.setInsertionPoint(inLoop);
  };
  if (type.getRank() == 2)
    open(type.getDimSize(0), 1);
  open(type.getShape().back(), e.lanes);
}

void MapEmitter::bindInputs() {
  for (auto [input, arg] : llvm::zip(inputs, body.getArguments())) {
    bool isBit = arg.getType().isInteger(1);
    auto type = cast<RankedTensorType>(input.getType());
    bool varying = false;
    Value value;
    if (auto constant = e.splat(input)) {
      at(false);
      value = arith::ConstantOp::create(b, *constant);
    } else if (type.getRank() == int64_t(position.size())) {
      at(varying = true);
      SmallVector<Value> place(position);
      if (type.getRank() == 2 && type.getDimSize(0) == 1)
        place.front() = e.index(0); // one row for all
      value = e.loadVector(e.home(input)->memref, place);
    } else {
      at(false);
      value =
          memref::LoadOp::create(b, e.home(input)->memref, position.front());
    }
    if (isBit) {
      Type bit = varying ? Type(e.vectorOf(b.getI1Type())) : b.getI1Type();
      value = arith::TruncIOp::create(b, bit, value);
    }
    bind(arg, value, varying);
  }
}

void MapEmitter::bindCoordinates() {
  SmallVector<int64_t> steps;
  for (int64_t i = 0; i < e.lanes; ++i)
    steps.push_back(i);
  for (auto [dim, start] : llvm::enumerate(origin)) {
    bool varying = dim + 1 == position.size();
    at(varying);
    Value value = e.add(e.scalars.lookup(start), position[dim]);
    if (varying) {
      VectorType type = e.vectorOf(b.getIndexType());
      Value step = arith::ConstantOp::create(b, b.getIndexVectorAttr(steps));
      value = e.add(vector::BroadcastOp::create(b, type, value), step);
    }
    bind(body.getArgument(inputs.size() + dim), value, varying);
  }
}

/// What a value of the body, or one from outside of it, has become.
MapEmitter::Lane MapEmitter::resolve(Value value) {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  at(false);
  Lane lane{hold(b, e.scalars.lookup(value)), false};
  values[value] = lane;
  return lane;
}

Value MapEmitter::asVector(Value value) {
  Lane lane = resolve(value);
  if (lane.varying)
    return lane.value;
  at(true);
  return vector::BroadcastOp::create(b, e.vectorOf(lane.value.getType()),
                                     lane.value);
}

/// A captured tensor. Lanes whose indices differ are read one by one, and
/// widened so: a vector of bf16 that is put together from elements takes a
/// conversion that not every machine has.
void MapEmitter::emitLoad(memref::LoadOp load) {
  Value memref = e.scalars.lookup(load.getMemRef());
  bool varying = llvm::any_of(load.getIndices(),
                              [&](Value v) { return resolve(v).varying; });
  auto element = [&](std::optional<int64_t> lane) {
    SmallVector<Value> indices;
    for (Value v : load.getIndices()) {
      Lane index = resolve(v);
      at(varying);
      indices.push_back(
          index.varying
              ? vector::ExtractOp::create(b, index.value, *lane).getResult()
              : index.value);
    }
    at(varying);
    return hold(b, memref::LoadOp::create(b, memref, indices).getResult());
  };
  if (!varying)
    return bind(load, element(std::nullopt), false);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < e.lanes; ++lane)
    elements.push_back(element(lane));
  Type type = e.vectorOf(heldType(load.getType()));
  bind(load, vector::FromElementsOp::create(b, type, elements), true);
}

/// Casts that mean something else for a held 16-bit float.
bool MapEmitter::emitHalfCast(Operation &inner, Lane from) {
  if (inner.getNumOperands() != 1 || inner.getNumResults() != 1)
    return false;
  Type source = inner.getOperand(0).getType(),
       target = inner.getResult(0).getType();
  at(from.varying);
  if (isa<arith::ExtFOp>(inner) && isHalfFloat(source) && target.isF32())
    return bind(inner.getResult(0), from.value, from.varying), true;
  if (isa<arith::TruncFOp>(inner) && isHalfFloat(target) && source.isF32())
    return bind(inner.getResult(0), roundTo(b, from.value, target),
                from.varying),
           true;
  if (!isa<arith::BitcastOp, arith::TruncFOp>(inner) ||
      (!isHalfFloat(source) && !isHalfFloat(target)))
    return false;
  // Through the type itself.
  Value raw = isHalfFloat(source) ? unhold(b, from.value, source) : from.value;
  Type type = from.varying ? Type(e.vectorOf(target)) : target;
  Operation *cast =
      b.create(inner.getLoc(), inner.getName().getIdentifier(), raw, type);
  bind(inner.getResult(0), hold(b, cast->getResult(0)), from.varying);
  return true;
}

LogicalResult MapEmitter::emitOp(Operation &inner) {
  if (auto load = dyn_cast<memref::LoadOp>(inner))
    return emitLoad(load), success();
  if (inner.getNumRegions() || !isMemoryEffectFree(&inner))
    return inner.emitOpError("has no vector form on the CPU; use scalar arith, "
                             "math and memref.load ops in a map");
  bool varying = llvm::any_of(inner.getOperands(),
                              [&](Value v) { return resolve(v).varying; });
  if (inner.getNumOperands() == 1 &&
      emitHalfCast(inner, resolve(inner.getOperand(0))))
    return success();
  IRMapping mapping;
  for (Value operand : inner.getOperands())
    mapping.map(operand, varying ? asVector(operand) : resolve(operand).value);
  at(varying);
  Operation *made = b.clone(inner, mapping);
  for (auto [from, to] :
       llvm::zip_equal(inner.getResults(), made->getResults())) {
    // A constant has its value in an attribute: held like one from outside.
    if (isa<arith::ConstantOp>(inner)) {
      bind(from, hold(b, to), false);
      continue;
    }
    Type held = heldType(from.getType());
    to.setType(varying ? Type(e.vectorOf(held)) : held);
    bind(from,
         isHalfFloat(from.getType()) ? roundTo(b, to, from.getType())
                                     : Value(to),
         varying);
  }
  return success();
}

void MapEmitter::emitResults(ArrayRef<Buffer *> results) {
  Operation *yield = body.getTerminator();
  SmallVector<Value> vectors;
  for (Value value : yield->getOperands())
    vectors.push_back(asVector(value));
  at(true);
  for (auto [vector, buffer] : llvm::zip_equal(vectors, results)) {
    Value bytes = vector;
    if (getElementTypeOrSelf(vector).isInteger(1))
      bytes = arith::ExtUIOp::create(b, e.vectorOf(b.getI8Type()), vector);
    e.storeVector(bytes, buffer->memref, position);
  }
}

LogicalResult MapEmitter::emitBody(MemRefType type) {
  makeLoops(type);
  bindInputs();
  bindCoordinates();
  for (Operation &inner : body.without_terminator())
    if (failed(emitOp(inner)))
      return failure();
  return success();
}

LogicalResult MapEmitter::emit(ArrayRef<Buffer *> results) {
  OpBuilder::InsertionGuard guard(b);
  if (failed(emitBody(results.front()->type)))
    return failure();
  emitResults(results);
  return success();
}

/// Lane after lane: whether, value, indices. Elements are narrowed one by one,
/// as they are widened where they are loaded.
LogicalResult MapEmitter::emitScatter(MemRefType type, Value memory,
                                      tile::ScatterKind kind) {
  OpBuilder::InsertionGuard guard(b);
  if (failed(emitBody(type)))
    return failure();
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  SmallVector<Value> vectors;
  for (Value value : body.getTerminator()->getOperands())
    vectors.push_back(asVector(value));
  at(true);
  for (int64_t lane = 0; lane < e.lanes; ++lane) {
    auto part = [&](Value vector) {
      return vector::ExtractOp::create(b, vector, lane).getResult();
    };
    auto branch = scf::IfOp::create(b, part(vectors[0]));
    OpBuilder::InsertionGuard inBranch(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    SmallVector<Value> place;
    for (Value index : ArrayRef(vectors).drop_front(2))
      place.push_back(part(index));
    Value value = unhold(b, part(vectors[1]), element);
    if (kind == tile::ScatterKind::Add) {
      Value old = memref::LoadOp::create(b, memory, place);
      value = arith::AddFOp::create(b, old, value);
    }
    memref::StoreOp::create(b, value, memory, place);
  }
  return success();
}

LogicalResult Emitter::emitMap(tile::MapOp op) {
  if (op.getNumResults() == 0)
    return success();
  // In the place of an input that nobody needs any more: every element is read
  // before it is written.
  SmallVector<Buffer *> results;
  for (Value result : op.getResults()) {
    MemRefType type = bufferType(cast<RankedTensorType>(result.getType()));
    auto usable = llvm::find_if(op.getInputs(), [&](Value input) {
      Buffer *buffer = home(input);
      return buffer && buffer->type == type && !buffer->reserved &&
             BufferPool::isVacatedBy(*buffer, op);
    });
    results.push_back(usable != op.getInputs().end() ? takeOver(*usable, op)
                                                     : claim(type, op));
  }
  if (failed(MapEmitter(*this, op).emit(results)))
    return failure();
  for (auto [result, buffer] : llvm::zip_equal(op.getResults(), results))
    settle(result, buffer);
  return success();
}

LogicalResult Emitter::emitScatter(tile::ScatterOp op) {
  MemRefType largest;
  for (Value input : op.getInputs()) {
    MemRefType type = bufferType(cast<RankedTensorType>(input.getType()));
    bool larger = !largest || type.getRank() > largest.getRank() ||
                  type.getNumElements() > largest.getNumElements();
    if (larger)
      largest = type;
  }
  return MapEmitter(*this, op).emitScatter(
      largest, scalars.lookup(op.getMemory()), op.getKind());
}

} // namespace flashc::cpu
