//===- Attention.cpp - flashc's kernels on torch's tensors ----------------===//
#include "Attention.h"
#include "Devices.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <stdexcept>

using namespace flashc_torch;
using torch::headeronly::ScalarType;

namespace {
/// "(2, 8, 512, 64)".
std::string shapeOf(const Tensor &tensor) {
  std::ostringstream out;
  const char *separator = "(";
  for (int64_t size : tensor.sizes()) {
    out << separator << size;
    separator = ", ";
  }
  out << (tensor.dim() ? ")" : "()");
  return out.str();
}

template <typename... Parts> [[noreturn]] void fail(const Parts &...parts) {
  std::ostringstream out;
  out << "flashc::attention: ";
  (out << ... << parts);
  throw std::runtime_error(out.str());
}

void checkDevice(const Tensor &query, const Tensor &tensor, const char *name) {
  if (tensor.device() != query.device())
    fail(name, " is on another device than query; move them to one");
}

void checkQKV(const Problem &p) {
  for (auto [tensor, name] :
       {std::pair(&p.query, "query"), std::pair(&p.key, "key"),
        std::pair(&p.value, "value")}) {
    checkDevice(p.query, *tensor, name);
    if (tensor->dim() != 4)
      fail(name, " has shape ", shapeOf(*tensor),
           ", but flashc takes (batch, heads, length, head dim)");
    if (tensor->scalar_type() != p.query.scalar_type())
      fail(name, " is ", toString(tensor->scalar_type()), " and query ",
           toString(p.query.scalar_type()), "; cast them to one dtype");
  }
  if (!p.query.is_cpu() && p.query.scalar_type() == ScalarType::Float)
    fail("query is float32, but on a GPU flashc computes in float16 and "
         "bfloat16; cast query, key and value, or use torch.autocast");
  if (p.query.size(3) != p.key.size(3))
    fail("query has shape ", shapeOf(p.query), " and key ", shapeOf(p.key),
         ", but their head dims must be equal");
  if (p.key.size(1) != p.value.size(1) || p.key.size(2) != p.value.size(2))
    fail("key has shape ", shapeOf(p.key), " and value ", shapeOf(p.value),
         ", but their heads and lengths must be equal");
  if (p.key.size(0) != p.query.size(0) || p.value.size(0) != p.query.size(0))
    fail("query has shape ", shapeOf(p.query), ", key ", shapeOf(p.key),
         " and value ", shapeOf(p.value), ", but their batches must be equal");
  int64_t heads = p.query.size(1), kvHeads = p.key.size(1);
  if (heads != kvHeads && !p.enableGQA)
    fail("query has ", heads, " heads and key ", kvHeads,
         "; pass enable_gqa=True for query heads that share keys");
  if (kvHeads ? heads % kvHeads != 0 : heads != 0)
    fail("query has ", heads, " heads, which is no multiple of the ", kvHeads,
         " of key; give each key head as many query heads");
}

void checkMasks(const Problem &p) {
  if (p.attnMask) {
    checkDevice(p.query, *p.attnMask, "attn_mask");
    ScalarType dtype = p.attnMask->scalar_type();
    if (dtype != ScalarType::Bool && dtype != ScalarType::Float &&
        dtype != ScalarType::Half && dtype != ScalarType::BFloat16)
      fail("attn_mask is ", toString(dtype),
           ", but must be bool, float32, float16 or bfloat16; cast it");
    const int64_t full[] = {p.query.size(0), p.query.size(1), p.query.size(2),
                            p.key.size(2)};
    bool fits = p.attnMask->dim() == 4;
    for (int n = 0; fits && n < 4; ++n)
      fits = p.attnMask->size(n) == full[n] || p.attnMask->size(n) == 1;
    if (!fits)
      fail("attn_mask has shape ", shapeOf(*p.attnMask),
           ", which does not broadcast to (", full[0], ", ", full[1], ", ",
           full[2], ", ", full[3], "); give it these sizes, or 1");
  }
  if (p.kvLengths) {
    checkDevice(p.query, *p.kvLengths, "kv_lengths");
    if (p.kvLengths->scalar_type() != ScalarType::Int ||
        p.kvLengths->dim() != 1 || p.kvLengths->size(0) != p.query.size(0) ||
        !p.kvLengths->is_contiguous())
      fail("kv_lengths is ", toString(p.kvLengths->scalar_type()), " of shape ",
           shapeOf(*p.kvLengths), ", but must be contiguous int32 of shape (",
           p.query.size(0), ")");
  }
}

/// Lengths whose kernels are one, by docs/Runtime.md: up to the next power of
/// two, so that a context finds the kernel of a new length at once.
int64_t lengthClass(int64_t length) {
  int64_t out = 512;
  while (out < length && out < 65536)
    out *= 2;
  return out;
}

/// A new tensor beside `like`. Not torch::stable::new_empty, which looks an
/// operator up by its name: some microseconds a call.
Tensor empty(const Tensor &like, const std::vector<int64_t> &sizes,
             const std::vector<int64_t> &strides, ScalarType dtype) {
  int32_t deviceType = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &deviceType));
  AtenTensorHandle out = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
      torch::stable::detail::to<int32_t>(torch::stable::detail::from(dtype)),
      deviceType, like.get_device_index(), &out));
  return Tensor(out);
}
} // namespace

// It can read a last dimension of stride 1, and rows that begin at multiples of
// 16 bytes (or of the largest power of two that the bytes of a row are a
// multiple of).
Tensor flashc_torch::readable(const Tensor &tensor) {
  if (tensor.numel() == 0)
    return tensor;
  int64_t bytes = tensor.element_size(), width = tensor.size(3);
  int64_t need = std::gcd<int64_t>(16, width * bytes);
  bool fits = reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % need == 0;
  fits &= width == 1 || tensor.stride(3) == 1;
  for (int n = 0; n < 3; ++n)
    fits &= tensor.size(n) == 1 || tensor.stride(n) * bytes % need == 0;
  if (fits)
    return tensor;
  return tensor.is_contiguous() ? torch::stable::clone(tensor) // misaligned
                                : torch::stable::contiguous(tensor);
}

