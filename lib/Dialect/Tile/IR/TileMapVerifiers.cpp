// Verifiers of tile.map and tile.reduce, the ops that the softmax is written
// out in.
#include "TileVerifiers.h"

#include "flashc/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace flashc::tile;

LogicalResult MapOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (getInputs().empty() || getResults().empty())
    return emitOpError() << "has " << getInputs().size() << " inputs and "
                         << getResults().size()
                         << " results, but needs one of each at least";
  RankedTensorType largest;
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() != 1 && type.getRank() != 2)
      return emitOpError() << "has an input of type " << type
                           << ", but tiles have rank 1 or 2; reshape it";
    if (!largest || type.getRank() > largest.getRank())
      largest = type;
  }
  auto expectShape = [&](Type type, ArrayRef<int64_t> shape,
                         StringRef what) -> LogicalResult {
    if (cast<RankedTensorType>(type).getShape() == shape)
      return success();
    return emitOpError()
           << "has " << what << " of type " << type
           << " beside the largest input " << largest
           << "; inputs have its shape or its rows, results its shape";
  };
  for (Value input : getInputs()) {
    int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
    if (failed(expectShape(input.getType(), largest.getShape().take_front(rank),
                           "an input")))
      return failure();
  }
  for (Value result : getResults())
    if (failed(expectShape(result.getType(), largest.getShape(), "a result")))
      return failure();
  if (!getOrigin().empty() && getOrigin().size() != size_t(largest.getRank()))
    return emitOpError() << "has an origin of " << getOrigin().size()
                         << " coordinates for tiles of rank "
                         << largest.getRank()
                         << "; give as many as the rank, or none";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  SmallVector<Type> expected;
  for (Value input : getInputs())
    expected.push_back(getElementTypeOrSelf(input.getType()));
  expected.append(getOrigin().size(), IndexType::get(getContext()));
  if (!llvm::equal(body.getArgumentTypes(), expected))
    return emitOpError() << "body takes (" << body.getArgumentTypes()
                         << "), but gets one scalar for each input and then "
                            "the coordinates: ("
                         << expected << ")";
  for (Operation &op : body.without_terminator()) {
    StringRef dialect = op.getName().getDialectNamespace();
    if (dialect != "arith" && dialect != "math" && !isa<memref::LoadOp>(op))
      return op.emitOpError() << "stands in the body of a tile.map, which "
                                 "holds arith, math and memref.load "
                                 "ops; move it out";
  }
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  auto elements = llvm::map_range(
      getResultTypes(), [](Type type) { return getElementTypeOrSelf(type); });
  if (!yield || !llvm::equal(yield.getValues().getTypes(), elements))
    return emitOpError() << "body yields ("
                         << body.getTerminator()->getOperandTypes()
                         << ") for results of types (" << getResultTypes()
                         << "); yield one scalar of each result's element type";
  return success();
}

LogicalResult AnyNotFiniteOp::verify() { return checkStatic(*this); }

LogicalResult AnyAboveOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (auto floor = getFloorAttr(); floor && !(floor.getValueAsDouble() < 0))
    return emitOpError() << "expects a floor below 0, but got "
                         << floor.getValueAsDouble()
                         << "; compare the negated scores with a limit";
  return checkRows(*this, getScores().getType(), "scores",
                   getLimits().getType(), "limit");
}

LogicalResult ReduceOp::verify() {
  if (failed(checkStatic(*this)) ||
      failed(checkRows(*this, getTile().getType(), "scores",
                       getInit().getType(), "initial value")))
    return failure();
  if (!getDeferred())
    return success();
  if (getKind() != ReduceKind::Add)
    return emitOpError()
           << "defers " << stringifyReduceKind(getKind())
           << ", but only add has parts that can be summed up later; drop "
              "deferred";
  for (Operation *user : getResult().getUsers()) {
    auto reduce = dyn_cast<ReduceOp>(user);
    bool allowed =
        isa<CollectOp, MapOp, scf::YieldOp>(user) ||
        (reduce && reduce.getDeferred() && reduce.getInit() == getResult()) ||
        isa<scf::ForOp>(user);
    if (!allowed) {
      InFlightDiagnostic diagnostic = emitOpError(
          "is deferred, so its result is in parts; use tile.collect first");
      diagnostic.attachNote(user->getLoc()) << "used as a whole here";
      return diagnostic;
    }
  }
  return success();
}
