// Third step of flashc-run, if asked: the oracle on the same arrays. The oracle
// shares no code with the compiler; the mask and the score region are handed
// over as formulas.
#include "Verify.h"
#include "Progress.h"
#include "common/MaskFormula.h"

#include "flashc/Reference/Check.h"
#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::tools;

reference::HostTensor tools::toTensor(const NpyArray &array, const View &view,
                                      reference::Element element) {
  reference::HostTensor tensor;
  tensor.element = element;
  tensor.shape = view.shape;
  tensor.strides = view.strides;
  tensor.storage = array.data;
  return tensor;
}

reference::AttentionProblem
tools::makeProblem(Inputs &inputs, const std::optional<ScoreFunction> &score) {
  attn::ForwardOp op = inputs.attention.forward;
  mlir::Type type = op.getQuery().getType().getElementType();
  auto element = type.isF16()    ? reference::Element::F16
                 : type.isBF16() ? reference::Element::BF16
                                 : reference::Element::F32;
  reference::AttentionProblem problem;
  problem.q = toTensor(inputs.query, inputs.queryView(), element);
  problem.k = toTensor(inputs.key, inputs.keyView(), element);
  problem.v = toTensor(inputs.value, inputs.valueView(), element);
  problem.layout = inputs.layout() == attn::Layout::BSHD
                       ? reference::Layout::BSHD
                       : reference::Layout::BHSD;
  problem.scale = op.getScaleValue();
  if (op.getMask())
    problem.mask = toMaskExpr(*op.getMask());
  if (inputs.lengths) {
    const int32_t *lengths = inputs.lengths->as<int32_t>();
    problem.kvLengths.assign(lengths, lengths + inputs.lengths->numElements());
  }
  if (score)
    problem.score = std::cref(*score);
  return problem;
}

llvm::Expected<std::optional<ScoreFunction>> tools::makeScore(Inputs &inputs) {
  if (!inputs.attention.forward.hasScore())
    return std::nullopt;
  llvm::SmallVector<const NpyArray *> captures;
  for (const NpyArray &capture : inputs.captures)
    captures.push_back(&capture);
  llvm::Expected<ScoreFunction> made =
      ScoreFunction::create(inputs.attention.forward, captures);
  if (!made)
    return made.takeError();
  return std::move(*made);
}

llvm::Expected<std::string> tools::verifyResults(Inputs &inputs,
                                                 const Results &results) {
  Progress progress("checking against the reference");
  llvm::Expected<std::optional<ScoreFunction>> score = makeScore(inputs);
  if (!score)
    return score.takeError();
  reference::AttentionProblem problem = makeProblem(inputs, *score);
  reference::HostTensor output =
      toTensor(results.output, viewOf(results.output.shape, inputs.layout()),
               problem.dtype());
  reference::ErrorReport report = reference::checkError(
      problem, output, results.lse ? results.lse->as<float>() : nullptr);
  if (!report.ok)
    return makeError("the result is wrong: {} ({}); please report the inputs",
                     report.why, report.summary());
  return report.summary();
}
