//===- Device.cpp - Context, memory, time ---------------------------------===//
//
// On top of the driver's functions; each failure names the device, the call and
// the driver's reason.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Device.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/ScopeExit.h"

using namespace flashc;
using namespace flashc::cuda;

// CUdevice_attribute, by number.
static constexpr int kMultiprocessorCount = 16;
static constexpr int kCapabilityMajor = 75;
static constexpr int kCapabilityMinor = 76;
static constexpr int kPageableMemoryAccess = 88;
static constexpr int kSharedBytesOptIn = 97;
// CUpointer_attribute.
static constexpr int kMemoryType = 2;

static constexpr llvm::StringLiteral
    kReset("look at nvidia-smi: the GPU may be lost or in use");

DeviceBuffer::~DeviceBuffer() {
  if (address)
    driver->memFree(address);
}

llvm::Expected<std::unique_ptr<Device>> Device::open(int ordinal) {
  llvm::Expected<std::shared_ptr<const Driver>> driver = Driver::load();
  if (!driver)
    return driver.takeError();
  return open(*driver, ordinal);
}

llvm::Expected<std::unique_ptr<Device>>
Device::open(std::shared_ptr<const Driver> driver, int ordinal) {
  auto device = attach(std::move(driver), ordinal);
  if (device)
    if (llvm::Error error = (*device)->makeCurrent())
      return std::move(error);
  return device;
}

llvm::Expected<std::unique_ptr<Device>>
Device::attach(std::shared_ptr<const Driver> driver, int ordinal,
               ContextHandle context) {
  int count = 0;
  if (llvm::Error error =
          driver->check(driver->deviceGetCount(&count), "CUDA driver",
                        "cuDeviceGetCount", kReset))
    return std::move(error);
  if (!context && (ordinal < 0 || ordinal >= count))
    return makeError("GPU {} does not exist: this machine has {}; give a "
                     "number below that, or run on the CPU (--target=cpu)",
                     ordinal, count);
  std::unique_ptr<Device> device(new Device);
  device->api = std::move(driver);
  device->context = context;
  device->deviceName =
      context ? "the context's GPU" : "GPU " + std::to_string(ordinal);
  if (llvm::Error error =
          context ? device->findContextDevice()
                  : device->api->check(
                        device->api->deviceGet(&device->handle, ordinal),
                        device->deviceName, "cuDeviceGet", kReset))
    return std::move(error);
  if (llvm::Error error = device->describe())
    return std::move(error);
  return device;
}

llvm::Error Device::findContextDevice() {
  Current current(*this);
  if (llvm::Error error = current.check())
    return error;
  return api->check(api->ctxGetDevice(&handle), deviceName, "cuCtxGetDevice",
                    kReset);
}

llvm::Error Device::describe() {
  char text[256] = {};
  if (api->deviceGetName(text, sizeof text - 1, handle) == 0)
    deviceName = text;
  llvm::Expected<int> major = attribute(kCapabilityMajor);
  if (!major)
    return major.takeError();
  llvm::Expected<int> minor = attribute(kCapabilityMinor);
  if (!minor)
    return minor.takeError();
  llvm::Expected<int> shared = attribute(kSharedBytesOptIn);
  if (!shared)
    return shared.takeError();
  llvm::Expected<int> count = attribute(kMultiprocessorCount);
  if (!count)
    return count.takeError();
  int all = 0; // unknown to a driver is no
  readsAllMemory =
      api->deviceGetAttribute(&all, kPageableMemoryAccess, handle) == 0 &&
      all == 1;
  smVersion = *major * 10 + *minor;
  sharedBytes = *shared;
  multiprocessors = *count;
  if (context)
    return llvm::Error::success();
  ownsContext = true;
  return api->check(api->primaryCtxRetain(&context, handle), deviceName,
                    "cuDevicePrimaryCtxRetain", kReset);
}

Device::~Device() {
  if (ownsContext && context)
    api->primaryCtxRelease(handle);
}

Device::Current::Current(const Device &device) : device(device) {
  ContextHandle now = nullptr;
  result = device.api->ctxGetCurrent(&now);
  if (result != 0 || now == device.context)
    return;
  result = device.api->ctxPushCurrent(device.context);
  pushed = result == 0;
}

Device::Current::~Current() {
  ContextHandle ours = nullptr;
  if (pushed)
    device.api->ctxPopCurrent(&ours);
}

