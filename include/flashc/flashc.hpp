//===- flashc.hpp - Attention kernels, compiled when asked for --*- C++ -*-===//
//
// The C++ API: a header over flashc.h, so that any compiler and any C++ library
// can use libflashc.so. C++17 and the standard library alone; nothing throws.
//
//   auto context = flashc::Context::create();
//   flashc::AttentionSpec spec;
//   spec.withHeadDim(128).withHeads(32, 8).withMask("causal");
//   auto kernel = context->compile(spec);
//   auto error = kernel->launch(stream, arguments);
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_FLASHC_HPP
#define FLASHC_FLASHC_HPP

#include "flashc/flashc.h"
#include "flashc/score.hpp"

#include <array>
#include <cassert>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace flashc {
inline namespace v0 {

/// A sentence about what went wrong and what to do.
class [[nodiscard]] Error {
public:
  explicit Error(std::string message) : text(std::move(message)) {}
  const std::string &message() const { return text; }

private:
  std::string text;
};

/// Success, or an error.
using Status = std::optional<Error>;

/// A value, or why there is none. Look before you take it.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T value) : content(std::move(value)) {}
  Expected(Error error) : content(std::move(error)) {}

  explicit operator bool() const { return content.index() == 0; }
  T &operator*() { return *get(); }
  T *operator->() { return get(); }
  const Error &error() const {
    assert(!*this && "there is a value and no error");
    return *std::get_if<1>(&content);
  }

private:
  T *get() {
    assert(*this && "there is an error and no value");
    return std::get_if<0>(&content);
  }
  std::variant<T, Error> content;
};

namespace detail {
inline Error take(flashc_error *error) {
  Error out(flashc_error_message(error));
  flashc_error_free(error);
  return out;
}
inline const char *orNull(const std::string &text) {
  return text.empty() ? nullptr : text.c_str();
}
} // namespace detail

/// What kernel is wanted. The fields are those of flashc_attention_spec; the
/// functions fill in what belongs together.
struct AttentionSpec {
  int32_t headDim = 0, valueHeadDim = 0;
  /// 0: known at the launch.
  int32_t heads = 0, kvHeads = 0;
  DType dtype = DType::F16;
  /// The kernel takes the number of keys of each batch from device memory.
  bool kvLengths = false;
  /// The kernel writes the log-sum-exp.
  bool lse = true;
  /// 0: 1/sqrt(headDim).
  double scale = 0;
  std::string mask;
  /// A score region, and the tensors that it reads.
  std::string score;
  std::vector<Score::CaptureInfo> captures;
  /// A whole module instead of all above.
  std::string mlir;
  std::string name;
  /// Full specialisation: sizes that the kernel is for alone.
  int64_t batch = 0, queries = 0, keys = 0;
  /// The schedule.
  int64_t length = 0, sram = 0;
  int32_t alignment = 0, stages = 0, warps = 0;
  std::string tiles;

  AttentionSpec &withHeadDim(int32_t d, int32_t dv = 0) {
    headDim = d;
    valueHeadDim = dv;
    return *this;
  }
  AttentionSpec &withHeads(int32_t hq, int32_t hkv = 0) {
    heads = hq;
    kvHeads = hkv;
    return *this;
  }
  AttentionSpec &withDType(DType type) {
    dtype = type;
    return *this;
  }
  AttentionSpec &withMask(std::string text) {
    mask = std::move(text);
    return *this;
  }
  AttentionSpec &withKvLengths() {
    kvLengths = true;
    return *this;
  }
  AttentionSpec &withoutLse() {
    lse = false;
    return *this;
  }
  AttentionSpec &withScale(double value) {
    scale = value;
    return *this;
  }
  AttentionSpec &withScore(const Score &function) {
    score = function.text();
    captures = function.captures();
    return *this;
  }
  AttentionSpec &withLength(int64_t typical) {
    length = typical;
    return *this;
  }
  AttentionSpec &withAlignment(int32_t bytes) {
    alignment = bytes;
    return *this;
  }
  /// A kernel for these sizes alone.
  AttentionSpec &specialized(int64_t b, int64_t sq, int64_t sk) {
    batch = b;
    queries = sq;
    keys = sk;
    return *this;
  }
};

