// What `attn.forward` means as a whole: the verifier of its tensors and mask.
// The score region is verified in ScoreRegion.cpp.
#include "AttentionVerifier.h"

#include "mlir/IR/OpImplementation.h"

#include <cmath>

using namespace mlir;
using namespace flashc::attn;

#include "Attn/AttnInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "Attn/AttnOps.cpp.inc"

double
flashc::attn::getScaleOrDefault(const std::optional<llvm::APFloat> &scale,
                                int64_t headDim) {
  if (scale)
    return scale->convertToDouble();
  return 1.0 / std::sqrt(static_cast<double>(headDim));
}

static LogicalResult verifyOutputs(AttentionVerifier &check, Named output,
                                   Named lse, unsigned lengthDim,
                                   unsigned headsDim) {
  if (failed(check.rows(lse)))
    return failure();
  for (Named input : {check.query, check.key, check.value})
    if (failed(check.agree("batch", input, 0, output, 0)) ||
        failed(check.agree("batch", input, 0, lse, 0)))
      return failure();
  return failure(failed(check.agree("number of queries", check.query, lengthDim,
                                    output, lengthDim)) ||
                 failed(check.agree("number of heads", check.query, headsDim,
                                    output, headsDim)) ||
                 failed(check.sameRows(check.query, lse)) ||
                 failed(check.sameRows(output, lse)) ||
                 failed(check.headDim(output)) ||
                 failed(check.agree("head dim", check.value, 3, output, 3)));
}

LogicalResult ForwardOp::verify() {
  AttentionVerifier check(*this, "query, key, value and output");
  Named output{"output", getOutput()}, lse{"lse", getLse()};
  return failure(
      failed(check.tensors({check.query, check.key, check.value, output})) ||
      failed(check.shapes()) || failed(check.heads(output)) ||
      failed(
          verifyOutputs(check, output, lse, getLengthDim(), getHeadsDim())) ||
      failed(check.kvLengths({check.query, check.key, check.value, output})) ||
      failed(check.scale()) || failed(check.mask()) ||
      failed(verifyCaptures(*this)));
}
LogicalResult ForwardOp::verifyRegions() { return verifyScore(*this); }
