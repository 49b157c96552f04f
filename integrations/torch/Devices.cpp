//===- Devices.cpp - A flashc context and a stream for each device --------===//
#include "Devices.h"

#include <torch/csrc/stable/ops.h>

#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <stdexcept>

using torch::stable::Tensor;

void flashc_torch::raise(const flashc::Error &error) {
  throw std::runtime_error("flashc::attention: " + error.message());
}

const flashc::Context &flashc_torch::contextFor(const Tensor &tensor) {
  // Never destroyed: at exit the driver may be gone first.
  static auto *mutex = new std::mutex;
  static auto *contexts = new std::map<int32_t, flashc::Context>;
  constexpr int32_t kCpu = -1;
  int32_t device = tensor.is_cpu() ? kCpu : tensor.get_device_index();
  std::lock_guard<std::mutex> lock(*mutex);
  auto found = contexts->find(device);
  if (found != contexts->end())
    return found->second;
  flashc::ContextOptions options;
  options.device = device;
  if (device == kCpu) {
    options.target = "cpu";
    options.threads = torch::stable::get_num_threads();
  }
  options.warning = [](std::string_view text) {
    std::fprintf(stderr, "flashc: %.*s\n", int(text.size()), text.data());
  };
  flashc::Expected<flashc::Context> context = flashc::Context::create(options);
  if (!context)
    raise(context.error());
  return contexts->emplace(device, *context).first->second;
}

void *flashc_torch::currentStream(const Tensor &tensor) {
  if (tensor.is_cpu())
    return nullptr;
  // Of torch's stable C functions the one that only its CUDA builds have. It is
  // looked up, so that this library loads beside the others too.
  using Function = AOTITorchError (*)(int32_t device, void **stream);
  static const auto function = [] {
    void *library = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<Function>(
        library ? dlsym(library, "aoti_torch_get_current_cuda_stream")
                : nullptr);
  }();
  if (!function)
    throw std::runtime_error("flashc::attention: libtorch_cuda.so has no "
                             "aoti_torch_get_current_cuda_stream; use torch "
                             "2.10 or newer, built for CUDA");
  void *stream = nullptr;
  TORCH_ERROR_CODE_CHECK(function(tensor.get_device_index(), &stream));
  return stream;
}
