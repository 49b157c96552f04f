//===- Module.cpp - Load and launch ---------------------------------------===//
//
// In: a KernelImage and arrays on a device. Out: the kernel runs.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Module.h"
#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::cuda;

// CUfunction_attribute and CUjit_option, by number.
static constexpr int kLocalBytes = 3;
static constexpr int kRegisters = 4;
static constexpr int kMaxDynamicSharedBytes = 8;
static constexpr int kSharedCarveout = 9;
static constexpr int kErrorLog = 5;
static constexpr int kErrorLogBytes = 6;

static std::string kernelWhere(const std::string &name, const Device &device) {
  return fmt::format("kernel '{}' on {}", name, device.name());
}

/// Can this device run the image at all?
static llvm::Error checkDevice(const Device &device, const KernelImage &image) {
  int sm = 0;
  llvm::StringRef arch = image.arch;
  if (!arch.consume_front("sm_") || arch.getAsInteger(10, sm))
    return makeError("kernel '{}' is for '{}', which is no GPU; compile it "
                     "with --arch=sm_{}",
                     image.name, image.arch, device.sm());
  if (sm > device.sm())
    return makeError("kernel '{}' needs sm_{}, but {} is sm_{}; compile it "
                     "with --arch=sm_{} or an older one",
                     image.name, sm, device.name(), device.sm(), device.sm());
  if (image.manifest.sharedBytes > device.sharedBytesPerBlock())
    return makeError("kernel '{}' needs {} bytes of shared memory, but a block "
                     "of {} can have {}; compile it with --sram={}",
                     image.name, image.manifest.sharedBytes, device.name(),
                     device.sharedBytesPerBlock(),
                     device.sharedBytesPerBlock());
  return llvm::Error::success();
}

llvm::Expected<Module> Module::load(const Device &device,
                                    const KernelImage &image) {
  if (llvm::Error error = checkDevice(device, image))
    return std::move(error);
  Module loaded;
  loaded.device = &device;
  loaded.kernelName = image.name;
  loaded.info = image.manifest;
  if (llvm::Error error = loaded.loadImage(image))
    return std::move(error);
  if (llvm::Error error = loaded.prepareFunction())
    return std::move(error);
  return loaded;
}

Module::~Module() {
  if (module)
    device->driver().moduleUnload(module);
}

llvm::Error Module::loadImage(const KernelImage &image) {
  bool fits = image.arch == "sm_" + std::to_string(device->sm());
  const std::string &code =
      fits && !image.cubin.empty() ? image.cubin : image.ptx;
  if (code.empty())
    return makeError("kernel '{}' has a cubin for {} alone, but {} is sm_{}; "
                     "compile it to PTX",
                     image.name, image.arch, device->name(), device->sm());
  char log[4096] = {};
  int options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log - 1)};
  Result result = device->driver().moduleLoadDataEx(&module, code.c_str(), 2,
                                                    options, values);
  if (result == 0)
    return llvm::Error::success();
  module = nullptr;
  llvm::StringRef text = llvm::StringRef(log).trim();
  return device->driver().check(
      result, kernelWhere(image.name, *device), "cuModuleLoadDataEx",
      text.empty() ? "update the driver, or compile for an older arch"
                   : ("the driver's log: " + text).str());
}

llvm::Error Module::prepareFunction() {
  const Driver &driver = device->driver();
  std::string where = kernelWhere(kernelName, *device);
  if (llvm::Error error = driver.check(
          driver.moduleGetFunction(&function, module, kernelName.c_str()),
          where, "cuModuleGetFunction", "check the kernel's name"))
    return error;
  if (info.sharedBytes > 0)
    if (llvm::Error error = driver.check(
            driver.funcSetAttribute(function, kMaxDynamicSharedBytes,
                                    static_cast<int>(info.sharedBytes)),
            where,
            fmt::format("cuFuncSetAttribute of {} shared bytes",
                        info.sharedBytes),
            "compile it with a smaller --sram"))
      return error;
  // A hint, so its failure is none: shared memory before L1, which these
  // kernels pass by, so that as many blocks fit a multiprocessor as their bytes
  // allow.
  driver.funcSetAttribute(function, kSharedCarveout, 100);
  driver.funcGetAttribute(&registerCount, kRegisters, function);
  driver.funcGetAttribute(&spillBytes, kLocalBytes, function);
  return llvm::Error::success();
}

llvm::Error Module::launch(llvm::ArrayRef<ArrayArg> args,
                           StreamHandle stream) const {
  llvm::Expected<PackedArguments> packed =
      packArguments(kernelName, info, args);
  if (!packed)
    return packed.takeError();
  return launch(*packed, stream);
}

llvm::Error Module::launch(const PackedArguments &packed,
                           StreamHandle stream) const {
  if (packed.grid == 0)
    return llvm::Error::success();
  llvm::SmallVector<void *, 40> params;
  for (const uint64_t &slot : packed.slots)
    params.push_back(const_cast<uint64_t *>(&slot));
  const Driver &driver = device->driver();
  Result result = driver.launchKernel(
      function, packed.grid, 1, 1, packed.threads, 1, 1,
      static_cast<unsigned>(info.sharedBytes), stream, params.data(), nullptr);
  if (result == 0)
    return llvm::Error::success();
  return driver.check(
      result, kernelWhere(kernelName, *device),
      fmt::format("cuLaunchKernel of {} blocks, {} threads, {} shared bytes",
                  packed.grid, packed.threads, info.sharedBytes),
      "an earlier kernel may have failed: run it under compute-sanitizer");
}
