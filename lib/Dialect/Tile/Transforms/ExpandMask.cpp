//===- ExpandMask.cpp - A mask as comparisons -----------------------------===//
//
// Part of tile-expand-softmax. In: tile.mask. Out: a tile.map that selects
// -inf. What does not depend on the element is computed outside the map;
// inside, a set is one comparison with the least upper bound of j and one with
// its greatest lower bound, both of which depend on the row alone. In a
// transposed mask rows of the tile are keys: there j is i, and the row is j.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Tile/IR/AffineSets.h"
#include "flashc/Dialect/Tile/IR/BuildMap.h"
#include "flashc/Dialect/Tile/Transforms/Patterns.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

#include <limits>

using namespace mlir;

namespace flashc::tile {
namespace {
/// Bounds of one side, `coefficient * i + base`, one base for each coefficient.
using RowBounds = llvm::MapVector<int64_t, Value>;

struct SetBounds {
  RowBounds upper, lower;
  Value always;  // an i1 that does not depend on the element, or null
  RowBounds row; // coefficient * i + base >= 0, where j does not appear
};

class MaskExpander {
public:
  MaskExpander(ImplicitLocOpBuilder &b, MaskOp op) : b(b), op(op) {}
  Value expand();

private:
  Value buildBase(const LinearInequality &e, int64_t sign);
  void tighten(RowBounds &bounds, int64_t coefficient, Value base,
               bool isUpper);
  SetBounds buildOutside(IntegerSet set);
  Value buildBound(const RowBounds &bounds, Value row, bool isUpper);
  Value buildInside(const SetBounds &set, Value row, Value key);
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value conjoin(Value a, Value c) {
    return a ? Value(arith::AndIOp::create(b, a, c)) : c;
  }
  ImplicitLocOpBuilder &b;
  MaskOp op;
};

/// sign * (the symbol terms and the constant).
Value MaskExpander::buildBase(const LinearInequality &e, int64_t sign) {
  Value sum;
  for (auto [symbol, coefficient] : llvm::zip(op.getSymbols(), e.symbols)) {
    int64_t c = sign * coefficient;
    if (c == 0)
      continue;
    if (sum && c == -1) {
      sum = arith::SubIOp::create(b, sum, symbol);
      continue;
    }
    Value term = c == 1 ? symbol : arith::MulIOp::create(b, symbol, index(c));
    sum = sum ? arith::AddIOp::create(b, sum, term) : term;
  }
  int64_t constant = sign * e.constant;
  if (!sum)
    return index(constant);
  return constant == 0 ? sum : arith::AddIOp::create(b, sum, index(constant));
}

void MaskExpander::tighten(RowBounds &bounds, int64_t coefficient, Value base,
                           bool isUpper) {
  auto [entry, isNew] = bounds.insert({coefficient, base});
  if (isNew)
    return;
  entry->second = isUpper
                      ? Value(arith::MinSIOp::create(b, entry->second, base))
                      : Value(arith::MaxSIOp::create(b, entry->second, base));
}

SetBounds MaskExpander::buildOutside(IntegerSet set) {
  SetBounds bounds;
  for (LinearInequality &e : getLinearInequalities(set)) {
    if (op.getTransposed())
      std::swap(e.row, e.key);
    if (e.key < 0) // j <= row * i + base
      tighten(bounds.upper, e.row, buildBase(e, 1), /*isUpper=*/true);
    else if (e.key > 0) // j >= -row * i - base
      tighten(bounds.lower, -e.row, buildBase(e, -1), /*isUpper=*/false);
    else if (e.row != 0)
      tighten(bounds.row, e.row, buildBase(e, 1), /*isUpper=*/true);
    else
      bounds.always = conjoin(
          bounds.always, arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                               buildBase(e, 1), index(0)));
  }
  return bounds;
}

/// The least (greatest) of coefficient * row + base.
Value MaskExpander::buildBound(const RowBounds &bounds, Value row,
                               bool isUpper) {
  Value bound;
  for (auto [coefficient, base] : bounds) {
    Value value = base;
    if (coefficient == -1)
      value = arith::SubIOp::create(b, base, row);
    else if (coefficient != 0) {
      Value term = coefficient == 1
                       ? row
                       : arith::MulIOp::create(b, row, index(coefficient));
      value = arith::AddIOp::create(b, term, base);
    }
    if (!bound)
      bound = value;
    else
      bound = isUpper ? Value(arith::MinSIOp::create(b, bound, value))
                      : Value(arith::MaxSIOp::create(b, bound, value));
  }
  return bound;
}

/// Whether (row, key) lies in the set; null: always.
Value MaskExpander::buildInside(const SetBounds &set, Value row, Value key) {
  Value inside = set.always;
  auto require = [&](arith::CmpIPredicate predicate, Value left, Value right) {
    inside = conjoin(inside, arith::CmpIOp::create(b, predicate, left, right));
  };
  if (Value bound = buildBound(set.row, row, /*isUpper=*/true))
    require(arith::CmpIPredicate::sge, bound, index(0));
  if (Value bound = buildBound(set.lower, row, /*isUpper=*/false))
    require(arith::CmpIPredicate::sge, key, bound);
  if (Value bound = buildBound(set.upper, row, /*isUpper=*/true))
    require(arith::CmpIPredicate::sle, key, bound);
  return inside;
}

Value MaskExpander::expand() {
  SmallVector<SetBounds> sets;
  for (Attribute set : op.getSets())
    sets.push_back(buildOutside(cast<IntegerSetAttr>(set).getValue()));
  Value hidden = buildF32(b, -std::numeric_limits<float>::infinity());
  auto body = [&](ValueRange args) -> SmallVector<Value> {
    Value visible;
    for (const SetBounds &set : sets) {
      Value inside = buildInside(set, args[1], args[2]);
      if (!inside)
        return {args[0]};
      visible =
          visible ? Value(arith::OrIOp::create(b, visible, inside)) : inside;
    }
    if (!visible)
      return {hidden};
    return {arith::SelectOp::create(b, visible, args[0], hidden)};
  };
  SmallVector<Value> origin = {op.getRow(), op.getCol()};
  if (op.getTransposed())
    std::swap(origin[0], origin[1]);
  return buildMap(b, op.getType(), op.getScores(), origin, body)[0];
}

/// s where (i, j) lies in some set, else -inf.
struct ExpandMask : OpRewritePattern<MaskOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MaskOp op,
                                PatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    rewriter.replaceOp(op, MaskExpander(b, op).expand());
    return success();
  }
};
} // namespace

void populateExpandMaskPatterns(RewritePatternSet &patterns) {
  patterns.add<ExpandMask>(patterns.getContext());
}
} // namespace flashc::tile
