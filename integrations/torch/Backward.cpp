//===- Backward.cpp - flashc's gradients on torch's tensors ---------------===//
#include "Attention.h"
#include "Devices.h"

#include <torch/csrc/stable/ops.h>

#include <stdexcept>

using namespace flashc_torch;
using torch::headeronly::ScalarType;

namespace {
void checkGradients(const BackwardProblem &b) {
  const Problem &p = b.problem;
  checkProblem(p);
  int64_t batch = p.query.size(0), heads = p.query.size(1),
          queries = p.query.size(2), dim = p.value.size(3);
  ScalarType dtype = p.query.scalar_type();
  checkLike(p, b.outputGradient, "grad_output", {batch, heads, queries, dim},
            dtype);
  checkLike(p, b.output, "output", {batch, heads, queries, dim}, dtype);
  checkLike(p, b.lse, "lse", {batch, heads, queries}, ScalarType::Float);
  if (b.lseGradient)
    checkLike(p, *b.lseGradient, "grad_lse", {batch, heads, queries},
              ScalarType::Float);
  if (b.maskGradient &&
      (!p.attnMask || p.attnMask->scalar_type() == ScalarType::Bool))
    throw std::runtime_error("flashc::attention_backward: a gradient of "
                             "attn_mask is asked for, but there is none of "
                             "floating point; pass attn_mask_grad=False");
}

Tensor dense(const Tensor &tensor) {
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

/// As many zeros: gradients where there is nothing to sum up.
Tensor zeros(Tensor tensor) {
  torch::stable::zero_(tensor);
  return tensor;
}

flashc::Gradients compile(const BackwardProblem &b, Broadcast broadcast) {
  flashc::GradientOptions options;
  options.lseGradient = b.lseGradient.has_value();
  options.deterministic = b.deterministic;
  if (b.maskGradient)
    options.captures = {0};
  auto gradients =
      contextFor(b.problem.query)
          .compileGradients(describe(b.problem, broadcast), options);
  if (!gradients)
    raise(gradients.error());
  return *gradients;
}
} // namespace

std::tuple<Tensor, Tensor, Tensor, Tensor>
flashc_torch::attentionBackward(const BackwardProblem &b) {
  checkGradients(b);
  const Problem &p = b.problem;
  auto like = [&](const Tensor &tensor) {
    return emptyHeads(tensor, tensor.size(0), tensor.size(1), tensor.size(2),
                      tensor.size(3));
  };
  Tensor dq = like(p.query), dk = like(p.key), dv = like(p.value);
  Broadcast broadcast =
      b.maskGradient ? Broadcast::Sizes : Broadcast::SizesAndStrides;
  std::optional<Tensor> mask;
  if (p.attnMask)
    mask = compact(*p.attnMask, broadcast);
  Tensor dMask = emptyDense(p.query, {0}, p.query.scalar_type());
  if (b.maskGradient) {
    std::vector<int64_t> sizes(mask->sizes().begin(), mask->sizes().end());
    dMask = emptyDense(*mask, sizes, mask->scalar_type());
  }
  flashc::Gradients gradients = compile(b, broadcast);
  if (p.query.numel() == 0 || p.key.numel() == 0 || b.output.numel() == 0)
    return {zeros(dq), zeros(dk), zeros(dv), zeros(dMask)};

  Tensor query = readable(p.query), key = readable(p.key),
         value = readable(p.value), output = readable(b.output),
         outputGradient = readable(b.outputGradient), lse = dense(b.lse);
  flashc::GradientArguments arguments;
  arguments.query = arrayOf(query);
  arguments.key = arrayOf(key);
  arguments.value = arrayOf(value);
  arguments.output = arrayOf(output);
  arguments.lse = arrayOf(lse);
  arguments.outputGradient = arrayOf(outputGradient);
  std::optional<Tensor> lseGradient;
  if (b.lseGradient) {
    lseGradient = dense(*b.lseGradient);
    arguments.lseGradient = arrayOf(*lseGradient);
  }
  arguments.queryGradient = arrayOf(dq);
  arguments.keyGradient = arrayOf(dk);
  arguments.valueGradient = arrayOf(dv);
  if (p.kvLengths)
    arguments.kvLengths = arrayOf(*p.kvLengths);
  if (mask)
    arguments.captures = {arrayOf(*mask)};
  if (b.maskGradient)
    arguments.captureGradients = {arrayOf(dMask)};
  flashc::Expected<uint64_t> bytes = gradients.workspace(arguments);
  if (!bytes)
    raise(bytes.error());
  // torch's allocator gives it back to this stream alone.
  Tensor workspace =
      emptyDense(p.query, {static_cast<int64_t>(*bytes)}, ScalarType::Byte);
  arguments.workspace = const_cast<void *>(workspace.const_data_ptr());
  arguments.workspaceBytes = *bytes;
  if (flashc::Status error = gradients.launch(currentStream(query), arguments))
    raise(*error);
  return {dq, dk, dv, dMask};
}
