// convert-warp-to-nvvm, f32 between global memory and registers: values of
// rows and columns, tiles of sums, and additions to memory. A lane reads and
// writes what it holds of a fragment.
#include "KernelEmitter.h"

#include <fmt/format.h>

using namespace mlir;
using namespace flashc;

// One element, or 0 where it is not inside.
static Value loadIf(ImplicitLocOpBuilder &b, Value address, Value inside) {
  Type f32 = b.getF32Type();
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
  auto branch = scf::IfOp::create(b, TypeRange{f32}, inside, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Value loaded = LLVM::LoadOp::create(b, f32, address, /*alignment=*/4);
  scf::YieldOp::create(b, loaded);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, zero);
  return branch.getResult(0);
}

// Each lane reads its rows or its columns itself: the same line for all warps.
// Columns come in pairs: one load for both where all are inside and a pair does
// not cross its alignment, which is the same for all lanes.
void KernelEmitter::emitLoadValues(warp::LoadValuesOp op) {
  const View &view = views[op.getView()];
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, warps());
  Value row = toI32(scalar(op.getRow())), end = view.sizes[2];
  Value start = headOffset(view, scalar(op.getBatch()), scalar(op.getHead()));
  auto address = [&](Value element) {
    Value offset = arith::MulIOp::create(b, wide(element), view.strides[2]);
    return elementAddress(view, arith::AddIOp::create(b, start, offset));
  };
  auto isInside = [&](Value element) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, element, end);
  };
  auto plus = [&](Value value, int64_t offset) -> Value {
    return arith::AddIOp::create(b, value, i32(offset));
  };
  Registers out;
  if (!layout.isColumns) {
    Value first = rowOrigin(op.getRow(), type);
    forEachElements(type, [&](ArrayRef<ElementPosition> group) {
      Value element = plus(first, group[0].rowTile * 16 + group[0].half * 8);
      out.push_back(loadIf(b, address(element), isInside(element)));
    });
    fragments[op.getFragment()] = out;
    return;
  }
  Value first = columnOrigin(op.getRow(), type), base = address(first);
  Value low = LLVM::PtrToIntOp::create(b, b.getI64Type(), base);
  Value crossing = arith::AndIOp::create(b, low, i64(7));
  Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::sle,
                                        plus(row, type.getShape()[1]), end);
  auto is = [&](Value value, int64_t constant) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value,
                                 i64(constant));
  };
  Value isFast = arith::AndIOp::create(
      b, isWhole,
      arith::AndIOp::create(b, is(crossing, 0), is(view.strides[2], 1)));
  SmallVector<Type> types(layout.columnTiles * 2, b.getF32Type());
  auto branch = scf::IfOp::create(b, types, isFast, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    auto pair = VectorType::get(2, b.getF32Type());
    for (int64_t tile = 0; tile < layout.columnTiles; ++tile) {
      Value both = LLVM::LoadOp::create(b, pair, gep(base, tile * 8 * 4),
                                        /*alignment=*/8);
      for (int64_t column : {0, 1})
        out.push_back(LLVM::ExtractElementOp::create(b, both, i32(column)));
    }
    scf::YieldOp::create(b, out);
    out.clear();
    b.setInsertionPointToStart(branch.elseBlock());
    for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
      for (int64_t column : {0, 1}) {
        Value element = plus(first, tile * 8 + column);
        out.push_back(loadIf(b, address(element), isInside(element)));
      }
    scf::YieldOp::create(b, out);
  }
  fragments[op.getFragment()] =
      Registers(branch.getResults().begin(), branch.getResults().end());
}

// Runs `each` for the lane's part of each row of a tile of f32: the address of
// its first column, whether the row is inside the view, and its place.
void KernelEmitter::forEachRow(const View &view, warp::FragmentType type,
                               Value batch, Value head, Value row,
                               llvm::function_ref<void(const SumRow &)> each) {
  FragmentLayout layout(type, warps());
  Value firstRow = rowOrigin(row, type);
  Value zero = arith::ConstantIndexOp::create(b, 0);
  Value firstColumn = columnOrigin(zero, type);
  Value start = headOffset(view, scalar(batch), scalar(head));
  start = arith::AddIOp::create(b, start, wide(firstColumn));
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value own =
          arith::AddIOp::create(b, firstRow, i32(rowTile * 16 + half * 8));
      Value offset = arith::MulIOp::create(b, wide(own), view.strides[2]);
      Value address =
          elementAddress(view, arith::AddIOp::create(b, start, offset));
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, own,
                                           view.sizes[2]);
      each({address, inside, firstColumn, rowTile, half});
    }
}

