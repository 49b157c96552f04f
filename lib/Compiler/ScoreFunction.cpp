// A score region, flattened into steps on registers. Comes after verification
// (so operands are scalars and divisors are constants); what single ops do is
// in ScoreSteps.cpp.
#include "flashc/Compiler/ScoreFunction.h"
#include "flashc/Support/Error.h"
#include "flashc/Support/Float16.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace flashc;

using Number = ScoreFunction::Number;

/// Element `at` of a captured tensor with elements of `type`.
static Number readElement(const NpyArray &array, Type type, int64_t at) {
  Number number;
  if (type.isF16())
    number.real = halfToFloat(array.as<uint16_t>()[at]);
  else if (type.isBF16())
    number.real = bfloatToFloat(array.as<uint16_t>()[at]);
  else if (type.isF32())
    number.real = array.as<float>()[at];
  else if (type.isInteger(1))
    number.integer = array.as<char>()[at] ? -1 : 0;
  else if (type.isInteger(8))
    number.integer = array.as<int8_t>()[at];
  else if (type.isInteger(16))
    number.integer = array.as<int16_t>()[at];
  else if (type.isInteger(32))
    number.integer = array.as<int32_t>()[at];
  else
    number.integer = array.as<int64_t>()[at];
  return number;
}

/// tensor.extract: an index outside reads the nearest element.
static ScoreFunction::Step extractStep(const NpyArray &array, Type type,
                                       std::vector<unsigned> indices,
                                       unsigned result) {
  return [&array, type, indices = std::move(indices), result](Number *r) {
    int64_t at = 0;
    for (auto [dim, index] : llvm::zip_equal(array.shape, indices))
      at = at * dim + std::clamp<int64_t>(r[index].integer, 0, dim - 1);
    r[result] = readElement(array, type, at);
  };
}

static ScoreFunction::Step constantStep(arith::ConstantOp op, unsigned result) {
  Number number;
  if (auto real = dyn_cast<FloatAttr>(op.getValue()))
    number.real = real.getValueAsDouble();
  else
    number.integer = cast<IntegerAttr>(op.getValue()).getValue().getSExtValue();
  return [number, result](Number *r) { r[result] = number; };
}

static llvm::Error checkCapture(const NpyArray &array, RankedTensorType type,
                                unsigned index) {
  if (static_cast<int64_t>(array.shape.size()) != type.getRank() ||
      elementBytes(array.dtype) * 8 !=
          std::max<int64_t>(8, type.getElementTypeBitWidth()))
    return makeError("capture {} has shape {} of {}, but the score function "
                     "reads rank {}; give another array",
                     index, shapeText(array.shape),
                     dtypeName(array.dtype).str(), type.getRank());
  if (llvm::is_contained(array.shape, 0))
    return makeError("capture {} has shape {}, but must hold at least one "
                     "element; give another array",
                     index, shapeText(array.shape));
  return llvm::Error::success();
}

llvm::Expected<ScoreFunction>
ScoreFunction::create(attn::ForwardOp op,
                      llvm::ArrayRef<const NpyArray *> captures) {
  ScoreFunction function;
  Block &body = op.getScore().front();
  llvm::DenseMap<Value, unsigned> registers;
  for (unsigned i = 0; i < 5; ++i)
    registers[body.getArgument(i)] = function.registerCount++;
  for (auto [i, array] : llvm::enumerate(captures))
    if (llvm::Error error = checkCapture(
            *array, cast<RankedTensorType>(op.getCaptures()[i].getType()), i))
      return error;
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumResults() != 1)
      return makeError("--check does not know {}; take it out of the score "
                       "function",
                       inner.getName().getStringRef().str());
    unsigned result = registers[inner.getResult(0)] = function.registerCount++;
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      function.steps.push_back(constantStep(constant, result));
      continue;
    }
    std::vector<unsigned> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(registers.lookup(operand));
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
      auto source = cast<BlockArgument>(extract.getTensor());
      operands.erase(operands.begin());
      function.steps.push_back(extractStep(*captures[source.getArgNumber() - 5],
                                           extract.getType(), operands,
                                           result));
      continue;
    }
    Step step = scoreStep(inner, operands, result);
    if (!step)
      return makeError("--check does not know {}; take it out of the score "
                       "function",
                       inner.getName().getStringRef().str());
    function.steps.push_back(std::move(step));
  }
  function.result =
      registers.lookup(cast<attn::YieldOp>(body.back()).getScore());
  return function;
}

double ScoreFunction::operator()(double score, int64_t batch, int64_t head,
                                 int64_t i, int64_t j) const {
  llvm::SmallVector<Number, 32> registers(registerCount);
  registers[0].real = score;
  registers[1].integer = batch;
  registers[2].integer = head;
  registers[3].integer = i;
  registers[4].integer = j;
  for (const Step &step : steps)
    step(registers.data());
  return registers[result].real;
}
