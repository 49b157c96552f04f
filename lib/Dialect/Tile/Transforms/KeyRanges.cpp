//===- KeyRanges.cpp - Interval analysis of masks -------------------------===//
//
// Used by tile-split-loops. In: a tile.mask, i.e. a union of sets of
// inequalities r*i + k*j + ... >= 0 with k in {-1, 0, 1}. Each inequality
// bounds the key j from one side; over the rows of a query block its weakest
// and its tightest bound stand at the first or at the last row, by the sign of
// r. The weakest bounds of a set give the keys that some row may see, the
// tightest those that every row sees. For a transposed mask keys and rows
// change places: a key block is fixed, and the loop is over query blocks.
//
//===----------------------------------------------------------------------===//
#include "KeyRanges.h"

#include "flashc/Dialect/Tile/IR/AffineSets.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace flashc::tile {
namespace {
/// Whether `value` is known not to be negative: lengths and their products.
bool isNonNegative(Value value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value))
    return *constant >= 0;
  Operation *def = value.getDefiningOp();
  if (!def)
    return false;
  if (isa<memref::DimOp, ProgramOp, OwnRowsOp, arith::DivUIOp>(def))
    return true;
  if (isa<arith::MaxSIOp>(def))
    return llvm::any_of(def->getOperands(), isNonNegative);
  if (isa<arith::MinSIOp, arith::AddIOp, arith::MulIOp>(def))
    return llvm::all_of(def->getOperands(), isNonNegative);
  return false;
}

class RangeBuilder {
public:
  RangeBuilder(ImplicitLocOpBuilder &b, MaskOp mask, RowRange rows,
               BlockRange loop);
  KeyRanges build();

private:
  enum class Over { SomeRow, EveryRow };
  SmallVector<LinearInequality> getInequalities(IntegerSet set);
  BlockRange buildSetRange(ArrayRef<LinearInequality> set, Over over);
  Value buildBound(const LinearInequality &e, int64_t sign, Over over);
  BlockRange buildHull(ArrayRef<BlockRange> ranges);
  BlockRange buildLargest(ArrayRef<BlockRange> ranges);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(x, y); }
  Value mul(Value x, int64_t c) {
    return b.createOrFold<arith::MulIOp>(x, index(c));
  }
  Value min(Value x, Value y) {
    return x == y ? x : b.createOrFold<arith::MinSIOp>(x, y);
  }
  Value max(Value x, Value y);
  Value floorBlocks(Value keys) {
    return b.createOrFold<arith::DivUIOp>(keys, index(blockKeys));
  }
  Value ceilBlocks(Value keys) {
    return floorBlocks(add(keys, index(blockKeys - 1)));
  }
  bool endsAt(Value keys);

  ImplicitLocOpBuilder &b;
  MaskOp mask;
  BlockRange loop;
  int64_t blockKeys;
  Value firstRow, endRow;
};

RangeBuilder::RangeBuilder(ImplicitLocOpBuilder &b, MaskOp mask, RowRange rows,
                           BlockRange loop)
    : b(b), mask(mask), loop(loop), blockKeys(mask.getType().getDimSize(1)),
      firstRow(rows.first), endRow(rows.end) {}

Value RangeBuilder::max(Value x, Value y) {
  if (x == y || (isNonNegative(x) && isConstantIntValue(y, 0)))
    return x;
  return b.createOrFold<arith::MaxSIOp>(x, y);
}

/// Whether the loop itself already ends with the block that holds the last of
/// `keys`: its bound is ceil(keys / block) as convert-attn-to-tile writes it.
bool RangeBuilder::endsAt(Value keys) {
  auto blocks = loop.hi.getDefiningOp<arith::DivUIOp>();
  if (!blocks || !isConstantIntValue(blocks.getRhs(), blockKeys))
    return false;
  auto rounded = blocks.getLhs().getDefiningOp<arith::AddIOp>();
  return rounded && rounded.getLhs() == keys &&
         isConstantIntValue(rounded.getRhs(), blockKeys - 1);
}

/// sign * (row * i + symbols + constant) at the row where the inequality is
/// weakest (SomeRow) or tightest (EveryRow). It is weakest where row * i is
/// largest, whatever the side it bounds.
Value RangeBuilder::buildBound(const LinearInequality &e, int64_t sign,
                               Over over) {
  bool atLast = (e.row > 0) == (over == Over::SomeRow);
  Value sum;
  auto addTerm = [&](Value value, int64_t coefficient) {
    int64_t c = sign * coefficient;
    if (c == 0)
      return;
    if (sum && c == -1)
      sum = sub(sum, value);
    else
      sum = sum ? add(sum, c == 1 ? value : mul(value, c))
                : (c == 1 ? value : mul(value, c));
  };
  if (e.row != 0)
    addTerm(atLast ? endRow : firstRow, e.row);
  for (auto [symbol, coefficient] : llvm::zip(mask.getSymbols(), e.symbols))
    if (sign * coefficient > 0) // first, so that no negation is needed
      addTerm(symbol, coefficient);
  for (auto [symbol, coefficient] : llvm::zip(mask.getSymbols(), e.symbols))
    if (sign * coefficient < 0)
      addTerm(symbol, coefficient);
  // The last row is endRow - 1. Keys are counted to an exclusive end: j <= e is
  // j < e + 1.
  int64_t constant =
      sign * (e.constant - (atLast ? e.row : 0)) + (e.key < 0 ? 1 : 0);
  if (!sum)
    return index(constant);
  return constant == 0 ? sum : add(sum, index(constant));
}