namespace detail {
/// A description as the C API takes it; points into the original.
struct SpecView {
  explicit SpecView(const AttentionSpec &s) {
    for (const Score::CaptureInfo &info : s.captures) {
      flashc_capture capture = {};
      capture.name = info.name.c_str();
      capture.dtype = static_cast<int32_t>(info.dtype);
      capture.rank = static_cast<int32_t>(info.shape.size());
      for (size_t i = 0; i < info.shape.size() && i < FLASHC_MAX_RANK; ++i)
        capture.shape[i] = info.shape[i];
      captures.push_back(capture);
    }
    c.size = sizeof c;
    c.head_dim = s.headDim;
    c.value_head_dim = s.valueHeadDim;
    c.heads = s.heads;
    c.kv_heads = s.kvHeads;
    c.dtype = static_cast<int32_t>(s.dtype);
    c.kv_lengths = s.kvLengths;
    c.no_lse = !s.lse;
    c.scale = s.scale;
    c.mask = orNull(s.mask);
    c.score = orNull(s.score);
    c.captures = captures.data();
    c.capture_count = captures.size();
    c.mlir = orNull(s.mlir);
    c.name = orNull(s.name);
    c.batch = s.batch;
    c.queries = s.queries;
    c.keys = s.keys;
    c.length = s.length;
    c.alignment = s.alignment;
    c.stages = s.stages;
    c.warps = s.warps;
    c.tiles = orNull(s.tiles);
    c.sram = s.sram;
  }
  std::vector<flashc_capture> captures;
  flashc_attention_spec c = {};
};
} // namespace detail

/// An array on the device (or, for the target "cpu", in this process): see
/// flashc_array.
struct Array : flashc_array {
  Array() : flashc_array{} {}
  /// Any sizes, at most 4, with strides in elements.
  Array(void *data, DType dtype, const std::vector<int64_t> &sizes,
        const std::vector<int64_t> &steps)
      : flashc_array{} {
    this->data = data;
    this->dtype = static_cast<int32_t>(dtype);
    rank = static_cast<int32_t>(sizes.size());
    for (size_t i = 0; i < sizes.size() && i < FLASHC_MAX_RANK; ++i)
      shape[i] = sizes[i];
    for (size_t i = 0; i < steps.size() && i < FLASHC_MAX_RANK; ++i)
      strides[i] = steps[i];
  }
  /// Contiguous, in the order of its sizes.
  static Array dense(void *data, DType dtype,
                     const std::vector<int64_t> &sizes) {
    std::vector<int64_t> steps(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;)
      steps[i - 1] = steps[i] * sizes[i];
    return Array(data, dtype, sizes, steps);
  }
  /// Q, K, V or O, contiguous as batch, length, heads, head dim.
  static Array bshd(void *data, DType dtype, int64_t batch, int64_t length,
                    int64_t heads, int64_t dim) {
    return Array(data, dtype, {batch, heads, length, dim},
                 {length * heads * dim, dim, heads * dim, 1});
  }
  /// Q, K, V or O, contiguous as batch, heads, length, head dim.
  static Array bhsd(void *data, DType dtype, int64_t batch, int64_t heads,
                    int64_t length, int64_t dim) {
    return dense(data, dtype, {batch, heads, length, dim});
  }
};

/// Of a launch: see flashc_arguments. Arrays that the kernel does not take are
/// left alone.
struct Arguments {
  Array query, key, value, output, lse, kvLengths;
  std::vector<Array> captures;
};

/// See flashc_kernel_info. Pointers are valid as long as the kernel.
using KernelInfo = flashc_kernel_info;

/// A compiled kernel. Copies share it.
class Kernel {
public:
  explicit Kernel(flashc_kernel *kernel) : handle(kernel, flashc_kernel_free) {}

  /// Check the arguments and run, on `stream` (a CUstream or cudaStream_t)
  /// without waiting, or on the CPU until it is done.
  [[nodiscard]] Status launch(void *stream, const Arguments &arguments) const {
    flashc_arguments c = {};
    c.size = sizeof c;
    c.query = arguments.query;
    c.key = arguments.key;
    c.value = arguments.value;
    c.output = arguments.output;
    c.lse = arguments.lse;
    c.kv_lengths = arguments.kvLengths;
    static_assert(sizeof(Array) == sizeof(flashc_array), "no more than that");
    c.captures = arguments.captures.data();
    c.capture_count = arguments.captures.size();
    if (flashc_error *error = flashc_launch(handle.get(), stream, &c))
      return detail::take(error);
    return std::nullopt;
  }

  KernelInfo info() const {
    KernelInfo out = {};
    out.size = sizeof out;
    // Fails on NULL alone.
    flashc_error_free(flashc_kernel_get_info(handle.get(), &out));
    return out;
  }

  /// What a launch of this size costs, by formula.
  Expected<std::string> explain(int64_t batch, int64_t heads, int64_t kvHeads,
                                int64_t queries, int64_t keys) const {
    char *text = nullptr;
    if (flashc_error *error = flashc_kernel_explain(
            handle.get(), batch, heads, kvHeads, queries, keys, &text))
      return detail::take(error);
    std::string out(text);
    flashc_string_free(text);
    return out;
  }

