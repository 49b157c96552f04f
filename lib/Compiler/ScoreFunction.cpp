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

namespace {
/// The ops of a region, flattened.
struct Flattened {
  std::vector<ScoreFunction::Step> steps;
  llvm::DenseMap<Value, unsigned> registers;
  unsigned count = 0;
};
} // namespace

/// One op; `scalars` arguments stand before the captures.
static llvm::Error flattenOp(Operation &inner, unsigned scalars,
                             llvm::ArrayRef<const NpyArray *> captures,
                             Flattened &out) {
  auto unknown = [&] {
    return makeError("--check does not know {}; take it out of the score "
                     "function",
                     inner.getName().getStringRef().str());
  };
  if (inner.getNumResults() != 1)
    return unknown();
  unsigned result = out.registers[inner.getResult(0)] = out.count++;
  if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
    out.steps.push_back(constantStep(constant, result));
    return llvm::Error::success();
  }
  std::vector<unsigned> operands;
  for (Value operand : inner.getOperands())
    operands.push_back(out.registers.lookup(operand));
  if (auto extract = dyn_cast<tensor::ExtractOp>(inner)) {
    auto source = cast<BlockArgument>(extract.getTensor());
    operands.erase(operands.begin());
    out.steps.push_back(extractStep(*captures[source.getArgNumber() - scalars],
                                    extract.getType(), operands, result));
    return llvm::Error::success();
  }
  ScoreFunction::Step step = scoreStep(inner, operands, result);
  if (!step)
    return unknown();
  out.steps.push_back(std::move(step));
  return llvm::Error::success();
}

/// All ops of a region but its attn.add_gradient ops.
static llvm::Expected<Flattened>
flatten(attn::AttentionInterface op, Block &body, unsigned scalars,
        llvm::ArrayRef<const NpyArray *> captures) {
  for (auto [i, array] : llvm::enumerate(captures))
    if (llvm::Error error = checkCapture(
            *array, cast<RankedTensorType>(op.getCaptures()[i].getType()), i))
      return error;
  Flattened out;
  for (unsigned i = 0; i < scalars; ++i)
    out.registers[body.getArgument(i)] = out.count++;
  for (Operation &inner : body.without_terminator())
    if (!isa<attn::AddGradientOp>(inner))
      if (llvm::Error error = flattenOp(inner, scalars, captures, out))
        return error;
  return out;
}

static void setPlace(Number *registers, double score, int64_t batch,
                     int64_t head, int64_t i, int64_t j) {
  registers[0].real = score;
  registers[1].integer = batch;
  registers[2].integer = head;
  registers[3].integer = i;
  registers[4].integer = j;
}

llvm::Expected<ScoreFunction>
ScoreFunction::create(attn::ForwardOp op,
                      llvm::ArrayRef<const NpyArray *> captures) {
  Block &body = op.getScore().front();
  auto flat = flatten(op, body, attn::kScoreArguments, captures);
  if (!flat)
    return flat.takeError();
  ScoreFunction function;
  function.steps = std::move(flat->steps);
  function.registerCount = flat->count;
  function.result =
      flat->registers.lookup(cast<attn::YieldOp>(body.back()).getScore());
  return function;
}

double ScoreFunction::operator()(double score, int64_t batch, int64_t head,
                                 int64_t i, int64_t j) const {
  llvm::SmallVector<Number, 32> registers(registerCount);
  setPlace(registers.data(), score, batch, head, i, j);
  for (const Step &step : steps)
    step(registers.data());
  return registers[result].real;
}

llvm::Expected<ScoreGradientFunction>
ScoreGradientFunction::create(attn::BackwardOp op,
                              llvm::ArrayRef<const NpyArray *> captures) {
  constexpr unsigned kScalars = attn::kScoreArguments + 1;
  Block &body = op.getScoreGradient().front();
  auto flat = flatten(op, body, kScalars, captures);
  if (!flat)
    return flat.takeError();
  ScoreGradientFunction function;
  function.steps = std::move(flat->steps);
  function.registerCount = flat->count;
  function.result =
      flat->registers.lookup(cast<attn::YieldOp>(body.back()).getScore());
  for (auto add : body.getOps<attn::AddGradientOp>()) {
    auto capture = cast<BlockArgument>(add.getCapture());
    Addition &addition = function.additions.emplace_back();
    addition.capture = capture.getArgNumber() - kScalars;
    addition.value = flat->registers.lookup(add.getValue());
    for (Value index : add.getIndices())
      addition.indices.push_back(flat->registers.lookup(index));
    llvm::ArrayRef<int64_t> shape = captures[addition.capture]->shape;
    addition.shape.assign(shape.begin(), shape.end());
  }
  return function;
}

ScoreGradientFunction::Derivatives
ScoreGradientFunction::operator()(double score, int64_t batch, int64_t head,
                                  int64_t i, int64_t j) const {
  llvm::SmallVector<Number, 32> registers(registerCount);
  setPlace(registers.data(), score, batch, head, i, j);
  registers[attn::kScoreArguments].real = 1;
  for (const ScoreFunction::Step &step : steps)
    step(registers.data());
  Derivatives out;
  out.byScore = registers[result].real;
  for (const Addition &addition : additions) {
    int64_t at = 0;
    for (auto [dim, index] : llvm::zip_equal(addition.shape, addition.indices))
      at = at * dim + std::clamp<int64_t>(registers[index].integer, 0, dim - 1);
    out.byCaptures.push_back(
        {addition.capture, at, registers[addition.value].real});
  }
  return out;
}
