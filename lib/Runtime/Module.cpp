//===- Module.cpp - Load and launch ---------------------------------------===//
//
// In: a KernelImage and arrays on a device. Out: the kernel runs.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Module.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

using namespace flashc;
using namespace flashc::cuda;

// CUfunction_attribute and CUjit_option, by number.
static constexpr int kLocalBytes = 3;
static constexpr int kRegisters = 4;
static constexpr int kMaxDynamicSharedBytes = 8;
static constexpr int kSharedCarveout = 9;
static constexpr int kErrorLog = 5;
static constexpr int kErrorLogBytes = 6;

static constexpr int kRelaxedCapture = 2;   // CUstreamCaptureMode
static constexpr unsigned kNonBlocking = 1; // CUstream_flags

/// Tile counters of a module, and behind them those of captured launches; both
/// numbers divide 2^32, so that the turn goes on where the count of launches
/// overflows.
static constexpr uint32_t kCounters = 4096;
static constexpr uint32_t kCapturedCounters = 65536;
static constexpr uint32_t kCounterBytes = 16;
/// As boxes of f16 and bf16 have it.
static constexpr int64_t kMappedElementBytes = 2;

static std::string kernelWhere(const std::string &name, const Device &device) {
  return fmt::format("kernel '{}' on {}", name, device.name());
}

/// sm_90a code, PTX or cubin, is for sm_90 and no other; `arch` without the
/// "a".
static bool consumeArchSpecific(llvm::StringRef &arch) {
  return arch.consume_back("a");
}

/// Can this device run the image at all?
static llvm::Error checkDevice(const Device &device, const KernelImage &image) {
  int sm = 0;
  llvm::StringRef arch = image.arch;
  bool specific = consumeArchSpecific(arch);
  if (!arch.consume_front("sm_") || arch.getAsInteger(10, sm))
    return makeError("kernel '{}' is for '{}', which is no GPU; compile it "
                     "with --arch=sm_{}",
                     image.name, image.arch, device.sm());
  if (sm > device.sm())
    return makeError("kernel '{}' needs sm_{}, but {} is sm_{}; compile it "
                     "with --arch=sm_{} or an older one",
                     image.name, sm, device.name(), device.sm(), device.sm());
  if (specific && sm != device.sm())
    return makeError("kernel '{}' is for {}, which no other GPU runs, but {} "
                     "is sm_{}; compile it with --arch=sm_{}",
                     image.name, image.arch, device.name(), device.sm(), sm);
  if (image.manifest.sharedBytes > device.sharedBytesPerBlock())
    return makeError("kernel '{}' needs {} bytes of shared memory, but a block "
                     "of {} can have {}; compile it with --sram={}",
                     image.name, image.manifest.sharedBytes, device.name(),
                     device.sharedBytesPerBlock(),
                     device.sharedBytesPerBlock());
  if (!image.manifest.tensorMaps.empty() &&
      !device.driver().tensorMapEncodeTiled)
    return makeError("kernel '{}' on {} needs cuTensorMapEncodeTiled, which "
                     "its CUDA driver does not have; install a driver of CUDA "
                     "12 or newer, or compile with --arch=sm_80",
                     image.name, device.name());
  return llvm::Error::success();
}

namespace {
/// Calls of this thread that a capture elsewhere would not survive, such as an
/// allocation, are let through: what is loaded here is in nobody's graph.
class NotCaptured {
public:
  explicit NotCaptured(const Driver &driver) : driver(driver) {
    driver.exchangeCaptureMode(&mode);
  }
  ~NotCaptured() { driver.exchangeCaptureMode(&mode); }

private:
  const Driver &driver;
  int mode = kRelaxedCapture;
};
} // namespace

llvm::Expected<Module> Module::load(const Device &device,
                                    const KernelImage &image) {
  if (llvm::Error error = checkDevice(device, image))
    return std::move(error);
  Device::Current current(device);
  if (llvm::Error error = current.check())
    return std::move(error);
  NotCaptured guard(device.driver());
  Module loaded;
  loaded.device = &device;
  loaded.kernelName = image.name;
  loaded.info = image.manifest;
  if (llvm::Error error = loaded.loadImage(image))
    return std::move(error);
  if (llvm::Error error = loaded.prepareFunction())
    return std::move(error);
  if (llvm::Error error = loaded.allocateScratch())
    return std::move(error);
  return loaded;
}

Module::~Module() {
  if (!module)
    return;
  Device::Current current(*device);
  NotCaptured guard(device->driver());
  device->driver().moduleUnload(module);
  scratch.reset();
}