  flashc_kernel *get() const { return handle.get(); }

private:
  std::shared_ptr<flashc_kernel> handle;
};

/// What is wanted beside dQ, dK and dV: see flashc_gradient_options.
struct GradientOptions {
  /// Numbers of captured tensors, ascending.
  std::vector<int32_t> captures;
  bool lseGradient = false, deterministic = false;
};

/// Of a launch of gradients: see flashc_gradient_arguments.
struct GradientArguments {
  Array query, key, value, output, lse, outputGradient, lseGradient;
  Array queryGradient, keyGradient, valueGradient;
  Array kvLengths;
  std::vector<Array> captures, captureGradients;
  /// Of device memory, at a multiple of 16 bytes.
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
};

/// See flashc_gradients_info. Pointers are valid as long as the gradients.
using GradientsInfo = flashc_gradients_info;

/// The gradients of an attention. Copies share them.
class Gradients {
public:
  explicit Gradients(flashc_gradients *gradients)
      : handle(gradients, flashc_gradients_free) {}

  /// Bytes of workspace that a launch with arrays of these shapes takes.
  Expected<uint64_t> workspace(const GradientArguments &arguments) const {
    flashc_gradient_arguments c = viewOf(arguments);
    uint64_t bytes = 0;
    if (flashc_error *error =
            flashc_gradients_workspace(handle.get(), &c, &bytes))
      return detail::take(error);
    return bytes;
  }

  /// Check the arguments and run, on `stream` (a CUstream or cudaStream_t)
  /// without waiting, or on the CPU until it is done.
  [[nodiscard]] Status launch(void *stream,
                              const GradientArguments &arguments) const {
    flashc_gradient_arguments c = viewOf(arguments);
    if (flashc_error *error =
            flashc_launch_gradients(handle.get(), stream, &c))
      return detail::take(error);
    return std::nullopt;
  }

  GradientsInfo info() const {
    GradientsInfo out = {};
    out.size = sizeof out;
    // Fails on NULL alone.
    flashc_error_free(flashc_gradients_get_info(handle.get(), &out));
    return out;
  }

  flashc_gradients *get() const { return handle.get(); }

private:
  static flashc_gradient_arguments viewOf(const GradientArguments &arguments) {
    flashc_gradient_arguments c = {};
    c.size = sizeof c;
    c.query = arguments.query;
    c.key = arguments.key;
    c.value = arguments.value;
    c.output = arguments.output;
    c.lse = arguments.lse;
    c.output_gradient = arguments.outputGradient;
    c.lse_gradient = arguments.lseGradient;
    c.query_gradient = arguments.queryGradient;
    c.key_gradient = arguments.keyGradient;
    c.value_gradient = arguments.valueGradient;
    c.kv_lengths = arguments.kvLengths;
    c.captures = arguments.captures.data();
    c.capture_count = arguments.captures.size();
    c.capture_gradients = arguments.captureGradients.data();
    c.capture_gradient_count = arguments.captureGradients.size();
    c.workspace = arguments.workspace;
    c.workspace_bytes = arguments.workspaceBytes;
    return c;
  }
  std::shared_ptr<flashc_gradients> handle;
};

/// The name of a step, its number and how many there are at most.
using Progress = std::function<void(std::string_view, int, int)>;

/// A kernel that is being compiled. With a progress function, it waits for the
/// compilation when it is destroyed.
class Future {
public:
  bool waitFor(std::chrono::milliseconds patience) {
    return flashc_future_wait(handle.get(),
                              static_cast<uint32_t>(patience.count())) != 0;
  }
  Expected<Kernel> get() {
    flashc_kernel *kernel = nullptr;
    if (flashc_error *error = flashc_future_get(handle.get(), &kernel))
      return detail::take(error);
    return Kernel(kernel);
  }

  Future(Future &&) = default;
  Future &operator=(Future &&) = default;
  ~Future() {
    if (handle && progress)
      while (!waitFor(std::chrono::hours(1)))
        ;
  }

private:
  friend class Context;
  Future() : handle(nullptr, flashc_future_free) {}
  std::unique_ptr<Progress> progress; // outlives the handle
  std::unique_ptr<flashc_future, void (*)(flashc_future *)> handle;
};

enum class Assembler {
  Auto = FLASHC_ASSEMBLER_AUTO,
  NvPTXCompiler = FLASHC_ASSEMBLER_NVPTXCOMPILER,
  Ptxas = FLASHC_ASSEMBLER_PTXAS,
  Driver = FLASHC_ASSEMBLER_DRIVER
};