llvm::Error Device::Current::check() const {
  return device.api->check(result, device.deviceName, "cuCtxPushCurrent",
                           "the context may have been destroyed");
}

llvm::Error Device::checkReadable(Pointer address) const {
  if (readsAllMemory)
    return llvm::Error::success();
  int type = 0;
  if (api->pointerGetAttribute(&type, kMemoryType, address) == 0)
    return llvm::Error::success();
  return makeError("its address {:#x} is in host memory, which {} does not "
                   "read; copy it to the GPU",
                   address, deviceName);
}

llvm::Expected<int> Device::attribute(int which) const {
  int value = 0;
  if (llvm::Error error =
          api->check(api->deviceGetAttribute(&value, which, handle), deviceName,
                     "cuDeviceGetAttribute", kReset))
    return std::move(error);
  return value;
}

llvm::Error Device::makeCurrent() const {
  return api->check(api->ctxSetCurrent(context), deviceName, "cuCtxSetCurrent",
                    kReset);
}

llvm::Error Device::synchronize() const {
  return api->check(api->ctxSynchronize(), deviceName, "cuCtxSynchronize",
                    "an earlier kernel failed: run it alone under "
                    "compute-sanitizer");
}

llvm::Expected<DeviceBuffer> Device::alloc(size_t bytes) const {
  DeviceBuffer buffer;
  buffer.driver = api;
  buffer.bytes = bytes;
  if (bytes == 0) // the driver refuses it
    return buffer;
  std::string call = fmt::format("cuMemAlloc of {} bytes", bytes);
  size_t room = 0, total = 0;
  Result result = api->memAlloc(&buffer.address, bytes);
  if (result == 0)
    return buffer;
  buffer.address = 0;
  api->memGetInfo(&room, &total);
  return api->check(result, deviceName, call,
                    fmt::format("{} of {} bytes are free: use smaller arrays "
                                "or end other programs on this GPU",
                                room, total));
}

llvm::Expected<DeviceBuffer> Device::upload(const void *from,
                                            size_t bytes) const {
  llvm::Expected<DeviceBuffer> buffer = alloc(bytes);
  if (!buffer)
    return buffer.takeError();
  if (llvm::Error error = copyTo(buffer->pointer(), from, bytes))
    return std::move(error);
  return buffer;
}

llvm::Error Device::copyTo(Pointer to, const void *from, size_t bytes) const {
  if (bytes == 0)
    return llvm::Error::success();
  return api->check(api->memcpyHtoD(to, from, bytes), deviceName,
                    "cuMemcpyHtoD", "check the sizes of the arrays");
}

llvm::Error Device::copyFrom(void *to, Pointer from, size_t bytes) const {
  if (bytes == 0)
    return llvm::Error::success();
  return api->check(api->memcpyDtoH(to, from, bytes), deviceName,
                    "cuMemcpyDtoH",
                    "if sizes are right, an earlier kernel failed: run it "
                    "under compute-sanitizer");
}

llvm::Error Device::fill(Pointer to, unsigned char byte, size_t bytes) const {
  if (bytes == 0)
    return llvm::Error::success();
  return api->check(api->memsetD8(to, byte, bytes), deviceName, "cuMemsetD8",
                    "check the sizes of the arrays");
}

llvm::Expected<float> Device::time(llvm::function_ref<llvm::Error()> work,
                                   StreamHandle stream) const {
  EventHandle events[2] = {};
  llvm::scope_exit destroy([&] {
    for (EventHandle event : events)
      if (event)
        api->eventDestroy(event);
  });
  auto check = [&](Result result, llvm::StringRef call) {
    return api->check(result, deviceName, call, kReset);
  };
  for (EventHandle &event : events)
    if (llvm::Error error = check(api->eventCreate(&event, 0), "cuEventCreate"))
      return std::move(error);
  if (llvm::Error error =
          check(api->eventRecord(events[0], stream), "cuEventRecord"))
    return std::move(error);
  if (llvm::Error error = work())
    return std::move(error);
  if (llvm::Error error =
          check(api->eventRecord(events[1], stream), "cuEventRecord"))
    return std::move(error);
  if (llvm::Error error =
          check(api->eventSynchronize(events[1]), "cuEventSynchronize"))
    return std::move(error);
  float ms = 0;
  if (llvm::Error error =
          check(api->eventElapsedTime(&ms, events[0], events[1]),
                "cuEventElapsedTime"))
    return std::move(error);
  return ms;
}
