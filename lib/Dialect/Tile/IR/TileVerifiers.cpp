// Verifiers of the ops of the `tile` dialect that move blocks, multiply them or
// are the running softmax. Each looks at its own op only.
#include "TileVerifiers.h"

#include "flashc/Dialect/Tile/IR/AffineSets.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <string>

using namespace mlir;
using namespace flashc::tile;

namespace {
LogicalResult checkScale(Operation *op, float scale) {
  if (std::isfinite(scale) && scale > 0)
    return success();
  return op->emitOpError() << "expects a finite scale above 0, but got "
                           << scale << "; multiply the scores by it instead";
}

std::string toString(AffineExpr e) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << e;
  return text;
}

/// A block (rows x columns) that moves between a global view and the chip.
LogicalResult checkBlockOfView(Operation *op, ArrayRef<int64_t> shape,
                               Type element, MemRefType view) {
  if (element != view.getElementType())
    return op->emitOpError()
           << "moves tiles of " << element << " but the view holds "
           << view.getElementType() << "; convert with tile.map";
  int64_t headDim = view.getShape().back();
  if (ShapedType::isDynamic(headDim))
    return op->emitOpError()
           << "expects a view with a constant head dim, but got " << view
           << "; give it";
  if (shape.back() < headDim)
    return op->emitOpError()
           << "expects tiles at least as wide as the view's head dim, but "
           << "they have " << shape.back() << " columns and the head dim is "
           << headDim << "; pad the tile";
  return success();
}
} // namespace

LogicalResult flashc::tile::checkRows(Operation *op, RankedTensorType block,
                                      StringRef blockName,
                                      RankedTensorType rows,
                                      StringRef rowsName) {
  if (block.getDimSize(0) == rows.getDimSize(0))
    return success();
  return op->emitOpError() << "expects one " << rowsName << " per row, but the "
                           << blockName << " have " << block.getDimSize(0)
                           << " rows and the " << rowsName << " has "
                           << rows.getDimSize(0)
                           << "; slice both with the same query block size";
}

LogicalResult flashc::tile::checkStatic(Operation *op) {
  auto isSize = [](int64_t size) { return size >= 1 && size <= kMaxTileSize; };
  auto check = [&](ValueRange values, StringRef what) -> LogicalResult {
    for (auto [i, value] : llvm::enumerate(values))
      if (auto tile = dyn_cast<RankedTensorType>(value.getType());
          tile && !llvm::all_of(tile.getShape(), isSize)) // dynamic is below 0
        return op->emitOpError() << what << " #" << i << " has type " << tile
                                 << ", but tiles have constant sizes of 1 to "
                                 << kMaxTileSize << "; give them";
    return success();
  };
  return success(succeeded(check(op->getOperands(), "operand")) &&
                 succeeded(check(op->getResults(), "result")));
}

/// Values of a 3-D view: one a row, or a row of them.
static LogicalResult checkRowValues(Operation *op, RankedTensorType type,
                                    MemRefType view) {
  if (type.getElementType() != view.getElementType())
    return op->emitOpError() << "moves tiles of " << type.getElementType()
                             << " but the view holds " << view.getElementType()
                             << "; convert with tile.map";
  if (type.getRank() == 1 || (type.getRank() == 2 && type.getDimSize(0) == 1))
    return success();
  return op->emitOpError() << "reads a 3-D view, which has one value a row, as "
                           << type << "; use a tile of rank 1 or of one row";
}

LogicalResult LoadOp::verify() {
  auto type = cast<RankedTensorType>(getTile().getType());
  if (failed(checkStatic(*this)))
    return failure();
  if (cast<MemRefType>(getView().getType()).getRank() == 3)
    return checkRowValues(*this, type, cast<MemRefType>(getView().getType()));
  if (type.getRank() != 2)
    return emitOpError() << "reads a 4-D view as " << type
                         << ", but its blocks have rank 2; load rows x columns";
  return checkBlockOfView(*this, type.getShape(), type.getElementType(),
                          cast<MemRefType>(getView().getType()));
}

LogicalResult StreamOp::verify() {
  StreamType type = getStream().getType();
  return checkBlockOfView(*this, type.getShape(), type.getElementType(),
                          getView().getType());
}

LogicalResult NextOp::verify() {
  StreamType stream = getStream().getType();
  auto expected =
      RankedTensorType::get(stream.getShape(), stream.getElementType());
  if (getTile().getType() != expected)
    return emitOpError() << "gives " << getTile().getType()
                         << ", but the stream's blocks are " << expected
                         << "; use that type";
  return success();
}

LogicalResult StoreOp::verify() {
  auto type = cast<RankedTensorType>(getTile().getType());
  MemRefType view = cast<MemRefType>(getView().getType());
  if (failed(checkStatic(*this)))
    return failure();
  if (type.getRank() != 1 && type.getRank() != 2)
    return emitOpError() << "stores a tile of rank " << type.getRank()
                         << ", but tiles have rank 1 or 2; reshape it";
  if (view.getRank() != type.getRank() + 2)
    return emitOpError() << "stores a tile of rank " << type.getRank()
                         << " to a view of rank " << view.getRank()
                         << ", but the view has two dimensions more (batch "
                         << "and head); pass the other view";
  if (type.getRank() == 2)
    return checkBlockOfView(*this, type.getShape(), type.getElementType(),
                            view);
  if (type.getElementType() != view.getElementType())
    return emitOpError() << "moves tiles of " << type.getElementType()
                         << " but the view holds " << view.getElementType()
                         << "; convert with tile.map";
  return success();
}

