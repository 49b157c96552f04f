//===- Attention.h - flashc's kernels on torch's tensors --------*- C++ -*-===//
//
// Everything here goes through torch's stable ABI (torch/csrc/stable) and
// flashc's C++ API: one build runs beside every torch from 2.10 on, with CUDA
// or without, and under every Python.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_INTEGRATIONS_TORCH_ATTENTION_H
#define FLASHC_INTEGRATIONS_TORCH_ATTENTION_H

#include <flashc/flashc.hpp>
#include <torch/csrc/stable/tensor.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace flashc_torch {

using torch::stable::Tensor;

/// The arguments of flashc::attention.
struct Problem {
  /// (batch, heads, queries, head dim), (batch, kv heads, keys, head dim) and
  /// (batch, kv heads, keys, value head dim), of any strides.
  Tensor query, key, value;
  /// Broadcast to (batch, heads, queries, keys): added to the scaled scores, or
  /// bool, true where a query sees a key.
  std::optional<Tensor> attnMask;
  /// i32 (batch): keys at and past a batch's number are not looked at. Read
  /// when the kernel runs.
  std::optional<Tensor> kvLengths;
  /// As flashc_attention_spec has it.
  std::string mask;
  /// Multiplies Q K^T; 1/sqrt(head dim) where there is none.
  std::optional<double> scale;
  /// Query heads may be a multiple of the key heads.
  bool enableGQA = false;
};

/// The output (batch, heads, queries, value head dim), which lies in memory as
/// (batch, queries, heads, value head dim), and the log-sum-exp in nats, f32
/// (batch, heads, queries). Runs on torch's current stream and waits for
/// nothing; on a CPU when it returns it is done. Throws std::runtime_error,
/// with a sentence on what was wrong and what to do.
std::tuple<Tensor, Tensor> attention(const Problem &problem);

/// Along which dimensions an attention mask is one element: those of size 1, or
/// also those of stride 0. A gradient has an element for each of the latter.
enum class Broadcast { Sizes, SizesAndStrides };

/// The kernel of a problem: its description with what the tensors' types,
/// shapes and strides decide.
flashc::AttentionSpec
describe(const Problem &problem,
         Broadcast broadcast = Broadcast::SizesAndStrides);

/// Adds what an attention mask and a scale that is not positive do to the
/// scores.
void addScore(flashc::AttentionSpec &spec, const Problem &problem,
              Broadcast broadcast);

/// The attention mask as the score function of `addScore` reads it: contiguous,
/// without the dimensions that it is broadcast along.
Tensor compact(const Tensor &attnMask, Broadcast broadcast);

/// Throws, naming the argument, where those of a problem do not go together.
void checkProblem(const Problem &problem);
/// Throws where `tensor` is not of this shape, dtype and the query's device.
void checkLike(const Problem &problem, const Tensor &tensor, const char *name,
               std::initializer_list<int64_t> shape,
               torch::headeronly::ScalarType dtype);

/// The tensor itself where a kernel can read it, else a contiguous copy.
Tensor readable(const Tensor &tensor);
/// A new tensor of (batch, heads, length, dim), which lies in memory as (batch,
/// length, heads, dim).
Tensor emptyHeads(const Tensor &like, int64_t batch, int64_t heads,
                  int64_t length, int64_t dim);
/// A new contiguous tensor beside `like`.
Tensor emptyDense(const Tensor &like, const std::vector<int64_t> &sizes,
                  torch::headeronly::ScalarType dtype);

/// What flashc::attention_backward takes beside the problem.
struct BackwardProblem {
  Problem problem;
  /// Of the output and, where it was used, of the log-sum-exp.
  Tensor outputGradient;
  std::optional<Tensor> lseGradient;
  /// What flashc::attention gave.
  Tensor output, lse;
  /// A gradient of `problem.attnMask` is wanted.
  bool maskGradient = false;
  bool deterministic = false;
};

/// Gradients of query, key and value, which lie in memory as the output does,
/// and of the attention mask, if it is wanted, else a tensor without elements.
/// Runs and throws as `attention` does.
std::tuple<Tensor, Tensor, Tensor, Tensor>
attentionBackward(const BackwardProblem &problem);

/// A tensor of torch as an array of flashc.
flashc::Array arrayOf(const Tensor &tensor);
/// Throws, naming the tensor, where flashc has no such element type.
flashc::DType dtypeOf(const Tensor &tensor, const char *name);

} // namespace flashc_torch

#endif // FLASHC_INTEGRATIONS_TORCH_ATTENTION_H
