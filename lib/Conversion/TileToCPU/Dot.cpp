// Part of convert-tile-to-cpu: products. The right factor is packed once a
// block into panels of a few vectors a row (K is transposed on the way), so
// that both products run one micro-kernel: rows x vectors accumulators in
// registers, one broadcast a row and one load a vector for each k.
// A masked key has weight 0 and must not reach the result even if its V is NaN
// or infinite. So P V is looked after: where some V is not finite, products
// with a zero are left out one by one. K needs no care: its scores are replaced
// by -inf, not multiplied.
#include "Emitter.h"

using namespace mlir;

namespace flashc::cpu {

Blocking chooseBlocking(int64_t m, int64_t n, int64_t lanes) {
  // AVX-512 has 32 vector registers, AVX2 and SSE have 16.
  const int64_t registers = lanes >= 16 ? 32 : 16;
  Blocking best{1, 1};
  auto gain = [](Blocking s) {
    return double(s.rows * s.vectors) / double(s.rows + s.vectors);
  };
  for (int64_t rows = 1; rows <= 8; rows *= 2)
    for (int64_t vectors = 1; vectors * lanes <= n; ++vectors) {
      // Accumulators, one row of the panel, one broadcast.
      bool fits = rows * vectors + vectors + 1 <= registers;
      if (m % rows || n % (vectors * lanes) || !fits)
        continue;
      if (Blocking shape{rows, vectors}; gain(shape) > gain(best))
        best = shape;
    }
  return best;
}

static Blocking blockingOf(tile::DotOp op, int64_t lanes) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  return chooseBlocking(type.getDimSize(0), type.getDimSize(1), lanes);
}

/// panels x K x (vectors * lanes)
MemRefType Emitter::packedType(tile::DotOp op) {
  auto result = cast<RankedTensorType>(op.getResult().getType());
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  int64_t depth = lhs.getDimSize(op.getTransposeA() ? 0 : 1);
  int64_t width = blockingOf(op, lanes).vectors * lanes;
  return MemRefType::get({result.getDimSize(1) / width, depth, width},
                         b.getF32Type());
}

tile::DotOp Emitter::onlyPackedFor(Value tile) {
  // What a loop carries is as it was computed.
  if (!tile.getDefiningOp())
    return {};
  tile::DotOp first;
  for (OpOperand &use : tile.getUses()) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    if (!dot || &use != &dot.getRhsMutable())
      return {};
    if (first && (packedType(dot) != packedType(first) ||
                  dot.getTransposeB() != first.getTransposeB()))
      return {};
    first = dot;
  }
  return first;
}

LogicalResult Emitter::emitDot(tile::DotOp op) {
  auto reserve = [&](Buffer *buffer) {
    if (!buffer->reserved)
      claims.push_back(buffer);
    buffer->reserved = true;
    return buffer;
  };
  Buffer *lhs = reserve(readable(op.getLhs(), op));
  Buffer *rhs = reserve(readable(op.getRhs(), op));
  if (!onlyPackedFor(op.getRhs()) || !home(op.getRhs())) {
    Buffer *packed = claim(packedType(op), op);
    if (op.getTransposeB())
      emitPackTransposed(rhs->memref, packed->memref);
    else
      emitPack(rhs->memref, packed->memref);
    rhs = packed;
  }
  std::optional<TypedAttr> constant = splat(op.getAcc());
  bool fromZero = constant && cast<FloatAttr>(*constant).getValue().isPosZero();
  Buffer *acc =
      fromZero
          ? claim(bufferType(cast<RankedTensorType>(op.getResult().getType())),
                  op)
          : takeOver(op.getAcc(), op);
  Product product{lhs->memref, rhs->memref, acc->memref,
                  fromZero,    false,       op.getTransposeA()};
  settle(op.getResult(), acc);
  if (op.getTransposeB()) {
    emitProduct(product, blockingOf(op, lanes));
    return success();
  }
  auto branch =
      scf::IfOp::create(b, anyNotFinite(rhs->memref), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  for (bool skipZeros : {true, false}) {
    Block *block = skipZeros ? branch.thenBlock() : branch.elseBlock();
    b.setInsertionPoint(block->getTerminator());
    product.skipZeros = skipZeros;
    emitProduct(product, blockingOf(op, lanes));
  }
  return success();
}

/// 0 * x summed over all of `packed` is a number iff each x is finite.
Value Emitter::anyNotFinite(Value packed) {
  auto type = cast<MemRefType>(packed.getType());
  int64_t width = type.getDimSize(2);
  VectorType vector = vectorOf(b.getF32Type());
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vector));
  SmallVector<Value> sums(width / lanes, zero);
  auto over = [&](int64_t count, ValueRange carried, auto body) {
    return scf::ForOp::create(
        b, index(0), index(count), index(1), carried,
        [&](OpBuilder &, Location, Value i, ValueRange inner) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPointToStart(i.getParentBlock());
          scf::YieldOp::create(b, body(i, inner));
        });
  };
  auto panels =
      over(type.getDimSize(0), sums,
           [&](Value panel, ValueRange outer) -> SmallVector<Value> {
             auto inner = over(
                 type.getDimSize(1), outer, [&](Value k, ValueRange carried) {
                   SmallVector<Value> next;
                   for (auto [v, sum] : llvm::enumerate(carried))
                     next.push_back(vector::FMAOp::create(
                         b, loadVector(packed, {panel, k, index(v * lanes)}),
                         zero, sum));
                   return next;
                 });
             return SmallVector<Value>(inner.getResults());
           });
  Value sum = panels.getResult(0);
  for (Value other : panels.getResults().drop_front())
    sum = arith::AddFOp::create(b, sum, other);
  Value bad = arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, sum, sum);
  return vector::ReductionOp::create(b, vector::CombiningKind::OR, bad);
}