llvm::Error Module::loadImage(const KernelImage &image) {
  llvm::StringRef arch = image.arch;
  consumeArchSpecific(arch);
  bool fits = arch == "sm_" + std::to_string(device->sm());
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

/// Bytes of the longest row that has a tensor map.
static size_t mappedRowBytes(const Manifest &manifest) {
  int64_t columns = 0;
  for (const TensorMap &map : manifest.tensorMaps)
    columns = std::max(columns, manifest.params[map.param].shape.back());
  return columns * kMappedElementBytes;
}

/// Zeros, in a stream of its own: nothing else waits or is waited for.
static llvm::Error fillWithZeros(const Driver &driver, const std::string &where,
                                 Pointer to, size_t bytes) {
  StreamHandle stream = nullptr;
  auto check = [&](Result result, llvm::StringRef call) {
    return driver.check(result, where, call,
                        "an earlier kernel may have failed: run it under "
                        "compute-sanitizer");
  };
  if (llvm::Error error =
          check(driver.streamCreate(&stream, kNonBlocking), "cuStreamCreate"))
    return error;
  llvm::scope_exit destroy([&] { driver.streamDestroy(stream); });
  if (llvm::Error error =
          check(driver.memsetD8Async(to, 0, bytes, stream), "cuMemsetD8Async"))
    return error;
  return check(driver.streamSynchronize(stream), "cuStreamSynchronize");
}

/// Waits at the end: the stream of a launch need not wait for the one that
/// fills.
llvm::Error Module::allocateScratch() {
  size_t counters =
      info.persistent ? (kCounters + kCapturedCounters) * kCounterBytes : 0;
  size_t bytes = counters + mappedRowBytes(info);
  if (bytes == 0)
    return llvm::Error::success();
  llvm::Expected<DeviceBuffer> zeros = device->alloc(bytes);
  if (!zeros)
    return zeros.takeError();
  scratch = std::make_unique<Scratch>();
  scratch->zeroRow = zeros->pointer() + counters;
  scratch->buffer = std::move(*zeros);
  return fillWithZeros(device->driver(), kernelWhere(kernelName, *device),
                       scratch->buffer.pointer(), bytes);
}

Pointer Module::Scratch::takeCounter(bool captured) {
  uint32_t turn =
      captured
          ? kCounters + nextCaptured.fetch_add(1, std::memory_order_relaxed) %
                            kCapturedCounters
          : nextCounter.fetch_add(1, std::memory_order_relaxed) % kCounters;
  return buffer.pointer() + uint64_t(turn) * kCounterBytes;
}

llvm::Error Module::encode(llvm::ArrayRef<TensorMapDescription> maps,
                           std::vector<EncodedTensorMap> &encoded) const {
  if (maps.empty())
    return llvm::Error::success();
  std::string where = kernelWhere(kernelName, *device);
  for (TensorMapDescription map : maps) {
    if (map.address == 0)
      map.address = scratch->zeroRow;
    llvm::Expected<EncodedTensorMap> next =
        encodeTensorMap(device->driver(), where, map);
    if (!next)
      return next.takeError();
    encoded.push_back(*next);
  }
  return llvm::Error::success();
}

llvm::Expected<PackedArguments>
Module::pack(llvm::ArrayRef<ArrayArg> args) const {
  llvm::Expected<PackedArguments> packed =
      packArguments(kernelName, info, args);
  if (!packed || packed->grid == 0)
    return packed;
  Device::Current current(*device);
  if (llvm::Error error = current.check())
    return std::move(error);
  if (llvm::Error error = checkAddresses(args))
    return std::move(error);
  if (llvm::Error error = encode(packed->tensorMaps, packed->encodedMaps))
    return std::move(error);
  return packed;
}

llvm::Error Module::checkAddresses(llvm::ArrayRef<ArrayArg> args) const {
  for (auto [param, arg] : llvm::zip(info.params, args))
    if (!llvm::is_contained(arg.shape, 0))
      if (llvm::Error error = device->checkReadable(arg.pointer))
        return makeError("kernel '{}', array '{}': {}", kernelName, param.name,
                         llvm::toString(std::move(error)));
  return llvm::Error::success();
}

uint32_t Module::gridOf(const PackedArguments &packed) const {
  if (!info.persistent)
    return packed.grid;
  return std::min(packed.grid, static_cast<uint32_t>(device->smCount()));
}

llvm::Error Module::launch(llvm::ArrayRef<ArrayArg> args,
                           StreamHandle stream) const {
  llvm::Expected<PackedArguments> packed = pack(args);
  if (!packed)
    return packed.takeError();
  return launch(*packed, stream);
}

llvm::Error Module::launch(const PackedArguments &packed, StreamHandle stream,
                           bool waits) const {
  if (packed.grid == 0)
    return llvm::Error::success();
  const Driver &driver = device->driver();
  Device::Current current(*device);
  if (llvm::Error error = current.check())
    return error;
  std::vector<EncodedTensorMap> encoded;
  llvm::ArrayRef<EncodedTensorMap> maps = packed.encodedMaps;
  if (maps.empty()) {
    if (llvm::Error error = encode(packed.tensorMaps, encoded))
      return error;
    maps = encoded;
  }
  llvm::SmallVector<void *, 48> params;
  for (const uint64_t &slot : packed.slots)
    params.push_back(const_cast<uint64_t *>(&slot));
  for (const EncodedTensorMap &map : maps)
    params.push_back(const_cast<EncodedTensorMap *>(&map));
  int capturing = 0;
  if (info.persistent || waits)
    driver.streamIsCapturing(stream, &capturing); // a failure shows below
  Pointer counter = 0;
  if (info.persistent) {
    counter = scratch->takeCounter(capturing != 0);
    params.push_back(&counter);
  }
  uint32_t grid = gridOf(packed);
  auto sharedBytes = static_cast<unsigned>(info.sharedBytes);
  Result result = 0;
  // Graphs hold launches that overlap from CUDA 12.3 on.
  if (waits && !capturing && driver.launchKernelEx) {
    LaunchAttribute overlap{kOverlapLaunch, 0, /*value=*/1};
    LaunchConfig config{
        {grid, 1, 1}, {packed.threads, 1, 1}, sharedBytes, stream, &overlap, 1};
    result = driver.launchKernelEx(&config, function, params.data(), nullptr);
  } else {
    result = driver.launchKernel(function, grid, 1, 1, packed.threads, 1, 1,
                                 sharedBytes, stream, params.data(), nullptr);
  }
  if (result == 0)
    return llvm::Error::success();
  return driver.check(
      result, kernelWhere(kernelName, *device),
      fmt::format("cuLaunchKernel of {} blocks, {} threads, {} shared bytes",
                  grid, packed.threads, info.sharedBytes),
      "an earlier kernel may have failed: run it under compute-sanitizer");
}
