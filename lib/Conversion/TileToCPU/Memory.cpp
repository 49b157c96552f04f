// Part of convert-tile-to-cpu: global memory. Rows past the limit and columns
// past the head dim are neither read nor written; they are zero in the tile.
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

LogicalResult Emitter::emitLoad(tile::LoadOp op) {
  if (cast<MemRefType>(op.getView().getType()).getRank() == 3)
    return emitRowValues(op), success();
  emitFetch({scalars.lookup(op.getView()), scalars.lookup(op.getBatch()),
             scalars.lookup(op.getHead()), scalars.lookup(op.getRow()),
             scalars.lookupOrNull(op.getLimit())},
            op.getTile(), op);
  return success();
}

/// Values of rows, as a vector or as a tile of one row; zero from the limit on.
void Emitter::emitRowValues(tile::LoadOp op) {
  auto type = cast<RankedTensorType>(op.getTile().getType());
  Buffer *to = claim(bufferType(type), op);
  Value view = scalars.lookup(op.getView()), row = scalars.lookup(op.getRow());
  int64_t size = type.getShape().back();
  Value count =
      clampedRows(view, row, scalars.lookupOrNull(op.getLimit()), size);
  VectorType vector = vectorOf(b.getF32Type());
  loop(size, lanes, [&](Value c) {
    Value left = arith::SubIOp::create(b, count, c);
    Value mask = vector::CreateMaskOp::create(b, vectorOf(b.getI1Type()), left);
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(vector));
    SmallVector<Value> at{scalars.lookup(op.getBatch()),
                          scalars.lookup(op.getHead()), add(row, c)};
    Value values =
        vector::MaskedLoadOp::create(b, vector, view, at, mask, none);
    SmallVector<Value> place{c};
    if (type.getRank() == 2)
      place.insert(place.begin(), index(0));
    storeVector(values, to->memref, place);
  });
  settle(op.getTile(), to);
}

LogicalResult Emitter::emitNext(tile::NextOp op) {
  auto stream = op.getStream().getDefiningOp<tile::StreamOp>(); // never carried
  Value size =
      index(cast<RankedTensorType>(op.getTile().getType()).getDimSize(0));
  Value row = arith::MulIOp::create(b, scalars.lookup(op.getBlock()), size);
  emitFetch({scalars.lookup(stream.getView()),
             scalars.lookup(stream.getBatch()),
             scalars.lookup(stream.getHead()), row,
             scalars.lookupOrNull(stream.getLimit())},
            op.getTile(), op);
  return success();
}

/// How many of `rows` rows from `row` on are below the limit.
Value Emitter::clampedRows(Value view, Value row, Value limit, int64_t rows) {
  if (!limit)
    limit = memref::DimOp::create(b, view, 2);
  Value left = arith::SubIOp::create(b, limit, row);
  Value some = arith::MaxSIOp::create(b, left, index(0));
  return arith::MinSIOp::create(b, some, index(rows));
}

/// Straight to the form that the products want, where they are the only
/// readers.
void Emitter::emitFetch(const Source &from, Value tile, Operation *op) {
  auto type = cast<RankedTensorType>(tile.getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  tile::DotOp dot = onlyPackedFor(tile);
  if (dot && !dot.getTransposeB()) {
    Buffer *packed = claim(packedType(dot), op);
    int64_t width = packed->type.getDimSize(2);
    emitRows(from, rows, columns, [&](Value row, int64_t column, Value vector) {
      storeVector(vector, packed->memref,
                  {index(column / width), row, index(column % width)});
    });
    return settle(tile, packed);
  }
  Buffer *plain = claim(bufferType(type), op);
  emitRows(from, rows, columns, [&](Value row, int64_t column, Value vector) {
    storeVector(vector, plain->memref, {row, index(column)});
  });
  if (!dot)
    return settle(tile, plain);
  Buffer *packed = claim(packedType(dot), op);
  emitPackTransposed(plain->memref, packed->memref);
  settle(tile, packed);
}

/// The first `count` of the lanes.
static Value firstLanes(ImplicitLocOpBuilder &b, int64_t lanes, int64_t count) {
  SmallVector<bool> mask(lanes, false);
  std::fill_n(mask.begin(), count, true);
  auto type = VectorType::get({lanes}, b.getI1Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, ArrayRef<bool>(mask)));
}

