//===- Ops.cpp - The operators and their kernels --------------------------===//
//
// Fake tensors, autograd and autocast are registered by flashc_torch/ops.py:
// torch's stable ABI has none of them.
//
//===----------------------------------------------------------------------===//
#include "Attention.h"

#include <torch/csrc/stable/library.h>

using namespace flashc_torch;
namespace boxed = torch::stable::detail;

namespace {
/// An argument of type str. Not to<std::string>, which in torch 2.10 and 2.11
/// leaks one string a call.
std::string takeString(StableIValue value) {
  auto handle = boxed::to<StringHandle>(value);
  size_t size = 0;
  const char *data = nullptr;
  TORCH_ERROR_CODE_CHECK(torch_string_length(handle, &size));
  TORCH_ERROR_CODE_CHECK(torch_string_c_str(handle, &data));
  std::string out(data, size);
  TORCH_ERROR_CODE_CHECK(torch_delete_string(handle));
  return out;
}

/// flashc::attention on the stack of the dispatcher: takes the arguments from
/// it and leaves the results there.
void boxedAttention(StableIValue *stack, uint64_t, uint64_t) {
  Problem problem;
  problem.query = boxed::to<Tensor>(stack[0]);
  problem.key = boxed::to<Tensor>(stack[1]);
  problem.value = boxed::to<Tensor>(stack[2]);
  problem.attnMask = boxed::to<std::optional<Tensor>>(stack[3]);
  problem.kvLengths = boxed::to<std::optional<Tensor>>(stack[4]);
  problem.mask = takeString(stack[5]);
  problem.scale = boxed::to<std::optional<double>>(stack[6]);
  problem.enableGQA = boxed::to<bool>(stack[7]);
  auto [output, lse] = attention(problem);
  stack[0] = boxed::from(output);
  stack[1] = boxed::from(lse);
}

/// flashc::attention_backward, likewise.
void boxedAttentionBackward(StableIValue *stack, uint64_t, uint64_t) {
  BackwardProblem b;
  b.outputGradient = boxed::to<Tensor>(stack[0]);
  b.lseGradient = boxed::to<std::optional<Tensor>>(stack[1]);
  b.problem.query = boxed::to<Tensor>(stack[2]);
  b.problem.key = boxed::to<Tensor>(stack[3]);
  b.problem.value = boxed::to<Tensor>(stack[4]);
  b.output = boxed::to<Tensor>(stack[5]);
  b.lse = boxed::to<Tensor>(stack[6]);
  b.problem.attnMask = boxed::to<std::optional<Tensor>>(stack[7]);
  b.problem.kvLengths = boxed::to<std::optional<Tensor>>(stack[8]);
  b.problem.mask = takeString(stack[9]);
  b.problem.scale = boxed::to<std::optional<double>>(stack[10]);
  b.problem.enableGQA = boxed::to<bool>(stack[11]);
  b.maskGradient = boxed::to<bool>(stack[12]);
  b.deterministic = boxed::to<bool>(stack[13]);
  auto [dq, dk, dv, dMask] = attentionBackward(b);
  stack[0] = boxed::from(dq);
  stack[1] = boxed::from(dk);
  stack[2] = boxed::from(dv);
  stack[3] = boxed::from(dMask);
}
} // namespace

STABLE_TORCH_LIBRARY(flashc, m) {
  m.def("attention(Tensor query, Tensor key, Tensor value, "
        "Tensor? attn_mask=None, Tensor? kv_lengths=None, str mask=\"none\", "
        "float? scale=None, bool enable_gqa=False) "
        "-> (Tensor output, Tensor lse)");
  m.def("attention_backward(Tensor grad_output, Tensor? grad_lse, "
        "Tensor query, Tensor key, Tensor value, Tensor output, Tensor lse, "
        "Tensor? attn_mask, Tensor? kv_lengths, str mask, float? scale, "
        "bool enable_gqa, bool attn_mask_grad=False, bool deterministic=False) "
        "-> (Tensor grad_query, Tensor grad_key, Tensor grad_value, "
        "Tensor grad_attn_mask)");
}

STABLE_TORCH_LIBRARY_IMPL(flashc, CPU, m) {
  m.impl("attention", boxedAttention);
  m.impl("attention_backward", boxedAttentionBackward);
}

STABLE_TORCH_LIBRARY_IMPL(flashc, CUDA, m) {
  m.impl("attention", boxedAttention);
  m.impl("attention_backward", boxedAttentionBackward);
}
