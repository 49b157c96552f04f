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

// A row from this lane's column on. One past the end is read as row 0, and what
// is read dropped.
KernelEmitter::FetchRow KernelEmitter::fetchRow(const FetchSource &source,
                                                Value row, Value column) {
  Value inside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, source.end);
  row = arith::SelectOp::create(b, inside, row, i32(0));
  Value offset = arith::AddIOp::create(
      b, arith::MulIOp::create(b, wide(row), source.view.strides[2]),
      arith::AddIOp::create(b, source.start, wide(column)));
  return {elementAddress(source.view, offset), inside,
          source.view.type.getDimSize(3)};
}

// One element, or a pair that starts at an even column; zero outside. Head dims
// are multiples of 8, so that all lanes of a step of 8 are in or out.
Value KernelEmitter::fetch(const FetchRow &row, int64_t column, Type type) {
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(type, 0));
  if (column >= row.columns)
    return zero;
  Value loaded = LLVM::LoadOp::create(b, type, gep(row.start, 2 * column));
  return arith::SelectOp::create(b, row.inside, loaded, zero);
}

/// Whether the tile is the left operand of scores alone. These are then made in
/// steps of the head dim, a few registers at a time.
static bool isReadInSteps(warp::FetchOp op) {
  auto view = cast<MemRefType>(op.getView().getType());
  return view.getDimSize(3) == op.getFragment().getType().getShape()[1] &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           auto product = dyn_cast<warp::MmaFetchOp>(user);
           return product && product.getTransposeB() && !product.getGuarded();
         });
}

void KernelEmitter::emitFetch(warp::FetchOp op) {
  if (isReadInSteps(op))
    return;
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, grid());
  FetchSource source =
      fetchSource(op.getView(), op.getBatch(), op.getHead(), op.getLimit());
  Value first = rowOrigin(op.getRow(), type);
  Value pair =
      arith::ShLIOp::create(b, arith::AndIOp::create(b, lane, i32(3)), i32(1));
  Registers out(layout.registers(/*packed=*/true));
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      FetchRow row = fetchRow(
          source, arith::AddIOp::create(b, first, i32(rowTile * 16 + half * 8)),
          pair);
      for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
        out[layout.pair(rowTile, tile, half)] =
            fetch(row, tile * 8, b.getI32Type());
    }
  fragments[op.getFragment()] = out;
}

// The rows of a right operand that this lane reads: of each 8, one of K, or two
// of V that stand in one register.
SmallVector<KernelEmitter::FetchRow>
KernelEmitter::fetchRows(const FetchSource &source, Value first, int64_t count,
                         bool transposeB) {
  Value eighth = arith::ShRUIOp::create(b, lane, i32(2));
  Value pair =
      arith::ShLIOp::create(b, arith::AndIOp::create(b, lane, i32(3)), i32(1));
  Value column = transposeB ? pair : eighth;
  Value own = arith::AddIOp::create(b, first, transposeB ? eighth : pair);
  SmallVector<FetchRow> rows;
  for (int64_t row = 0; row < count; row += 8)
    for (int64_t next = 0; next < (transposeB ? 1 : 2); ++next)
      rows.push_back(fetchRow(
          source, arith::AddIOp::create(b, own, i32(row + next)), column));
  return rows;
}

// As loadOperandB: columns n to n + 15 and k to k + 15 of the product, with the
// two halves of k of each of the two tiles of n.
SmallVector<Value> KernelEmitter::fetchOperandB(ArrayRef<FetchRow> rows,
                                                int64_t n, int64_t k,
                                                bool transposeB) {
  Registers out;
  for (int64_t side : {0, 8})
    for (int64_t half : {0, 8}) {
      if (transposeB) {
        out.push_back(fetch(rows[(n + side) / 8], k + half, b.getI32Type()));
        continue;
      }
      size_t row = (k + half) / 8 * 2;
      Value low = fetch(rows[row], n + side, b.getI16Type());
      Value high = fetch(rows[row + 1], n + side, b.getI16Type());
      Value upper = arith::ShLIOp::create(
          b, arith::ExtUIOp::create(b, b.getI32Type(), high), i32(16));
      out.push_back(arith::OrIOp::create(
          b, upper, arith::ExtUIOp::create(b, b.getI32Type(), low)));
    }
  return out;
}