/// Those of a set, with `key` for what the loop is over.
SmallVector<LinearInequality> RangeBuilder::getInequalities(IntegerSet set) {
  SmallVector<LinearInequality> list = getLinearInequalities(set);
  if (mask.getTransposed())
    for (LinearInequality &e : list)
      std::swap(e.row, e.key);
  return list;
}

/// The blocks of one set, inside the loop's range.
BlockRange RangeBuilder::buildSetRange(ArrayRef<LinearInequality> set,
                                       Over over) {
  Value begin, end, rowsInside;
  bool loopEndKnown = false;
  for (const LinearInequality &e : set) {
    if (e.key < 0) {
      Value bound = buildBound(e, 1, over);
      loopEndKnown |= endsAt(bound);
      end = end ? min(end, bound) : bound;
    } else if (e.key > 0) {
      Value bound = buildBound(e, -1, over);
      begin = begin ? max(begin, bound) : bound;
    } else {
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                           buildBound(e, 1, over), index(0));
      rowsInside = rowsInside
                       ? Value(arith::AndIOp::create(b, rowsInside, inside))
                       : inside;
    }
  }
  bool some = over == Over::SomeRow;
  BlockRange range = loop;
  if (begin) {
    begin = max(begin, index(0));
    range.lo = max(some ? floorBlocks(begin) : ceilBlocks(begin), loop.lo);
  }
  if (end) {
    end = max(end, index(0));
    range.hi = some ? ceilBlocks(end) : floorBlocks(end);
    if (!loopEndKnown)
      range.hi = min(range.hi, loop.hi);
  }
  if (rowsInside)
    range.hi = arith::SelectOp::create(b, rowsInside, range.hi, range.lo);
  return range;
}

/// The least range around all of them; empty ones do not count.
BlockRange RangeBuilder::buildHull(ArrayRef<BlockRange> ranges) {
  BlockRange hull = ranges[0];
  if (llvm::all_of(ranges, [&](BlockRange r) { return r.lo == loop.lo; })) {
    for (BlockRange range : ranges.drop_front())
      hull.hi = max(hull.hi, range.hi);
    return hull;
  }
  if (ranges.size() == 1)
    return hull;
  hull = {};
  for (BlockRange range : ranges) {
    Value some =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, range.lo, range.hi);
    Value lo = b.createOrFold<arith::SelectOp>(some, range.lo, loop.hi);
    Value hi = b.createOrFold<arith::SelectOp>(some, range.hi, loop.lo);
    hull.lo = hull.lo ? min(hull.lo, lo) : lo;
    hull.hi = hull.hi ? max(hull.hi, hi) : hi;
  }
  return hull;
}

/// The one with the most blocks: a union of full ranges need not be a range.
BlockRange RangeBuilder::buildLargest(ArrayRef<BlockRange> ranges) {
  BlockRange best = ranges[0];
  for (BlockRange range : ranges.drop_front()) {
    Value larger =
        arith::CmpIOp::create(b, arith::CmpIPredicate::sgt,
                              sub(range.hi, range.lo), sub(best.hi, best.lo));
    best.lo = b.createOrFold<arith::SelectOp>(larger, range.lo, best.lo);
    best.hi = b.createOrFold<arith::SelectOp>(larger, range.hi, best.hi);
  }
  return best;
}

KeyRanges RangeBuilder::build() {
  if (mask.getSets().empty())
    return {{loop.lo, loop.lo}, {loop.lo, loop.lo}};
  SmallVector<BlockRange> any, full;
  bool bounded = false; // some set has a lower bound
  for (Attribute attr : mask.getSets()) {
    auto set = getInequalities(cast<IntegerSetAttr>(attr).getValue());
    bounded |= llvm::any_of(set, [](auto &e) { return e.key > 0; });
    any.push_back(buildSetRange(set, Over::SomeRow));
    full.push_back(buildSetRange(set, Over::EveryRow));
  }
  KeyRanges ranges{buildHull(any), buildLargest(full)};
  // Without a lower bound all ranges start together and the order holds
  // already.
  if (bounded) {
    ranges.any.lo = min(ranges.any.lo, ranges.any.hi);
    ranges.full.lo = min(max(ranges.full.lo, ranges.any.lo), ranges.any.hi);
    ranges.full.hi = min(max(ranges.full.hi, ranges.full.lo), ranges.any.hi);
  } else {
    ranges.any.hi = max(ranges.any.hi, loop.lo);
    ranges.full.hi = max(ranges.full.hi, loop.lo);
  }
  return ranges;
}
} // namespace

KeyRanges buildKeyRanges(ImplicitLocOpBuilder &b, MaskOp mask, RowRange rows,
                         BlockRange loop) {
  return RangeBuilder(b, mask, rows, loop).build();
}
} // namespace flashc::tile
