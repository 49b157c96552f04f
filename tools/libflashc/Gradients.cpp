// flashc.h: gradients.
#include "Handles.h"

#include "llvm/Support/FormatVariadic.h"

using namespace flashc;
using namespace flashc::capi;

// Up to the last field of a struct's first version.
static constexpr size_t kOptionsSize =
    offsetof(flashc_gradient_options, capture_count) + sizeof(size_t);
static constexpr size_t kArgumentsSize =
    offsetof(flashc_gradient_arguments, workspace_bytes) + sizeof(uint64_t);
static constexpr size_t kInfoSize =
    offsetof(flashc_gradients_info, manifest) + sizeof(char *);

flashc_gradients::flashc_gradients(std::shared_ptr<const jit::Gradients> given)
    : gradients(std::move(given)) {}

void flashc_gradients_free(flashc_gradients *gradients) { delete gradients; }

static llvm::Expected<jit::GradientSpec>
gradientSpecOf(const flashc_gradient_options *given, const char *function) {
  jit::GradientSpec spec;
  if (!given)
    return spec;
  auto options = take(given, kOptionsSize, function, "gradient_options");
  if (!options)
    return options.takeError();
  if (options->capture_count)
    if (llvm::Error error =
            checkPointer(options->captures, function, "captures"))
      return std::move(error);
  spec.deterministic = options->deterministic != 0;
  spec.lseGradient = options->lse_gradient != 0;
  spec.captures.assign(options->captures,
                       options->captures + options->capture_count);
  return spec;
}

flashc_error *flashc_compile_gradients(flashc_context *context,
                                       const flashc_attention_spec *given,
                                       const flashc_gradient_options *options,
                                       flashc_progress_function progress,
                                       void *user,
                                       flashc_gradients **gradients) {
  if (llvm::Error error = checkPointer(context, __func__, "context"))
    return give(std::move(error));
  if (llvm::Error error = checkPointer(gradients, __func__, "gradients"))
    return give(std::move(error));
  llvm::Expected<jit::KernelSpec> spec = specOf(given, __func__);
  if (!spec)
    return give(spec.takeError());
  llvm::Expected<jit::GradientSpec> wanted = gradientSpecOf(options, __func__);
  if (!wanted)
    return give(wanted.takeError());
  spec->attention.withLse = true; // the forward's, which they read
  spec->gradients = std::move(*wanted);
  auto made =
      context->context->compileGradients(*spec, progressOf(progress, user));
  if (!made)
    return give(made.takeError());
  *gradients = new flashc_gradients(std::move(*made));
  return nullptr;
}

namespace {
/// The caller's arrays by the names of the program.
class ArrayTaker {
public:
  ArrayTaker(const ProgramManifest &manifest,
             const flashc_gradient_arguments &given)
      : manifest(manifest), given(given) {}
  llvm::Error run();
  llvm::StringMap<ArrayArg> arrays;

private:
  llvm::Error add(const std::string &name, const flashc_array &array,
                  llvm::StringRef dtype);
  llvm::Error addCaptures();

  const ProgramManifest &manifest;
  const flashc_gradient_arguments &given;
};
} // namespace

llvm::Error ArrayTaker::add(const std::string &name, const flashc_array &array,
                            llvm::StringRef dtype) {
  if (array.dtype == 0)
    return makeError("gradients, array '{}': it is not given; fill in the "
                     "argument of that name",
                     name);
  if (array.dtype != dtypeOf(dtype))
    return makeError("gradients, array '{}': its dtype is {} ({}), but they "
                     "take {}; convert it, or compile others",
                     name, dtypeName(array.dtype), array.dtype, dtype.str());
  if (array.rank < 0 || array.rank > FLASHC_MAX_RANK)
    return makeError("gradients, array '{}': its rank is {}, but is from 0 to "
                     "{}; give its number of dimensions",
                     name, array.rank, FLASHC_MAX_RANK);
  ArrayArg &arg = arrays[name];
  arg.pointer = reinterpret_cast<uint64_t>(array.data);
  arg.shape.assign(array.shape, array.shape + array.rank);
  arg.strides.assign(array.strides, array.strides + array.rank);
  return llvm::Error::success();
}

llvm::Error ArrayTaker::addCaptures() {
  if (given.capture_count != manifest.captures.size())
    return makeError("gradients: {} captures are given, but they take {}; give "
                     "those of the description",
                     given.capture_count, manifest.captures.size());
  if (given.capture_gradient_count != manifest.gradients.size())
    return makeError("gradients: {} gradients of captures are given, but they "
                     "write {}; give those that were asked for",
                     given.capture_gradient_count, manifest.gradients.size());
  for (size_t i = 0; i < given.capture_count; ++i)
    if (llvm::Error error = add("capture" + std::to_string(i),
                                given.captures[i], manifest.captureTypes[i]))
      return error;
  for (size_t i = 0; i < given.capture_gradient_count; ++i) {
    std::string number = std::to_string(manifest.gradients[i]);
    if (llvm::Error error = add("dcapture" + number, given.capture_gradients[i],
                                manifest.captureTypes[manifest.gradients[i]]))
      return error;
    ArrayArg &gradient = arrays["dcapture" + number];
    const ArrayArg &capture = arrays["capture" + number];
    if (gradient.shape != capture.shape)
      return makeError("gradients, array 'dcapture{}': its shape is ({}), but "
                       "that of the capture is ({}); give it the same",
                       number, fmt::join(gradient.shape, ", "),
                       fmt::join(capture.shape, ", "));
    // The program writes it flat.
    int64_t elements = 1;
    for (size_t dim = gradient.shape.size(); dim-- > 0;) {
      if (gradient.shape[dim] > 1 && gradient.strides[dim] != elements)
        return makeError("gradients, array 'dcapture{}': dimension {} has "
                         "stride {}, but {} is needed; make it contiguous",
                         number, dim, gradient.strides[dim], elements);
      elements *= gradient.shape[dim];
    }
    gradient.shape = {elements};
    gradient.strides = {1};
  }
  return llvm::Error::success();
}

