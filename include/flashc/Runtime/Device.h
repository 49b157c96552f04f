//===- Device.h - One GPU and its memory ------------------------*- C++ -*-===//
#ifndef FLASHC_RUNTIME_DEVICE_H
#define FLASHC_RUNTIME_DEVICE_H

#include "flashc/Runtime/Driver.h"

#include <functional>

namespace flashc {

class Device;

/// Bytes on a device, freed with the object.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  /// 0 for a buffer of no bytes.
  cuda::Pointer pointer() const { return address; }
  size_t size() const { return bytes; }

private:
  friend class Device;
  void swap(DeviceBuffer &other) {
    std::swap(driver, other.driver);
    std::swap(address, other.address);
    std::swap(bytes, other.bytes);
  }
  std::shared_ptr<const cuda::Driver> driver;
  cuda::Pointer address = 0;
  size_t bytes = 0;
};

/// One GPU with one of its contexts.
class Device {
public:
  /// The GPU of this number with its primary context, or, with `context`, the
  /// caller's own context and its GPU; the caller keeps it alive. Leaves
  /// current what is current. Fails where there is no GPU of that number, or no
  /// context.
  static llvm::Expected<std::unique_ptr<Device>>
  attach(std::shared_ptr<const cuda::Driver> driver, int ordinal,
         cuda::ContextHandle context = nullptr);

  /// `attach` to the primary context, and make it current on the calling
  /// thread; other threads call `makeCurrent` first.
  /// Fails where there is no driver, no GPU of that number, or no context.
  static llvm::Expected<std::unique_ptr<Device>> open(int ordinal = 0);
  static llvm::Expected<std::unique_ptr<Device>>
  open(std::shared_ptr<const cuda::Driver> driver, int ordinal);
  ~Device();
  Device(const Device &) = delete;

  const std::string &name() const { return deviceName; }
  /// 90 for compute capability 9.0.
  int sm() const { return smVersion; }
  int smCount() const { return multiprocessors; }
  /// Most bytes of shared memory that one block may ask for.
  int64_t sharedBytesPerBlock() const { return sharedBytes; }
  const cuda::Driver &driver() const { return *api; }

  class Current;

  /// Success where the device can read memory at this address: its own, that of
  /// another GPU, pinned host memory, or any where it reads all.
  llvm::Error checkReadable(cuda::Pointer address) const;

  llvm::Error makeCurrent() const;
  /// Wait for everything launched; reports errors of earlier launches.
  llvm::Error synchronize() const;
  llvm::Expected<DeviceBuffer> alloc(size_t bytes) const;
  /// Allocate and copy from the host.
  llvm::Expected<DeviceBuffer> upload(const void *from, size_t bytes) const;
  llvm::Error copyTo(cuda::Pointer to, const void *from, size_t bytes) const;
  llvm::Error copyFrom(void *to, cuda::Pointer from, size_t bytes) const;
  llvm::Error fill(cuda::Pointer to, unsigned char byte, size_t bytes) const;
  /// Milliseconds on the device between the start of the first and the end of
  /// the last thing that `work` launches on `stream`.
  llvm::Expected<float> time(llvm::function_ref<llvm::Error()> work,
                             cuda::StreamHandle stream = nullptr) const;

private:
  Device() = default;
  llvm::Error describe();
  llvm::Error findContextDevice();
  llvm::Expected<int> attribute(int which) const;

  std::shared_ptr<const cuda::Driver> api;
  cuda::DeviceHandle handle = 0;
  cuda::ContextHandle context = nullptr;
  bool ownsContext = false;
  std::string deviceName;
  int smVersion = 0, multiprocessors = 0;
  bool readsAllMemory = false;
  int64_t sharedBytes = 0;
};

/// The device's context is current on this thread as long as the object lives;
/// what was current before is so again after it.
class Device::Current {
public:
  explicit Current(const Device &device);
  ~Current();
  Current(const Current &) = delete;
  /// What the driver said.
  llvm::Error check() const;

private:
  const Device &device;
  cuda::Result result = 0;
  bool pushed = false;
};

} // namespace flashc

#endif // FLASHC_RUNTIME_DEVICE_H