Tensor flashc_torch::emptyHeads(const Tensor &like, int64_t batch,
                                int64_t heads, int64_t length, int64_t dim) {
  return empty(like, {batch, heads, length, dim},
               {length * heads * dim, dim, heads * dim, 1}, like.scalar_type());
}

Tensor flashc_torch::emptyDense(const Tensor &like,
                                const std::vector<int64_t> &sizes,
                                ScalarType dtype) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t n = sizes.size(); n-- > 1;)
    strides[n - 1] = strides[n] * sizes[n];
  return empty(like, sizes, strides, dtype);
}

void flashc_torch::checkProblem(const Problem &problem) {
  checkQKV(problem);
  checkMasks(problem);
}

void flashc_torch::checkLike(const Problem &p, const Tensor &tensor,
                             const char *name,
                             std::initializer_list<int64_t> shape,
                             ScalarType dtype) {
  checkDevice(p.query, tensor, name);
  bool fits = tensor.dim() == static_cast<int64_t>(shape.size());
  for (size_t n = 0; fits && n < shape.size(); ++n)
    fits = tensor.size(static_cast<int64_t>(n)) == shape.begin()[n];
  if (fits && tensor.scalar_type() == dtype)
    return;
  std::ostringstream wanted;
  for (int64_t size : shape)
    wanted << (wanted.tellp() > 0 ? ", " : "") << size;
  fail(name, " is ", toString(tensor.scalar_type()), " of shape ",
       shapeOf(tensor), ", but must be ", toString(dtype), " of shape (",
       wanted.str(), "), as the attention had it");
}

flashc::DType flashc_torch::dtypeOf(const Tensor &tensor, const char *name) {
  switch (tensor.scalar_type()) {
  case ScalarType::Half:
    return flashc::DType::F16;
  case ScalarType::BFloat16:
    return flashc::DType::BF16;
  case ScalarType::Float:
    return flashc::DType::F32;
  case ScalarType::Bool: // a byte, 0 or 1
    return flashc::DType::I8;
  case ScalarType::Int:
    return flashc::DType::I32;
  default:
    fail(name, " is ", toString(tensor.scalar_type()),
         ", but flashc computes in float16, bfloat16 and, on a CPU, float32; "
         "cast it");
  }
}

flashc::Array flashc_torch::arrayOf(const Tensor &tensor) {
  flashc::Array out;
  out.data = const_cast<void *>(tensor.const_data_ptr());
  out.dtype = static_cast<int32_t>(dtypeOf(tensor, "a tensor"));
  out.rank = static_cast<int32_t>(tensor.dim());
  // A dimension of size 1 may have any stride in torch: it gets that of a
  // contiguous one.
  int64_t dense = 1;
  for (int32_t n = out.rank; n-- > 0;) {
    out.shape[n] = tensor.size(n);
    out.strides[n] = tensor.size(n) == 1 ? dense : tensor.stride(n);
    dense = out.strides[n] * out.shape[n];
  }
  return out;
}

flashc::AttentionSpec flashc_torch::describe(const Problem &p,
                                             Broadcast broadcast) {
  flashc::AttentionSpec spec;
  spec.headDim = static_cast<int32_t>(p.query.size(3));
  spec.valueHeadDim = static_cast<int32_t>(p.value.size(3));
  spec.dtype = dtypeOf(p.query, "query");
  // One query is the last one, which sees all keys: without a mask its heads'
  // rows may stand in one tile.
  bool isLast = p.query.size(2) == 1 && p.mask == "causal";
  spec.mask = isLast ? "none" : p.mask;
  spec.kvLengths = p.kvLengths.has_value();
  spec.scale = std::fabs(p.scale.value_or(0)); // 0: its own default
  // One query a step is decoding, whose keys grow: one kernel for all lengths.
  int64_t queries = p.query.size(2), keys = p.key.size(2);
  spec.length = queries > 1 ? lengthClass(std::max(queries, keys)) : 0;
  addScore(spec, p, broadcast);
  return spec;
}

std::tuple<Tensor, Tensor> flashc_torch::attention(const Problem &p) {
  checkProblem(p);
  int64_t batch = p.query.size(0), heads = p.query.size(1),
          queries = p.query.size(2);
  Tensor output = emptyHeads(p.query, batch, heads, queries, p.value.size(3));
  Tensor lse = emptyDense(p.query, {batch, heads, queries}, ScalarType::Float);
  const flashc::Context &context = contextFor(p.query);
  flashc::Expected<flashc::Kernel> kernel = context.compile(describe(p));
  if (!kernel)
    raise(kernel.error());
  if (lse.numel() == 0)
    return {output, lse};

  Tensor query = readable(p.query), key = readable(p.key),
         value = readable(p.value);
  std::optional<Tensor> attnMask;
  flashc::Arguments arguments;
  arguments.query = arrayOf(query);
  arguments.key = arrayOf(key);
  arguments.value = arrayOf(value);
  arguments.output = arrayOf(output);
  arguments.lse = arrayOf(lse);
  if (p.kvLengths)
    arguments.kvLengths = arrayOf(*p.kvLengths);
  if (p.attnMask) {
    attnMask = compact(*p.attnMask, Broadcast::SizesAndStrides);
    arguments.captures.push_back(arrayOf(*attnMask));
  }
  if (flashc::Status error = kernel->launch(currentStream(query), arguments))
    raise(*error);
  return {output, lse};
}
