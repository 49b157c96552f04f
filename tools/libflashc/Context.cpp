// flashc.h: contexts, descriptions, compilation.
#include "Handles.h"

#include "common/Environment.h"

using namespace flashc;
using namespace flashc::capi;
using jit::KernelSpec;

// Up to the last field of a struct's first version.
static constexpr size_t kOptionsSize =
    offsetof(flashc_context_options, warning_user) + sizeof(void *);
static constexpr size_t kSpecSize =
    offsetof(flashc_attention_spec, sram) + sizeof(int64_t);

static llvm::Expected<jit::ContextOptions>
optionsOf(const flashc_context_options *given, const char *function) {
  flashc_context_options defaults = {};
  defaults.size = sizeof defaults;
  auto o = take(given ? given : &defaults, kOptionsSize, function,
                "context_options");
  if (!o)
    return o.takeError();
  if (o->assembler < FLASHC_ASSEMBLER_AUTO ||
      o->assembler > FLASHC_ASSEMBLER_DRIVER)
    return makeError("{}: assembler is {}, but is from 0 to {}; give one of "
                     "flashc_assembler",
                     function, o->assembler, int(FLASHC_ASSEMBLER_DRIVER));
  jit::ContextOptions options;
  options.target = textOr(o->target, "");
  options.device = o->device;
  options.cudaContext = o->cuda_context;
  options.cache.folder =
      o->cache_dir ? o->cache_dir : tools::defaultCacheFolder();
  if (o->cache_bytes)
    options.cache.maxDiskBytes = o->cache_bytes;
  if (o->cache_memory_bytes)
    options.cache.maxMemoryBytes = o->cache_memory_bytes;
  if (o->max_kernels)
    options.maxKernels = o->max_kernels;
  options.threads = o->threads;
  options.assembler.kind = static_cast<AssemblerKind>(o->assembler);
  options.assembler.ptxas = o->ptxas ? o->ptxas : tools::findPtxas();
  options.assembler.nvPTXCompiler =
      o->nvptxcompiler ? o->nvptxcompiler : tools::findPtxCompiler();
  if (o->warning)
    options.cache.warn = [warn = o->warning,
                          user = o->warning_user](const std::string &text) {
      warn(user, text.c_str());
    };
  return options;
}

flashc_error *flashc_context_create(const flashc_context_options *given,
                                    flashc_context **context) {
  if (llvm::Error error = checkPointer(context, __func__, "context"))
    return give(std::move(error));
  auto options = optionsOf(given, __func__);
  if (!options)
    return give(options.takeError());
  auto made = jit::Context::create(std::move(*options));
  if (!made)
    return give(made.takeError());
  *context = new flashc_context{std::move(*made)};
  return nullptr;
}

void flashc_context_free(flashc_context *context) { delete context; }

const char *flashc_context_target(const flashc_context *context) {
  return context ? context->context->target().arch.c_str() : "";
}

static llvm::Expected<CaptureSpec> captureOf(const flashc_capture &capture,
                                             const char *function) {
  CaptureSpec out;
  out.name = textOr(capture.name, "");
  out.dtype = dtypeName(capture.dtype);
  if (out.name.empty() || out.dtype.empty() || capture.rank < 0 ||
      capture.rank > FLASHC_MAX_RANK)
    return makeError("{}: capture '{}' has dtype {} and rank {}, but needs a "
                     "name, a flashc_dtype and a rank from 0 to {}",
                     function, out.name, capture.dtype, capture.rank,
                     FLASHC_MAX_RANK);
  out.shape.assign(capture.shape, capture.shape + capture.rank);
  return out;
}

static llvm::Error setAttention(const flashc_attention_spec &s,
                                const char *function, AttentionSpec &a) {
  a.headDim = s.head_dim;
  a.valueHeadDim = s.value_head_dim;
  a.heads = s.heads;
  a.kvHeads = s.kv_heads ? s.kv_heads : s.heads;
  a.dtype = s.dtype ? dtypeName(s.dtype) : "f16";
  if (a.dtype.empty())
    return makeError(
        "{}: dtype is {}, but is from 1 to {}; give a flashc_dtype", function,
        s.dtype, int(FLASHC_I64));
  a.kvLengths = s.kv_lengths != 0;
  a.withLse = s.no_lse == 0;
  if (s.scale != 0)
    a.scale = s.scale;
  a.mask = textOr(s.mask, "none");
  a.score = textOr(s.score, "");
  a.name = textOr(s.name, "attention");
  a.batch = s.batch;
  a.queries = s.queries;
  a.keys = s.keys;
  if (s.capture_count)
    if (llvm::Error error = checkPointer(s.captures, function, "captures"))
      return error;
  for (size_t i = 0; i < s.capture_count; ++i) {
    llvm::Expected<CaptureSpec> capture = captureOf(s.captures[i], function);
    if (!capture)
      return capture.takeError();
    a.captures.push_back(std::move(*capture));
  }
  return llvm::Error::success();
}

