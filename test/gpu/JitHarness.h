// What the GPU tests of the public layer share: a context with a cache of its
// own, small problems, streams and graphs.
#ifndef FLASHC_TEST_GPU_JITHARNESS_H
#define FLASHC_TEST_GPU_JITHARNESS_H

#include "flashc/Jit/Context.h"
#include "unittests/Cache/CacheFolder.h"

namespace flashc::test {

/// The functions of the CUDA driver that tests need and flashc does not.
struct GraphDriver {
  int (*beginCapture)(void *stream, int mode) = nullptr;
  int (*endCapture)(void *stream, void **graph) = nullptr;
  int (*instantiate)(void **executable, void *graph,
                     unsigned long long flags) = nullptr;
  int (*launch)(void *executable, void *stream) = nullptr;
  int (*destroyGraph)(void *graph) = nullptr;
  int (*destroyExecutable)(void *executable) = nullptr;
  int (*createContext)(void **context, unsigned flags, int device) = nullptr;
  int (*destroyContext)(void *context) = nullptr;
  /// From the library that cuda::Driver has loaded.
  static GraphDriver load();
};

/// The device with its primary context current, for memory and waiting; null
/// without a GPU.
std::unique_ptr<Device> openDevice();

std::shared_ptr<jit::Context>
jitContext(const std::string &cacheFolder,
           AssemblerKind assembler = AssemblerKind::Auto,
           const std::string &target = "");

jit::KernelSpec decodeSpec(const std::string &mask = "none");

/// Q, K, V, lengths and O of one batch in device memory: `queries` queries over
/// a room of `keys` keys, numbers that are the same everywhere.
class SmallProblem {
public:
  SmallProblem(const Device &device, int64_t heads, int64_t queries,
               int64_t keys, int64_t dim = 64);
  /// In the order of a kernel with numbers of keys and without LSE.
  std::vector<ArrayArg> args() const;
  void setKeys(int32_t keys) const;
  void clearOutput() const;
  /// Waits for the device.
  std::vector<uint16_t> output() const;

private:
  const Device &device;
  int64_t heads, queries, keys, dim;
  DeviceBuffer q, k, v, lengths, o;
};

} // namespace flashc::test

#endif // FLASHC_TEST_GPU_JITHARNESS_H