llvm::Error ArrayTaker::run() {
  const std::pair<const char *, const flashc_array *> tensors[] = {
      {"q", &given.query},
      {"k", &given.key},
      {"v", &given.value},
      {"o", &given.output},
      {"do", &given.output_gradient},
      {"dq", &given.query_gradient},
      {"dk", &given.key_gradient},
      {"dv", &given.value_gradient}};
  for (auto [name, array] : tensors)
    if (llvm::Error error = add(name, *array, manifest.dtype))
      return error;
  if (llvm::Error error = add("lse", given.lse, "f32"))
    return error;
  if (manifest.lseGradient)
    if (llvm::Error error = add("dlse", given.lse_gradient, "f32"))
      return error;
  if (manifest.kvLengths)
    if (llvm::Error error = add("kv_lengths", given.kv_lengths, "i32"))
      return error;
  return addCaptures();
}

static llvm::Expected<llvm::StringMap<ArrayArg>>
arraysOf(const flashc_gradients &gradients,
         const flashc_gradient_arguments &arguments, const char *function) {
  for (auto [count, array, what] :
       {std::tuple(arguments.capture_count, arguments.captures, "captures"),
        {arguments.capture_gradient_count, arguments.capture_gradients,
         "capture_gradients"}})
    if (count)
      if (llvm::Error error = checkPointer(array, function, what))
        return std::move(error);
  ArrayTaker taker(gradients.gradients->manifest(), arguments);
  if (llvm::Error error = taker.run())
    return std::move(error);
  return std::move(taker.arrays);
}

namespace {
/// A call's arguments, looked at.
struct Prepared {
  flashc_gradient_arguments given;
  llvm::StringMap<ArrayArg> arrays;
  size_t workspaceBytes = 0; // as many are needed
};
} // namespace

static llvm::Expected<Prepared> prepare(const flashc_gradients *gradients,
                                        const flashc_gradient_arguments *given,
                                        const char *function) {
  if (llvm::Error error = checkPointer(gradients, function, "gradients"))
    return std::move(error);
  auto arguments = take(given, kArgumentsSize, function, "gradient_arguments");
  if (!arguments)
    return arguments.takeError();
  auto arrays = arraysOf(*gradients, *arguments, function);
  if (!arrays)
    return arrays.takeError();
  llvm::Expected<size_t> bytes = gradients->gradients->workspaceBytes(*arrays);
  if (!bytes)
    return bytes.takeError();
  return Prepared{*arguments, std::move(*arrays), *bytes};
}

flashc_error *flashc_gradients_workspace(const flashc_gradients *gradients,
                                         const flashc_gradient_arguments *given,
                                         uint64_t *bytes) {
  if (llvm::Error error = checkPointer(bytes, __func__, "bytes"))
    return give(std::move(error));
  llvm::Expected<Prepared> prepared = prepare(gradients, given, __func__);
  if (!prepared)
    return give(prepared.takeError());
  *bytes = prepared->workspaceBytes;
  return nullptr;
}

flashc_error *flashc_launch_gradients(flashc_gradients *gradients, void *stream,
                                      const flashc_gradient_arguments *given) {
  llvm::Expected<Prepared> prepared = prepare(gradients, given, __func__);
  if (!prepared)
    return give(prepared.takeError());
  const flashc_gradient_arguments &arguments = prepared->given;
  if (prepared->workspaceBytes > arguments.workspace_bytes)
    return give(makeError("{}: the workspace has {} bytes, but {} are needed; "
                          "ask flashc_gradients_workspace",
                          __func__, arguments.workspace_bytes,
                          prepared->workspaceBytes));
  if (prepared->workspaceBytes)
    if (llvm::Error error =
            checkPointer(arguments.workspace, __func__, "workspace"))
      return give(std::move(error));
  return give(gradients->gradients->launch(
      prepared->arrays, reinterpret_cast<uint64_t>(arguments.workspace),
      stream));
}

flashc_error *flashc_gradients_get_info(const flashc_gradients *given,
                                        flashc_gradients_info *out) {
  if (llvm::Error error = checkPointer(given, __func__, "gradients"))
    return give(std::move(error));
  flashc_gradients_info known{};
  if (llvm::Error error = takeStruct(out, &known, sizeof known, kInfoSize,
                                     __func__, "gradients_info"))
    return give(std::move(error));
  auto *gradients = const_cast<flashc_gradients *>(given); // to describe it
  std::call_once(gradients->described, [&] {
    gradients->manifest =
        llvm::formatv("{0:2}", gradients->gradients->manifest().toJSON()).str();
  });
  size_t size = known.size;
  known = {size, gradients->gradients->target().arch.c_str(),
           originName(gradients->gradients->origin()),
           gradients->manifest.c_str()};
  std::memcpy(out, &known, std::min(size, sizeof known));
  return nullptr;
}
