// Part of convert-tile-to-cpu: row reductions. Vectors are folded as a tree
// first and their lanes last, halving them; the order of a fold is free
// (tile.reduce).
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

/// The greater one as `a > b ? a : b`: one instruction on x86, where
/// arith.maximumf is five. A NaN score is then not the maximum, but its own
/// exponential still makes its row NaN.
Value Emitter::combine(Value a, Value other, tile::ReduceKind kind) {
  if (kind == tile::ReduceKind::Add)
    return arith::AddFOp::create(b, a, other);
  Value more = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, a, other);
  return arith::SelectOp::create(b, more, a, other);
}

Value Emitter::foldLanes(Value vector, tile::ReduceKind kind) {
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    auto part = [&](int64_t from) -> Value {
      return vector::ExtractStridedSliceOp::create(
          b, vector, ArrayRef<int64_t>{from}, ArrayRef<int64_t>{half},
          ArrayRef<int64_t>{1});
    };
    vector = combine(part(0), part(half), kind);
  }
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{0});
}

void Emitter::emitReduce(tile::ReduceOp op) {
  Value tile = readable(op.getTile(), op)->memref;
  Buffer *result = takeOver(op.getInit(), op);
  auto type = cast<MemRefType>(tile.getType());
  tile::ReduceKind kind = op.getKind();
  // Vectors folded at once: the greatest number up to 8 that divides a row.
  int64_t vectors = type.getDimSize(1) / lanes,
          group = std::min<int64_t>(vectors, 8);
  while (vectors % group)
    --group;

  loop(type.getDimSize(0), 1, [&](Value r) {
    auto fold = [&](Value column) {
      SmallVector<Value> parts;
      for (int64_t v = 0; v < group; ++v)
        parts.push_back(loadVector(tile, {r, add(column, index(v * lanes))}));
      for (; parts.size() > 1; parts.erase(parts.begin(), parts.begin() + 2))
        parts.push_back(combine(parts[0], parts[1], kind));
      return parts.front();
    };
    Value row = fold(index(0));
    if (group < vectors) {
      auto rest = scf::ForOp::create(
          b, index(group * lanes), index(vectors * lanes), index(group * lanes),
          row, [&](OpBuilder &, Location, Value column, ValueRange carried) {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(column.getParentBlock());
            scf::YieldOp::create(b, combine(fold(column), carried[0], kind));
          });
      row = rest.getResult(0);
    }
    Value init = memref::LoadOp::create(b, result->memref, r);
    memref::StoreOp::create(b, combine(foldLanes(row, kind), init, kind),
                            result->memref, r);
  });
  settle(op.getResult(), result);
}

void Emitter::emitAny(tile::AnyOp op) {
  Value conditions = readable(op.getConditions(), op)->memref;
  auto type = cast<MemRefType>(conditions.getType());
  VectorType bytes = vectorOf(b.getI8Type());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(bytes));
  // The disjunction of what `next` gives for 0, step, .. below `count`.
  auto disjoin = [&](int64_t count, int64_t step, Value init,
                     function_ref<Value(Value, Value)> next) -> Value {
    auto loop = scf::ForOp::create(
        b, index(0), index(count), index(step), init,
        [&](OpBuilder &, Location, Value at, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(at.getParentBlock());
          scf::YieldOp::create(b, next(at, carried[0]));
        });
    return loop.getResult(0);
  };
  auto disjoinLanes = [&](SmallVector<Value> outer, Value init) {
    return disjoin(type.getShape().back(), lanes, init,
                   [&](Value at, Value carried) -> Value {
                     SmallVector<Value> position = outer;
                     position.push_back(at);
                     return arith::OrIOp::create(
                         b, carried, loadVector(conditions, position));
                   });
  };
  Value all =
      type.getRank() == 1
          ? disjoinLanes({}, none)
          : disjoin(type.getDimSize(0), 1, none, [&](Value row, Value carried) {
              return disjoinLanes({row}, carried);
            });
  Value some = vector::ReductionOp::create(b, vector::CombiningKind::OR, all);
  Value zero = arith::ConstantOp::create(b, b.getI8IntegerAttr(0));
  scalars.map(op.getResult(),
              arith::CmpIOp::create(b, arith::CmpIPredicate::ne, some, zero)
                  .getResult());
}

Value Emitter::emitAnyOf(Value tile,
                         llvm::function_ref<Value(Value, Value)> test) {
  auto type = cast<MemRefType>(tile.getType());
  auto fold = [&](int64_t end, int64_t step, Value init,
                  llvm::function_ref<Value(Value, Value)> body) -> Value {
    auto all = scf::ForOp::create(
        b, index(0), index(end), index(step), init,
        [&](OpBuilder &, Location, Value at, ValueRange carried) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(at.getParentBlock());
          scf::YieldOp::create(b, body(at, carried[0]));
        });
    return all.getResult(0);
  };
  VectorType bits = vectorOf(b.getI1Type());
  Value none = arith::ConstantOp::create(b, b.getZeroAttr(bits));
  Value some = fold(type.getDimSize(0), 1, none, [&](Value row, Value rows) {
    return fold(type.getDimSize(1), lanes, rows,
                [&](Value column, Value to) -> Value {
                  Value vector = loadVector(tile, {row, column});
                  return arith::OrIOp::create(b, to, test(row, vector));
                });
  });
  return vector::ReductionOp::create(b, vector::CombiningKind::OR, some);
}

void Emitter::emitAnyAbove(tile::AnyAboveOp op) {
  Value tile = readable(op.getScores(), op)->memref;
  Value limits = readable(op.getLimits(), op)->memref;
  VectorType floats = vectorOf(b.getF32Type());
  Value floor;
  if (auto value = op.getFloorAttr())
    floor = arith::ConstantOp::create(
        b, DenseElementsAttr::get(floats, value.getValue()));
  Value any = emitAnyOf(tile, [&](Value row, Value scores) -> Value {
    Value limit = memref::LoadOp::create(b, limits, row);
    limit = vector::BroadcastOp::create(b, floats, limit);
    Value is =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, scores, limit);
    if (!floor)
      return is;
    Value isBelow =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, scores, floor);
    return arith::OrIOp::create(b, is, isBelow);
  });
  scalars.map(op.getResult(), any);
}

void Emitter::emitAnyNotFinite(tile::AnyNotFiniteOp op) {
  Value tile = readable(op.getTile(), op)->memref;
  VectorType floats = vectorOf(b.getF32Type());
  Value infinity = arith::ConstantOp::create(
      b,
      DenseElementsAttr::get(floats, std::numeric_limits<float>::infinity()));
  Value any = emitAnyOf(tile, [&](Value, Value elements) -> Value {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::UEQ,
                                 math::AbsFOp::create(b, elements), infinity);
  });
  scalars.map(op.getResult(), any);
}

} // namespace flashc::cpu