/// sum + left * right; the sum alone where `isZero`, if given, is true.
Value Emitter::addProduct(Value left, Value right, Value sum, Value isZero) {
  Value next = vector::FMAOp::create(b, left, right, sum);
  return isZero ? arith::SelectOp::create(b, isZero, sum, next) : next;
}

/// The loop over K: rows x vectors sums, in registers.
SmallVector<Value> Emitter::emitDepth(const Product &product, Blocking shape,
                                      Value panel, Value row,
                                      ArrayRef<Value> sums) {
  int64_t depth = cast<MemRefType>(product.packed.getType()).getDimSize(1);
  auto body = [&](OpBuilder &, Location, Value k, ValueRange carried) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(k.getParentBlock());
    SmallVector<Value> right, next;
    for (int64_t v = 0; v < shape.vectors; ++v)
      right.push_back(loadVector(product.packed, {panel, k, index(v * lanes)}));
    for (int64_t r = 0; r < shape.rows; ++r) {
      Value at[] = {add(row, index(r)), k};
      if (product.transposed)
        std::swap(at[0], at[1]);
      Value scalar = memref::LoadOp::create(b, product.a, ValueRange(at));
      Value isZero;
      if (product.skipZeros) {
        Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
        isZero =
            arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, scalar, zero);
      }
      Value left =
          vector::BroadcastOp::create(b, vectorOf(b.getF32Type()), scalar);
      for (int64_t v = 0; v < shape.vectors; ++v)
        next.push_back(
            addProduct(left, right[v], carried[r * shape.vectors + v], isZero));
    }
    scf::YieldOp::create(b, next);
  };
  auto loop =
      scf::ForOp::create(b, index(0), index(depth), index(1), sums, body);
  return SmallVector<Value>(loop.getResults());
}

void Emitter::emitProduct(const Product &product, Blocking shape) {
  auto panels = cast<MemRefType>(product.packed.getType());
  int64_t rows = cast<MemRefType>(product.acc.getType()).getDimSize(0);
  Value zero =
      arith::ConstantOp::create(b, b.getZeroAttr(vectorOf(b.getF32Type())));

  loop(panels.getDimSize(0), 1, [&](Value panel) {
    Value column = arith::MulIOp::create(b, panel, index(panels.getDimSize(2)));
    loop(rows, shape.rows, [&](Value row) {
      SmallVector<std::array<Value, 2>> places;
      for (int64_t r = 0; r < shape.rows; ++r)
        for (int64_t v = 0; v < shape.vectors; ++v)
          places.push_back({add(row, index(r)), add(column, index(v * lanes))});
      SmallVector<Value> sums;
      for (ArrayRef<Value> at : places)
        sums.push_back(product.fromZero ? zero : loadVector(product.acc, at));
      sums = emitDepth(product, shape, panel, row, sums);
      for (auto [sum, at] : llvm::zip_equal(sums, places))
        storeVector(sum, product.acc, ArrayRef<Value>(at));
    });
  });
}

/// packed[p, k, w] = plain[k, p * width + w]
void Emitter::emitPack(Value plain, Value packed) {
  auto type = cast<MemRefType>(packed.getType());
  loop(type.getDimSize(0), 1, [&](Value panel) {
    Value column = arith::MulIOp::create(b, panel, index(type.getDimSize(2)));
    loop(type.getDimSize(1), 1, [&](Value k) {
      loop(type.getDimSize(2), lanes, [&](Value w) {
        Value vector = loadVector(plain, {k, add(column, w)});
        storeVector(vector, packed, {panel, k, w});
      });
    });
  });
}

/// packed[p, k, w] = plain[p * width + w, k], a square of vectors at a time
void Emitter::emitPackTransposed(Value plain, Value packed) {
  auto type = cast<MemRefType>(packed.getType());
  loop(type.getDimSize(0), 1, [&](Value panel) {
    Value first = arith::MulIOp::create(b, panel, index(type.getDimSize(2)));
    loop(type.getDimSize(2), lanes, [&](Value w) {
      loop(type.getDimSize(1), lanes, [&](Value k) {
        SmallVector<Value> rows;
        for (int64_t r = 0; r < lanes; ++r)
          rows.push_back(loadVector(plain, {add(add(first, w), index(r)), k}));
        for (auto [i, column] : llvm::enumerate(transpose(rows)))
          storeVector(column, packed, {panel, add(k, index(i)), w});
      });
    });
  });
}

/// Interleaving row i with row i + n/2 turns the index bits (row, column) by
/// one place, so log2(n) rounds exchange the two halves.
SmallVector<Value> Emitter::transpose(SmallVector<Value> rows) {
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes / 2; ++i) {
    low.append({i, lanes + i});
    high.append({lanes / 2 + i, lanes + lanes / 2 + i});
  }
  for (int64_t round = 1; round < lanes; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i)
      for (ArrayRef<int64_t> order : {low, high})
        next.push_back(
            vector::ShuffleOp::create(b, rows[i], rows[i + lanes / 2], order));
    rows = next;
  }
  return rows;
}

} // namespace flashc::cpu