llvm::Expected<KernelSpec> capi::specOf(const flashc_attention_spec *given,
                                        const char *function) {
  auto s = take(given, kSpecSize, function, "attention_spec");
  if (!s)
    return s.takeError();
  KernelSpec spec;
  spec.mlir = textOr(s->mlir, "");
  if (spec.mlir.empty())
    if (llvm::Error error = setAttention(*s, function, spec.attention))
      return std::move(error);
  spec.tiles = textOr(s->tiles, "auto");
  spec.stages = s->stages;
  spec.warps = s->warps;
  spec.sram = s->sram;
  spec.alignment = s->alignment;
  spec.length = s->length;
  return spec;
}

jit::ProgressFunction capi::progressOf(flashc_progress_function progress,
                                       void *user) {
  static constexpr const char *kNames[jit::kSteps] = {"look up", "lower", "ptx",
                                                      "cubin", "load"};
  if (!progress)
    return nullptr;
  return [progress, user](jit::Step step) {
    int32_t number = static_cast<int32_t>(step);
    progress(user, kNames[number], number + 1, jit::kSteps);
  };
}

flashc_error *flashc_compile(flashc_context *context,
                             const flashc_attention_spec *given,
                             flashc_progress_function progress, void *user,
                             flashc_kernel **kernel) {
  if (llvm::Error error = checkPointer(context, __func__, "context"))
    return give(std::move(error));
  if (llvm::Error error = checkPointer(kernel, __func__, "kernel"))
    return give(std::move(error));
  llvm::Expected<KernelSpec> spec = specOf(given, __func__);
  if (!spec)
    return give(spec.takeError());
  auto made = context->context->compile(*spec, progressOf(progress, user));
  if (!made)
    return give(made.takeError());
  *kernel = new flashc_kernel(std::move(*made));
  return nullptr;
}

flashc_error *flashc_compile_async(flashc_context *context,
                                   const flashc_attention_spec *given,
                                   flashc_progress_function progress,
                                   void *user, flashc_future **future) {
  if (llvm::Error error = checkPointer(context, __func__, "context"))
    return give(std::move(error));
  if (llvm::Error error = checkPointer(future, __func__, "future"))
    return give(std::move(error));
  llvm::Expected<KernelSpec> spec = specOf(given, __func__);
  if (!spec)
    return give(spec.takeError());
  *future = new flashc_future{context->context->compileAsync(
      std::move(*spec), progressOf(progress, user))};
  return nullptr;
}

int32_t flashc_future_wait(flashc_future *future, uint32_t milliseconds) {
  return future &&
         future->pending->waitFor(std::chrono::milliseconds(milliseconds));
}

flashc_error *flashc_future_get(flashc_future *future, flashc_kernel **kernel) {
  if (llvm::Error error = checkPointer(future, __func__, "future"))
    return give(std::move(error));
  if (llvm::Error error = checkPointer(kernel, __func__, "kernel"))
    return give(std::move(error));
  auto made = future->pending->get();
  if (!made)
    return give(made.takeError());
  *kernel = new flashc_kernel(std::move(*made));
  return nullptr;
}

void flashc_future_free(flashc_future *future) { delete future; }

flashc_error *flashc_load(flashc_context *context, const char *path,
                          const char *name, flashc_kernel **kernel) {
  for (auto [pointer, what] :
       {std::pair<const void *, const char *>(context, "context"),
        {path, "path"},
        {kernel, "kernel"}})
    if (llvm::Error error = checkPointer(pointer, __func__, what))
      return give(std::move(error));
  auto made = context->context->load(path, textOr(name, ""));
  if (!made)
    return give(made.takeError());
  *kernel = new flashc_kernel(std::move(*made));
  return nullptr;
}