// Where columns beyond the view's head dim are padding, each is asked for.
void KernelEmitter::emitLoadSums(warp::LoadSumsOp op) {
  if (op.getPacked())
    return loadPackedSums(op);
  const View &view = views[op.getView()];
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, warps());
  int64_t columns = view.type.getShape()[3], padded = type.getShape()[1];
  Registers out(layout.registers(/*packed=*/false));
  forEachRow(view, type, op.getBatch(), op.getHead(), op.getRow(),
             [&](const SumRow &row) {
               for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
                 for (int64_t column : {0, 1}) {
                   int64_t across = tile * 8 + column;
                   Value valid = insideColumns(row.inside, row.column, across,
                                               padded, columns);
                   out[layout.element(row.rowTile, tile, row.half, column)] =
                       loadIf(b, gep(row.address, across * 4), valid);
                 }
             });
  fragments[op.getFragment()] = out;
}

void KernelEmitter::addInMemory(Value address, int64_t offset, Value value) {
  asmVoid(fmt::format("red.global.add.f32 [$0+{}], $1;", offset),
          "l,f,~{memory}", {address, value});
}

void KernelEmitter::emitAddSums(warp::AddSumsOp op) {
  const View &view = views[op.getView()];
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, warps());
  int64_t columns = view.type.getShape()[3], padded = type.getShape()[1];
  Registers registers = fragments[op.getFragment()];
  Value yes = arith::ConstantOp::create(b, b.getBoolAttr(true));
  forEachRow(
      view, type, op.getBatch(), op.getHead(), op.getRow(),
      [&](const SumRow &row) {
        callWithCondition(row.inside, [&] {
          for (int64_t tile = 0; tile < layout.columnTiles; ++tile)
            for (int64_t column : {0, 1}) {
              int64_t across = tile * 8 + column;
              Value value = registers[layout.element(row.rowTile, tile,
                                                     row.half, column)];
              auto add = [&] { addInMemory(row.address, across * 4, value); };
              Value valid =
                  insideColumns(yes, row.column, across, padded, columns);
              if (valid == yes)
                add();
              else
                callWithCondition(valid, add);
            }
        });
      });
}

LogicalResult KernelEmitter::emitScatter(warp::ScatterOp op) {
  auto type = cast<warp::FragmentType>(op.getInputs().front().getType());
  const View &view = views[op.getMemory()];
  Block &body = op.getBody().front();
  SmallVector<Value, 2> origin;
  for (auto [dim, first] : llvm::enumerate(op.getOrigin()))
    origin.push_back(dim == 0 ? rowOrigin(first, type)
                              : columnOrigin(first, type));
  bool isShared = type.getRank() == 1 && !type.getPartial();
  Value writer = isShared ? isRowWriter(type) : Value();
  auto emitElement = [&](const ElementPosition &at) -> LogicalResult {
    IRMapping map(scalars);
    size_t argument = 0;
    for (Value input : op.getInputs())
      map.map(body.getArgument(argument++), mapInput(input, at));
    for (auto [dim, base] : llvm::enumerate(origin)) {
      int64_t offset = dim == 0 ? at.rowTile * 16 + at.half * 8
                                : at.columnTile * 8 + at.column;
      map.map(body.getArgument(argument++),
              toIndex(arith::AddIOp::create(b, base, i32(offset))));
    }
    for (Operation &inner : body.without_terminator())
      if (failed(emitScalar(&inner, map)))
        return failure();
    auto yielded = llvm::map_to_vector(
        body.getTerminator()->getOperands(),
        [&](Value value) { return map.lookupOrDefault(value); });
    Value inside = yielded[0];
    if (writer)
      inside = arith::AndIOp::create(b, inside, writer);
    callWithCondition(inside, [&] {
      Value offset = i64(0);
      for (auto [index, stride] :
           llvm::zip_equal(ArrayRef(yielded).drop_front(2), view.strides))
        offset = arith::AddIOp::create(
            b, offset, arith::MulIOp::create(b, wide(toI32(index)), stride));
      Value address = elementAddress(view, offset);
      if (op.getKind() == warp::ScatterKind::Set)
        LLVM::StoreOp::create(b, yielded[1], address);
      else
        addInMemory(address, /*offset=*/0, yielded[1]);
    });
    return success();
  };
  bool isOk = true;
  forEachElements(type, [&](ArrayRef<ElementPosition> group) {
    for (const ElementPosition &at : group)
      isOk = isOk && succeeded(emitElement(at));
  });
  return success(isOk);
}