static Value zeroOf(ImplicitLocOpBuilder &b, Type type) {
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

void Emitter::emitRows(const Source &from, int64_t rows, int64_t columns,
                       StoreRow store) {
  auto view = cast<MemRefType>(from.view.getType());
  int64_t dim = view.getDimSize(3);
  VectorType raw = vectorOf(view.getElementType());
  Value count = clampedRows(from.view, from.row, from.limit, rows);
  loop(count, 1, [&](Value r) {
    for (int64_t c = 0; c < columns; c += lanes) {
      if (c >= dim) {
        store(r, c, zeroOf(b, vectorOf(b.getF32Type())));
        continue;
      }
      SmallVector<Value> at{from.batch, from.head, add(from.row, r), index(c)};
      Value vector = c + lanes <= dim
                         ? loadVector(from.view, at)
                         : vector::MaskedLoadOp::create(
                               b, raw, from.view, at,
                               firstLanes(b, lanes, dim - c), zeroOf(b, raw));
      store(r, c, hold(b, vector));
    }
  });
  Value missing = arith::SubIOp::create(b, index(rows), count);
  loop(missing, 1, [&](Value r) {
    for (int64_t c = 0; c < columns; c += lanes)
      store(add(count, r), c, zeroOf(b, vectorOf(b.getF32Type())));
  });
}

LogicalResult Emitter::emitStore(tile::StoreOp op) {
  Buffer *from = readable(op.getTile(), op);
  int64_t rows = from->type.getDimSize(0);
  Value count = clampedRows(scalars.lookup(op.getView()),
                            scalars.lookup(op.getRow()), Value(), rows);
  if (from->type.getRank() == 1)
    emitStoreScalars(from, op, count);
  else
    emitStoreRows(from, op, count);
  return success();
}

void Emitter::emitAccumulate(tile::AccumulateOp op) {
  Buffer *from = readable(op.getTile(), op);
  Value view = scalars.lookup(op.getView()), row = scalars.lookup(op.getRow());
  int64_t dim = cast<MemRefType>(view.getType()).getDimSize(3);
  Value count = clampedRows(view, row, Value(), from->type.getDimSize(0));
  VectorType type = vectorOf(b.getF32Type());
  loop(count, 1, [&](Value r) {
    for (int64_t c = 0; c < dim; c += lanes) {
      Value more = loadVector(from->memref, {r, index(c)});
      SmallVector<Value> at{scalars.lookup(op.getBatch()),
                            scalars.lookup(op.getHead()), add(row, r),
                            index(c)};
      if (c + lanes <= dim) {
        Value sum = arith::AddFOp::create(b, loadVector(view, at), more);
        storeVector(sum, view, at);
        continue;
      }
      Value mask = firstLanes(b, lanes, dim - c);
      Value old = vector::MaskedLoadOp::create(b, type, view, at, mask,
                                               zeroOf(b, type));
      vector::MaskedStoreOp::create(b, view, at, mask,
                                    arith::AddFOp::create(b, old, more));
    }
  });
}

void Emitter::emitStoreScalars(Buffer *from, tile::StoreOp op, Value count) {
  Value view = scalars.lookup(op.getView());
  Type element = cast<MemRefType>(view.getType()).getElementType();
  loop(count, 1, [&](Value r) {
    Value held = memref::LoadOp::create(b, from->memref, r);
    memref::StoreOp::create(b, unhold(b, held, element), view,
                            ValueRange{scalars.lookup(op.getBatch()),
                                       scalars.lookup(op.getHead()),
                                       add(scalars.lookup(op.getRow()), r)});
  });
}

void Emitter::emitStoreRows(Buffer *from, tile::StoreOp op, Value count) {
  Value view = scalars.lookup(op.getView());
  auto type = cast<MemRefType>(view.getType());
  int64_t dim = type.getDimSize(3);
  loop(count, 1, [&](Value r) {
    for (int64_t c = 0; c < dim; c += lanes) {
      Value held = loadVector(from->memref, {r, index(c)});
      Value vector = unhold(b, held, type.getElementType());
      SmallVector<Value> at{scalars.lookup(op.getBatch()),
                            scalars.lookup(op.getHead()),
                            add(scalars.lookup(op.getRow()), r), index(c)};
      if (c + lanes <= dim)
        storeVector(vector, view, at);
      else
        vector::MaskedStoreOp::create(b, view, at,
                                      firstLanes(b, lanes, dim - c), vector);
    }
  });
}

} // namespace flashc::cpu