/// See flashc_context_options.
struct ContextOptions {
  /// Empty: what the device runs.
  std::string target;
  /// -1: none.
  int32_t device = 0;
  void *cudaContext = nullptr;
  /// Not set: the default; "": none.
  std::optional<std::string> cacheDir;
  uint64_t cacheBytes = 0, cacheMemoryBytes = 0;
  uint32_t maxKernels = 0, threads = 0;
  Assembler assembler = Assembler::Auto;
  std::string ptxas, nvPTXCompiler;
  std::function<void(std::string_view)> warning;
};

/// Compiles for one target. Copies share it.
class Context {
public:
  static Expected<Context> create(const ContextOptions &options = {}) {
    Context out;
    flashc_context_options c = {};
    c.size = sizeof c;
    c.target = detail::orNull(options.target);
    c.device = options.device;
    c.assembler = static_cast<int32_t>(options.assembler);
    c.cuda_context = options.cudaContext;
    c.cache_dir = options.cacheDir ? options.cacheDir->c_str() : nullptr;
    c.cache_bytes = options.cacheBytes;
    c.cache_memory_bytes = options.cacheMemoryBytes;
    c.max_kernels = options.maxKernels;
    c.threads = options.threads;
    c.ptxas = detail::orNull(options.ptxas);
    c.nvptxcompiler = detail::orNull(options.nvPTXCompiler);
    if (options.warning) {
      out.shared->warning = options.warning;
      c.warning = [](void *user, const char *text) {
        static_cast<Shared *>(user)->warning(text);
      };
      c.warning_user = out.shared.get();
    }
    if (flashc_error *error = flashc_context_create(&c, &out.shared->handle))
      return detail::take(error);
    return out;
  }

  /// "sm_90a".
  std::string target() const { return flashc_context_target(get()); }

  Expected<Kernel> compile(const AttentionSpec &spec,
                           const Progress &progress = nullptr) const {
    detail::SpecView view(spec);
    flashc_kernel *kernel = nullptr;
    Progress copy = progress;
    if (flashc_error *error =
            flashc_compile(get(), &view.c, progress ? report : nullptr, &copy,
                           &kernel))
      return detail::take(error);
    return Kernel(kernel);
  }

  /// The gradients of an attention: see flashc_compile_gradients.
  Expected<Gradients>
  compileGradients(const AttentionSpec &spec,
                   const GradientOptions &options = {},
                   const Progress &progress = nullptr) const {
    detail::SpecView view(spec);
    flashc_gradient_options c = {};
    c.size = sizeof c;
    c.deterministic = options.deterministic;
    c.lse_gradient = options.lseGradient;
    c.captures = options.captures.data();
    c.capture_count = options.captures.size();
    flashc_gradients *gradients = nullptr;
    Progress copy = progress;
    if (flashc_error *error = flashc_compile_gradients(
            get(), &view.c, &c, progress ? report : nullptr, &copy,
            &gradients))
      return detail::take(error);
    return Gradients(gradients);
  }

  /// In the background; `progress` is called by another thread.
  Expected<Future> compileAsync(const AttentionSpec &spec,
                                Progress progress = nullptr) const {
    detail::SpecView view(spec);
    Future out;
    if (progress)
      out.progress = std::make_unique<Progress>(std::move(progress));
    flashc_future *future = nullptr;
    if (flashc_error *error = flashc_compile_async(
            get(), &view.c, out.progress ? report : nullptr, out.progress.get(),
            &future))
      return detail::take(error);
    out.handle.reset(future);
    return out;
  }

  /// A kernel compiled before: see flashc_load.
  Expected<Kernel> load(const std::string &path,
                        const std::string &name = "") const {
    flashc_kernel *kernel = nullptr;
    if (flashc_error *error = flashc_load(get(), path.c_str(),
                                          detail::orNull(name), &kernel))
      return detail::take(error);
    return Kernel(kernel);
  }

  flashc_context *get() const { return shared->handle; }

private:
  struct Shared {
    ~Shared() { flashc_context_free(handle); }
    std::function<void(std::string_view)> warning; // outlives the handle
    flashc_context *handle = nullptr;
  };
  Context() : shared(std::make_shared<Shared>()) {}
  static void report(void *user, const char *name, int32_t step,
                     int32_t steps) {
    (*static_cast<Progress *>(user))(name, step, steps);
  }
  std::shared_ptr<Shared> shared;
};

} // namespace v0
} // namespace flashc

#endif // FLASHC_FLASHC_HPP