LogicalResult DotOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  auto lhs = getLhs().getType(), rhs = getRhs().getType(),
       acc = getAcc().getType();
  if (lhs.getElementType() != rhs.getElementType())
    return emitOpError() << "expects factors of one element type, but got "
                         << lhs.getElementType() << " and "
                         << rhs.getElementType()
                         << "; convert one with tile.map";
  int64_t m = lhs.getDimSize(getTransposeA() ? 1 : 0);
  int64_t depth = lhs.getDimSize(getTransposeA() ? 0 : 1);
  int64_t k = rhs.getDimSize(getTransposeB() ? 1 : 0);
  int64_t n = rhs.getDimSize(getTransposeB() ? 0 : 1);
  if (depth != k)
    return emitOpError() << "sums over " << depth
                         << (getTransposeA() ? " rows" : " columns")
                         << " of A but " << k
                         << (getTransposeB() ? " columns" : " rows")
                         << " of B; pad both alike or change transpose_a or "
                            "transpose_b";
  if (acc.getDimSize(0) != m || acc.getDimSize(1) != n)
    return emitOpError() << "has a product of " << m << "x" << n
                         << " but an accumulator of " << acc.getDimSize(0)
                         << "x" << acc.getDimSize(1) << "; make them equal";
  return success();
}

LogicalResult MaskOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  for (auto [i, attr] : llvm::enumerate(getSets())) {
    auto setAttr = dyn_cast<IntegerSetAttr>(attr);
    if (!setAttr)
      return emitOpError()
             << "set #" << i << " is " << attr
             << ", but sets are affine_set<(i, j)[symbols] : (...)>";
    IntegerSet set = setAttr.getValue();
    if (set.getNumDims() != 2 || set.getNumSymbols() != getSymbols().size())
      return emitOpError() << "set #" << i << " has " << set.getNumDims()
                           << " dimensions and " << set.getNumSymbols()
                           << " symbols, but a mask has 2 (i, j) and "
                           << getSymbols().size() << "; write it over those";
    for (auto [k, e] : llvm::enumerate(set.getConstraints())) {
      if (set.isEq(k))
        return emitOpError()
               << "set #" << i << " has an equality, " << toString(e)
               << " == 0; write it as two inequalities";
      auto linear = getLinearInequality(e, set.getNumSymbols());
      if (!linear)
        return emitOpError()
               << "set #" << i << " has the inequality " << toString(e)
               << " >= 0, which is not linear; masks are unions of bands";
      int64_t inner = getTransposed() ? linear->row : linear->key;
      if (std::abs(inner) > 1)
        return emitOpError()
               << "set #" << i << " has the coefficient " << inner << " for "
               << (getTransposed() ? "i" : "j")
               << ", but it is -1, 0 or 1; divide the inequality by it";
    }
  }
  return success();
}

LogicalResult SoftmaxUpdateOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRows(*this, getScores().getType(), "scores",
                       getRowMax().getType(), "running maximum")) ||
      failed(checkScale(*this, getScale().convertToFloat())))
    return failure();
  if (getOffset() && failed(checkRows(*this, getScores().getType(), "scores",
                                      getOffset().getType(), "offset")))
    return failure();
  if (auto lazy = getLazyAttr(); lazy && !(lazy.getValueAsDouble() > 0))
    return emitOpError() << "expects lazy above 0, but got "
                         << lazy.getValueAsDouble()
                         << "; leave it out to follow every maximum";
  return success();
}

/// A value for each row of a block, or for each column of it.
static LogicalResult checkRowsOrColumns(Operation *op, RankedTensorType block,
                                        RankedTensorType values,
                                        StringRef name) {
  bool isRows =
      values.getRank() == 1 && values.getDimSize(0) == block.getDimSize(0);
  bool isColumns =
      values.getRank() == 2 &&
      values.getShape() == ArrayRef<int64_t>{1, block.getDimSize(1)};
  if (isRows || isColumns)
    return success();
  return op->emitOpError() << "expects one " << name << " for each row or, as "
                           << "a tile of one row, for each column of " << block
                           << ", but has " << values
                           << "; slice both with the same blocks";
}

LogicalResult ProbsOp::verify() {
  return success(
      succeeded(checkStatic(*this)) &&
      succeeded(checkRowsOrColumns(*this, getScores().getType(),
                                   cast<RankedTensorType>(getLse().getType()),
                                   "log-sum-exp")) &&
      succeeded(checkScale(*this, getScale().convertToFloat())));
}

LogicalResult ProbsGradientOp::verify() {
  return success(succeeded(checkStatic(*this)) &&
                 succeeded(checkRowsOrColumns(
                     *this, getProbs().getType(),
                     cast<RankedTensorType>(getDelta().getType()), "delta")));
}

LogicalResult AccumulateOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if ((getTurns() || getFollows()) && !getOrdered())
    return emitOpError("has turns, but adds in any order; add 'ordered' or "
                       "take them out");
  auto type = cast<RankedTensorType>(getTile().getType());
  return checkBlockOfView(*this, type.getShape(), type.getElementType(),
                          cast<MemRefType>(getView().getType()));
}

LogicalResult RescaleOp::verify() {
  return success(succeeded(checkStatic(*this)) &&
                 succeeded(checkRows(*this, getTile().getType(), "accumulators",
                                     getFactor().getType(), "factor")));
}

LogicalResult FinishOp::verify() {
  return success(
      succeeded(checkStatic(*this)) &&
      succeeded(checkRows(*this, getAcc().getType(), "accumulators",
                          getRowMax().getType(), "running maximum")) &&
      succeeded(checkScale(*this, getScale().convertToFloat())));
}
