// Verifiers of tile.map and tile.reduce, the ops that the softmax is written
// out in.
#include "TileVerifiers.h"

#include "flashc/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace flashc::tile;

/// The shape that the elements of a map or scatter have: that of its largest
/// input.
static RankedTensorType getLargest(ValueRange inputs) {
  RankedTensorType largest;
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    bool larger = !largest || type.getRank() > largest.getRank() ||
                  (type.getRank() == largest.getRank() &&
                   type.getNumElements() > largest.getNumElements());
    if (larger)
      largest = type;
  }
  return largest;
}

/// Inputs have the shape of the largest, its rows, or its columns in one row.
static LogicalResult checkInputs(Operation *op, ValueRange inputs,
                                 ValueRange origin) {
  RankedTensorType largest = getLargest(inputs);
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    if (type.getRank() != 1 && type.getRank() != 2)
      return op->emitOpError() << "has an input of type " << type
                               << ", but tiles have rank 1 or 2; reshape it";
    bool isRow = type.getRank() == 2 && largest.getRank() == 2 &&
                 type.getShape() == ArrayRef<int64_t>{1, largest.getDimSize(1)};
    if (!isRow &&
        type.getShape() != largest.getShape().take_front(type.getRank()))
      return op->emitOpError()
             << "has an input of type " << type << " beside the largest input "
             << largest
             << "; inputs have its shape, its rows or one row of its columns, "
                "results its shape";
  }
  if (!origin.empty() && origin.size() != size_t(largest.getRank()))
    return op->emitOpError()
           << "has an origin of " << origin.size()
           << " coordinates for tiles of rank " << largest.getRank()
           << "; give as many as the rank, or none";
  return success();
}

/// One scalar for each input, then the coordinates; scalar code.
static LogicalResult checkBody(Operation *op, Block &body, ValueRange inputs,
                               ValueRange origin) {
  SmallVector<Type> expected;
  for (Value input : inputs)
    expected.push_back(getElementTypeOrSelf(input.getType()));
  expected.append(origin.size(), IndexType::get(op->getContext()));
  if (!llvm::equal(body.getArgumentTypes(), expected))
    return op->emitOpError() << "body takes (" << body.getArgumentTypes()
                             << "), but gets one scalar for each input and "
                                "then the coordinates: ("
                             << expected << ")";
  for (Operation &inner : body.without_terminator()) {
    StringRef dialect = inner.getName().getDialectNamespace();
    if (dialect != "arith" && dialect != "math" && !isa<memref::LoadOp>(inner))
      return inner.emitOpError() << "stands in the body of a " << op->getName()
                                 << ", which "
                                    "holds arith, math and memref.load "
                                    "ops; move it out";
  }
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (getInputs().empty() || getResults().empty())
    return emitOpError() << "has " << getInputs().size() << " inputs and "
                         << getResults().size()
                         << " results, but needs one of each at least";
  if (failed(checkInputs(*this, getInputs(), getOrigin())))
    return failure();
  RankedTensorType largest = getLargest(getInputs());
  for (Value result : getResults())
    if (cast<RankedTensorType>(result.getType()).getShape() !=
        largest.getShape())
      return emitOpError()
             << "has a result of type " << result.getType()
             << " beside the largest input " << largest
             << "; inputs have its shape, its rows or one row of its columns, "
                "results its shape";
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  if (failed(checkBody(*this, body, getInputs(), getOrigin())))
    return failure();
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

LogicalResult ScatterOp::verify() {
  if (failed(checkStatic(*this)))
    return failure();
  if (getInputs().empty())
    return emitOpError("has no input, but writes an element for each of its "
                       "inputs' elements; give one");
  Type element = cast<MemRefType>(getMemory().getType()).getElementType();
  if (getKind() == ScatterKind::Add && !element.isF32())
    return emitOpError() << "adds to memory of " << element
                         << ", but sums are f32; convert afterwards";
  if (getKind() == ScatterKind::Set && getOrdered())
    return emitOpError("sets in order, but only sums depend on an order; drop "
                       "ordered");
  if (getExclusive() && getOrdered())
    return emitOpError("is both exclusive and ordered, but nobody else adds "
                       "to what is exclusive; drop one of them");
  return checkInputs(*this, getInputs(), getOrigin());
}

LogicalResult ScatterOp::verifyRegions() {
  Block &body = getBody().front();
  if (failed(checkBody(*this, body, getInputs(), getOrigin())))
    return failure();
  auto memory = cast<MemRefType>(getMemory().getType());
  SmallVector<Type> expected = {IntegerType::get(getContext(), 1),
                                memory.getElementType()};
  expected.append(memory.getRank(), IndexType::get(getContext()));
  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  if (yield && llvm::equal(yield.getValues().getTypes(), expected))
    return success();
  return emitOpError() << "body yields ("
                       << body.getTerminator()->getOperandTypes()
                       << "), but says whether to write, what and where: ("
                       << expected << ")";
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
