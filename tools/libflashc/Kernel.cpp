// flashc.h: launching a kernel and looking at it.
#include "Handles.h"

#include "llvm/Support/FormatVariadic.h"

using namespace flashc;
using namespace flashc::capi;

// Up to the last field of a struct's first version.
static constexpr size_t kArgumentsSize =
    offsetof(flashc_arguments, capture_count) + sizeof(size_t);
static constexpr size_t kInfoSize =
    offsetof(flashc_kernel_info, spill_bytes) + sizeof(int64_t);

flashc_kernel::flashc_kernel(std::shared_ptr<const jit::Kernel> given)
    : kernel(std::move(given)) {
  for (const KernelParam &param : kernel->manifest().params)
    dtypes.push_back(dtypeOf(param.elementType));
}

void flashc_kernel_free(flashc_kernel *kernel) { delete kernel; }

/// The caller's array for a parameter; null where there is none.
static const flashc_array *arrayFor(ParamKind kind, const flashc_arguments &a,
                                    size_t &capture) {
  switch (kind) {
  case ParamKind::Query:
    return &a.query;
  case ParamKind::Key:
    return &a.key;
  case ParamKind::Value:
    return &a.value;
  case ParamKind::KvLengths:
    return &a.kv_lengths;
  case ParamKind::Capture:
    return capture < a.capture_count && a.captures ? &a.captures[capture++]
                                                   : nullptr;
  case ParamKind::Output:
    return &a.output;
  case ParamKind::Lse:
    return &a.lse;
  }
  return nullptr;
}

static llvm::Error checkArray(const std::string &kernel,
                              const KernelParam &param, int32_t dtype,
                              const flashc_array *array) {
  if (!array || array->dtype == 0)
    return makeError("kernel '{}', array '{}': it is not given; fill in the "
                     "argument of that name",
                     kernel, param.name);
  if (array->dtype != dtype)
    return makeError("kernel '{}', array '{}': its dtype is {} ({}), but the "
                     "kernel takes {}; convert it, or compile a kernel for it",
                     kernel, param.name, dtypeName(array->dtype), array->dtype,
                     param.elementType);
  if (array->rank < 0 || array->rank > FLASHC_MAX_RANK)
    return makeError("kernel '{}', array '{}': its rank is {}, but is from 0 "
                     "to {}; give its number of dimensions",
                     kernel, param.name, array->rank, FLASHC_MAX_RANK);
  return llvm::Error::success();
}

flashc_error *flashc_launch(flashc_kernel *kernel, void *stream,
                            const flashc_arguments *given) {
  if (llvm::Error error = checkPointer(kernel, __func__, "kernel"))
    return give(std::move(error));
  auto arguments = take(given, kArgumentsSize, __func__, "arguments");
  if (!arguments)
    return give(arguments.takeError());
  const Manifest &manifest = kernel->kernel->manifest();
  llvm::SmallVector<ArrayArg, 8> args;
  size_t capture = 0;
  for (auto [param, dtype] : llvm::zip_equal(manifest.params, kernel->dtypes)) {
    const flashc_array *array = arrayFor(param.kind, *arguments, capture);
    if (llvm::Error error =
            checkArray(kernel->kernel->image().name, param, dtype, array))
      return give(std::move(error));
    ArrayArg &arg = args.emplace_back();
    arg.pointer = reinterpret_cast<uint64_t>(array->data);
    arg.shape.assign(array->shape, array->shape + array->rank);
    arg.strides.assign(array->strides, array->strides + array->rank);
  }
  if (capture != arguments->capture_count)
    return give(makeError("kernel '{}': {} captures are given, but it takes "
                          "{}; give those of its description",
                          kernel->kernel->image().name,
                          arguments->capture_count, capture));
  return give(kernel->kernel->launch(args, stream));
}

const char *capi::originName(CacheOrigin origin) {
  return origin == CacheOrigin::Memory ? "memory"
         : origin == CacheOrigin::Disk ? "disk"
                                       : "compiled";
}

flashc_error *flashc_kernel_get_info(const flashc_kernel *given,
                                     flashc_kernel_info *out) {
  if (llvm::Error error = checkPointer(given, __func__, "kernel"))
    return give(std::move(error));
  flashc_kernel_info known{};
  if (llvm::Error error = takeStruct(out, &known, sizeof known, kInfoSize,
                                     __func__, "kernel_info"))
    return give(std::move(error));
  auto *kernel = const_cast<flashc_kernel *>(given); // to describe it
  const KernelImage &image = kernel->kernel->image();
  std::call_once(kernel->described, [&] {
    kernel->manifest = llvm::formatv("{0:2}", image.manifest.toJSON()).str();
  });
  size_t size = known.size;
  bool onCPU = image.arch == "cpu";
  known = {size,
           image.name.c_str(),
           image.arch.c_str(),
           image.ptx.c_str(),
           image.cubin.empty() ? nullptr : image.cubin.data(),
           image.cubin.size(),
           !image.assembler.empty() ? image.assembler.c_str()
           : onCPU                  ? ""
                                    : "driver",
           originName(kernel->kernel->origin()),
           kernel->manifest.c_str(),
           image.manifest.qBlock,
           image.manifest.kvBlock,
           image.manifest.stages,
           image.manifest.threads(),
           image.manifest.sharedBytes,
           kernel->kernel->registers(),
           kernel->kernel->spillBytes()};
  std::memcpy(out, &known, std::min(size, sizeof known));
  return nullptr;
}

flashc_error *flashc_kernel_explain(const flashc_kernel *kernel, int64_t batch,
                                    int64_t heads, int64_t kvHeads,
                                    int64_t queries, int64_t keys,
                                    char **text) {
  if (llvm::Error error = checkPointer(kernel, __func__, "kernel"))
    return give(std::move(error));
  if (llvm::Error error = checkPointer(text, __func__, "text"))
    return give(std::move(error));
  constexpr int64_t kMost = int64_t(1) << 24;
  for (int64_t size : {batch, heads, kvHeads, queries, keys})
    if (size < 0 || size > kMost)
      return give(makeError("{}: a size is {}, but sizes are from 0 to 2^24; "
                            "give another one",
                            __func__, size));
  auto report = kernel->kernel->explain({batch, heads, kvHeads, queries, keys});
  if (!report)
    return give(report.takeError());
  *text = strdup(report->c_str());
  return nullptr;
}
