// flashc-run --backward --check: gradients beside the oracle's. The oracle
// shares no code with the compiler but for the derivative of a score function,
// which it computes in double from the gradient region.
#include "Progress.h"
#include "Verify.h"

#include "flashc/Reference/GradientCheck.h"
#include "flashc/Support/Error.h"
#include "flashc/Support/Float16.h"

using namespace flashc;
using namespace flashc::tools;

namespace {
/// The gradient region with the module that it is in.
struct DerivedScore {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ScoreGradientFunction function;
};
} // namespace

static llvm::Expected<DerivedScore> deriveScore(Inputs &inputs,
                                                const GradientInputs &gradients,
                                                CompileOptions options) {
  options.arch = "cpu";
  options.backward = true;
  options.gradients = gradients.gradients;
  llvm::Expected<Lowering> lowered =
      lowerTo(*inputs.module, options, Stage::Attn);
  if (!lowered)
    return lowered.takeError();
  llvm::Expected<BackwardFunction> found = findBackward(*lowered->module);
  if (!found)
    return found.takeError();
  llvm::SmallVector<const NpyArray *> captures;
  for (const NpyArray &capture : inputs.captures)
    captures.push_back(&capture);
  llvm::Expected<ScoreGradientFunction> function =
      ScoreGradientFunction::create(found->backward, captures);
  if (!function)
    return function.takeError();
  return DerivedScore{std::move(lowered->module), std::move(*function)};
}

static std::vector<float> toFloats(const NpyArray &array, bool isBF16) {
  std::vector<float> values;
  for (int64_t n = 0; n < array.numElements(); ++n)
    values.push_back(array.dtype == NpyArray::DType::F32 ? array.as<float>()[n]
                     : isBF16 ? bfloatToFloat(array.as<uint16_t>()[n])
                              : halfToFloat(array.as<uint16_t>()[n]));
  return values;
}

/// The captures of the oracle's problem: their shapes are all that it reads.
static std::vector<reference::Capture> capturesOf(const Inputs &inputs) {
  std::vector<reference::Capture> captures;
  for (auto [name, array] :
       llvm::zip_equal(inputs.attention.captureNames, inputs.captures))
    captures.push_back({name, {array.shape.begin(), array.shape.end()}, {}});
  return captures;
}

llvm::Expected<std::string>
tools::verifyGradients(Inputs &inputs, const GradientInputs &gradients,
                       const Results &forward, const GradientResults &results,
                       CompileOptions options) {
  Progress progress("checking gradients against the reference");
  llvm::Expected<std::optional<ScoreFunction>> score = makeScore(inputs);
  if (!score)
    return score.takeError();
  reference::GradientProblem problem;
  problem.forward = makeProblem(inputs, *score);
  problem.forward.captures = capturesOf(inputs);
  std::optional<DerivedScore> derived;
  if (*score) {
    llvm::Expected<DerivedScore> made = deriveScore(inputs, gradients, options);
    if (!made)
      return made.takeError();
    derived = std::move(*made);
    problem.forward.scoreDerivative = [&](double s, int64_t b, int64_t h,
                                          int64_t i, int64_t j) {
      auto by = derived->function(s, b, h, i, j);
      reference::ScoreDerivative out{by.byScore, {}};
      for (const auto &to : by.byCaptures)
        out.byCaptures.push_back({to.capture, to.element, to.value});
      return out;
    };
  }
  reference::Element element = problem.forward.dtype();
  auto tensor = [&](const NpyArray &array) {
    return toTensor(array, viewOf(array.shape, inputs.layout()), element);
  };
  auto rows = [](const NpyArray &array) {
    return std::vector<float>(array.as<float>(),
                              array.as<float>() + array.numElements());
  };
  problem.o = tensor(forward.output);
  problem.lse = rows(*forward.lse);
  problem.dO = tensor(gradients.outputGradient);
  if (gradients.lseGradient)
    problem.dLse = rows(*gradients.lseGradient);
  problem.gradients = gradients.gradients;
  reference::Gradients out{
      tensor(results.query), tensor(results.key), tensor(results.value), {}};
  std::vector<double> roundoff;
  for (auto [number, array] :
       llvm::zip_equal(gradients.gradients, results.captures)) {
    mlir::Type type =
        llvm::cast<mlir::RankedTensorType>(
            inputs.attention.forward.getCaptures()[number].getType())
            .getElementType();
    out.captures.push_back(toFloats(array, type.isBF16()));
    roundoff.push_back(
        reference::unitRoundoff(type.isF16()    ? reference::Element::F16
                                : type.isBF16() ? reference::Element::BF16
                                                : reference::Element::F32));
  }
  reference::GradientReport report =
      reference::checkGradients(problem, out, roundoff);
  if (!report.ok)
    return makeError("a gradient is wrong: {} ({}); please report the inputs",
                     report.why, report.summary());
  return report.summary();
}
