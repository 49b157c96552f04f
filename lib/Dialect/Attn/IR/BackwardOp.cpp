// What `attn.backward` means as a whole: the verifier of its tensors. Its
// regions are verified in ScoreRegion.cpp.
#include "AttentionVerifier.h"

using namespace mlir;
using namespace flashc::attn;

namespace {
class BackwardVerifier {
public:
  explicit BackwardVerifier(BackwardOp op) : op(op) {}
  LogicalResult run();

private:
  LogicalResult rowTensors();
  LogicalResult results();
  LogicalResult gradients();
  LogicalResult gradient(int64_t number, unsigned position);

  BackwardOp op;
  AttentionVerifier check{op, "query, key, value, output and their gradients"};
  Named output{"output", op.getOutput()}, lse{"lse", op.getLse()},
      outputGradient{"output gradient", op.getOutputGradient()},
      queryGradient{"query gradient", op.getQueryGradient()},
      keyGradient{"key gradient", op.getKeyGradient()},
      valueGradient{"value gradient", op.getValueGradient()};
};
} // namespace

LogicalResult BackwardVerifier::rowTensors() {
  if (failed(check.rows(lse)) || failed(check.sameRows(check.query, lse)) ||
      failed(check.sameRows(output, lse)))
    return failure();
  if (!op.getLseGradient())
    return success();
  Named lseGradient{"lse gradient", op.getLseGradient()};
  return failure(failed(check.rows(lseGradient)) ||
                 failed(check.sameRows(check.query, lseGradient)));
}

LogicalResult BackwardVerifier::results() {
  unsigned length = op.getLengthDim(), heads = op.getHeadsDim();
  for (Named like : {check.query, check.key, check.value})
    if (failed(check.agree("batch", like, 0, output, 0)))
      return failure();
  return failure(
      failed(check.agree("number of queries", check.query, length, output,
                         length)) ||
      failed(
          check.agree("number of heads", check.query, heads, output, heads)) ||
      failed(check.headDim(output)) ||
      failed(check.agree("head dim", check.value, 3, output, 3)) ||
      failed(check.sameShape(output, outputGradient, "number of queries")) ||
      failed(
          check.sameShape(check.query, queryGradient, "number of queries")) ||
      failed(check.sameShape(check.key, keyGradient, "number of keys")) ||
      failed(check.sameShape(check.value, valueGradient, "number of keys")));
}

/// Result `position` behind dV is the gradient of capture `number`.
LogicalResult BackwardVerifier::gradient(int64_t number, unsigned position) {
  int64_t captures = op.getCaptures().size();
  if (number < 0 || number >= captures)
    return op.emitOpError() << "expects gradients of captures, but asks for "
                            << "that of capture " << number << " of "
                            << captures << "; count from 0";
  auto type = cast<RankedTensorType>(op.getCaptures()[number].getType());
  if (!isa<FloatType>(type.getElementType()))
    return op.emitOpError()
           << "expects gradients of captures of f16, bf16 or f32, but capture "
           << number << " is " << type << "; take it out of gradients";
  Type actual = op.getCaptureGradients()[position].getType();
  if (actual == type)
    return success();
  return op.emitOpError() << "expects the gradient of capture " << number
                          << " to have its type, " << type << ", but it has "
                          << actual << "; change the result";
}

LogicalResult BackwardVerifier::gradients() {
  ArrayRef<int64_t> wanted = op.getGradients();
  if (wanted.size() != op.getCaptureGradients().size())
    return op.emitOpError()
           << "expects a result for each of its gradients behind dQ, dK and "
           << "dV, but asks for " << wanted.size()
           << " gradients of captures and has "
           << op.getCaptureGradients().size()
           << " such results; make them equal";
  for (auto [position, number] : llvm::enumerate(wanted)) {
    if (position > 0 && number <= wanted[position - 1])
      return op.emitOpError()
             << "expects gradients in ascending order, but " << number
             << " comes behind " << wanted[position - 1] << "; sort them";
    if (failed(gradient(number, position)))
      return failure();
  }
  return success();
}

LogicalResult BackwardVerifier::run() {
  return failure(
      failed(check.tensors({check.query, check.key, check.value, output,
                            outputGradient, queryGradient, keyGradient,
                            valueGradient})) ||
      failed(check.shapes()) || failed(check.heads(output)) ||
      failed(results()) || failed(rowTensors()) ||
      failed(check.kvLengths({check.query, check.key, check.value})) ||
      failed(check.scale()) || failed(check.mask()) ||
      failed(verifyCaptures(op)) || failed(gradients()));
}

LogicalResult BackwardOp::verify() { return BackwardVerifier(*this).run(); }

LogicalResult BackwardOp::verifyRegions() {
  if (getScore().empty() != getScoreGradient().empty())
    return emitOpError() << "expects a gradient region iff there is a score "
                         << "region, but has only the "
                         << (getScore().empty() ? "gradient" : "score")
                         << " region; let attn-derive-backward make it";
  return failure(failed(verifyScore(*this)) ||
                 failed(verifyScoreGradient(*this)));
}
