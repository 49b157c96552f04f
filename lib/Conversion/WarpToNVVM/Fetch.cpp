// convert-warp-to-nvvm, kernels with roles: tiles that are computed again, read
// from global memory into the operands of mma.sync, each warp by itself.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

/// The rows of one head of a view that may be read.
struct KernelEmitter::FetchSource {
  const View &view;
  Value start; // i64: element offset of the head's row 0
  Value end;   // i32: rows from here on read as zero
};

KernelEmitter::FetchSource KernelEmitter::fetchSource(Value view, Value batch,
                                                      Value head, Value limit) {
  const View &source = views[view];
  Value end = source.sizes[2];
  if (limit)
    end = arith::MinSIOp::create(b, end, toI32(scalar(limit)));
  return {source, headOffset(source, scalar(batch), scalar(head)), end};
}

// One element, or a pair that starts at an even column; zero outside. Outside,
// the view's first element is read and dropped.
Value KernelEmitter::fetch(const FetchSource &source, Value row, Value column,
                           Type type) {
  Value inside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, source.end);
  Value isColumn = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column,
                                         i32(source.view.type.getDimSize(3)));
  inside = arith::AndIOp::create(b, inside, isColumn);
  Value offset = arith::AddIOp::create(
      b, arith::MulIOp::create(b, wide(row), source.view.strides[2]),
      arith::AddIOp::create(b, source.start, wide(column)));
  offset = arith::SelectOp::create(b, inside, offset, i64(0));
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(type, 0));
  Value loaded =
      LLVM::LoadOp::create(b, type, elementAddress(source.view, offset));
  return arith::SelectOp::create(b, inside, loaded, zero);
}

void KernelEmitter::emitFetch(warp::FetchOp op) {
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, kernel.getWarps());
  FetchSource source =
      fetchSource(op.getView(), op.getBatch(), op.getHead(), op.getLimit());
  Value first = rowOrigin(op.getRow(), type);
  Value pair =
      arith::ShLIOp::create(b, arith::AndIOp::create(b, lane, i32(3)), i32(1));
  Registers out(layout.registers(/*packed=*/true));
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
      for (int64_t half : {0, 1})
        out[layout.pair(rowTile, tile, half)] = fetch(
            source,
            arith::AddIOp::create(b, first, i32(rowTile * 16 + half * 8)),
            arith::AddIOp::create(b, pair, i32(tile * 8)), b.getI32Type());
  fragments[op.getFragment()] = out;
}

// As loadOperandB: columns n to n + 15 and k to k + 15 of the product, with the
// two halves of k of each of the two tiles of n.
SmallVector<Value> KernelEmitter::fetchOperandB(const FetchSource &source,
                                                Value row, int64_t n, int64_t k,
                                                bool transposeB) {
  Value eighth = arith::ShRUIOp::create(b, lane, i32(2));
  Value pair =
      arith::ShLIOp::create(b, arith::AndIOp::create(b, lane, i32(3)), i32(1));
  auto add = [&](Value x, int64_t y) -> Value {
    return arith::AddIOp::create(b, x, i32(y));
  };
  Registers out;
  for (int64_t side : {0, 8})
    for (int64_t half : {0, 8}) {
      if (transposeB) {
        Value at = arith::AddIOp::create(b, row, add(eighth, n + side));
        out.push_back(fetch(source, at, add(pair, k + half), b.getI32Type()));
        continue;
      }
      Value at = arith::AddIOp::create(b, row, add(pair, k + half));
      Value column = add(eighth, n + side);
      Value low = fetch(source, at, column, b.getI16Type());
      Value high = fetch(source, add(at, 1), column, b.getI16Type());
      Value upper = arith::ShLIOp::create(
          b, arith::ExtUIOp::create(b, b.getI32Type(), high), i32(16));
      out.push_back(arith::OrIOp::create(
          b, upper, arith::ExtUIOp::create(b, b.getI32Type(), low)));
    }
  return out;
}

void KernelEmitter::emitMmaFetch(warp::MmaFetchOp op) {
  auto lhs = cast<warp::FragmentType>(op.getLhs().getType());
  auto result = cast<warp::FragmentType>(op.getResult().getType());
  FragmentLayout layout(result, kernel.getWarps());
  FragmentLayout lhsLayout(lhs, kernel.getWarps());
  FetchSource source =
      fetchSource(op.getView(), op.getBatch(), op.getHead(), op.getLimit());
  Value row = toI32(scalar(op.getRow()));
  Registers acc = fragments[op.getAcc()], weights = fragments[op.getLhs()];
  Type element = lhs.getElementType();
  bool guarded = op.getGuarded();
  Registers badRows(layout.rowTiles * 2, guarded ? i32(0) : Value());
  for (int64_t k = 0; k < lhs.getShape()[1]; k += 16) {
    Registers badKeys(2, guarded ? i32(0) : Value());
    SmallVector<Registers> as;
    for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile) {
      size_t at = lhsLayout.pair(rowTile, k / 8, 0);
      as.push_back(Registers(weights.begin() + at, weights.begin() + at + 4));
    }
    for (int64_t n = 0; n < result.getShape()[1]; n += 16) {
      Registers bs = fetchOperandB(source, row, n, k, op.getTransposeB());
      if (guarded)
        cleanOperandB(bs, element, badKeys);
      for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
        for (int64_t side : {0, 1})
          multiply(&acc[layout.element(rowTile, n / 8 + side, 0, 0)],
                   as[rowTile], ArrayRef(bs).slice(2 * side, 2), element);
    }
    if (guarded)
      markRows(as, badKeys, badRows);
  }
  if (guarded)
    poisonRows(layout, badRows, acc);
  fragments[op.getResult()] = acc;
}