// acc + Q K^T, both from global memory: a loop, whose bound nobody knows to
// unroll it by.
void KernelEmitter::emitScoresFetch(warp::FetchOp queries,
                                    warp::MmaFetchOp op) {
  auto lhs = cast<warp::FragmentType>(queries.getFragment().getType());
  auto result = cast<warp::FragmentType>(op.getResult().getType());
  FragmentLayout layout(result, grid());
  int64_t depth = lhs.getShape()[1], step = 64;
  while (depth % step)
    step -= 16;
  Value pair =
      arith::ShLIOp::create(b, arith::AndIOp::create(b, lane, i32(3)), i32(1));
  FetchSource left = fetchSource(queries.getView(), queries.getBatch(),
                                 queries.getHead(), queries.getLimit());
  FetchSource right =
      fetchSource(op.getView(), op.getBatch(), op.getHead(), op.getLimit());
  Value first = rowOrigin(queries.getRow(), lhs);
  SmallVector<FetchRow> leftRows;
  for (int64_t row = 0; row < layout.rowTiles * 16; row += 8)
    leftRows.push_back(
        fetchRow(left, arith::AddIOp::create(b, first, i32(row)), pair));
  SmallVector<FetchRow> rightRows =
      fetchRows(right, toI32(scalar(op.getRow())), result.getShape()[1],
                /*transposeB=*/true);
  Value end = inlineAsm(b.getI32Type(), fmt::format("mov.u32 $0, {};", depth),
                        "=r", {});
  auto loop =
      scf::ForOp::create(b, i32(0), end, i32(step), fragments[op.getAcc()]);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value bytes =
        wide(arith::ShLIOp::create(b, loop.getInductionVar(), i32(1)));
    for (SmallVector<FetchRow> *rows : {&leftRows, &rightRows})
      for (FetchRow &row : *rows)
        row.start = gep(row.start, bytes);
    Registers acc(loop.getRegionIterArgs());
    for (int64_t k = 0; k < step; k += 16) {
      SmallVector<Registers> as(layout.rowTiles);
      for (int64_t tile = 0; tile < layout.rowTiles; ++tile)
        for (int64_t half : {0, 8})
          for (int64_t side : {0, 1})
            as[tile].push_back(
                fetch(leftRows[2 * tile + side], k + half, b.getI32Type()));
      for (int64_t n = 0; n < result.getShape()[1]; n += 16) {
        Registers bs = fetchOperandB(rightRows, n, k, /*transposeB=*/true);
        for (int64_t tile = 0; tile < layout.rowTiles; ++tile)
          for (int64_t side : {0, 1})
            multiply(&acc[layout.element(tile, n / 8 + side, 0, 0)], as[tile],
                     ArrayRef(bs).slice(2 * side, 2), lhs.getElementType());
      }
    }
    scf::YieldOp::create(b, acc);
  }
  fragments[op.getResult()] = Registers(loop.getResults());
}

void KernelEmitter::emitMmaFetch(warp::MmaFetchOp op) {
  auto queries = op.getLhs().getDefiningOp<warp::FetchOp>();
  if (queries && isReadInSteps(queries))
    return emitScoresFetch(queries, op);
  auto lhs = cast<warp::FragmentType>(op.getLhs().getType());
  auto result = cast<warp::FragmentType>(op.getResult().getType());
  FragmentLayout layout(result, grid());
  FragmentLayout lhsLayout(lhs, grid());
  FetchSource source =
      fetchSource(op.getView(), op.getBatch(), op.getHead(), op.getLimit());
  int64_t keys = op.getTransposeB() ? result.getShape()[1] : lhs.getShape()[1];
  SmallVector<FetchRow> rows =
      fetchRows(source, toI32(scalar(op.getRow())), keys, op.getTransposeB());
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
      Registers bs = fetchOperandB(rows, n, k, op.getTransposeB());
      if (guarded)
        cleanOperandB(bs, element, badKeys);
      for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
        for (int64_t side : {0, 1})
          multiply(&acc[layout.element(rowTile, n / 8 + side, 0, 0)],
                   as[rowTile], ArrayRef(bs).slice(2 * side, 2), element);
    }
    if (guarded)
      markRows(as, ofAllColumns(badKeys), badRows);
  }
  if (guarded)
    poisonRows(layout, badRows, acc);
  fragments[op.getResult()] = acc;
}
