#include "FakeGpu.h"

#include "flashc-bench/Description.h"

#include "flashc/Reference/Attention.h"

#include <cstdlib>
#include <cstring>
#include <utility>

using namespace flashc;
using namespace flashc::test;

FakeGpu &test::fakeGpu() {
  static FakeGpu gpu;
  return gpu;
}

/// The oracle in the kernel's place. Parameters of a 4-D array: its pointer,
/// three sizes, three strides; of slopes: pointer and size.
static void compute(void **params) {
  const Cell &cell = fakeGpu().cell;
  auto pointer = [&](size_t index) {
    return reinterpret_cast<char *>(*static_cast<uint64_t *>(params[index]));
  };
  auto problem = llvm::cantFail(makeProblem(cell));
  size_t index = 0;
  for (reference::HostTensor *t : {&problem.q, &problem.k, &problem.v}) {
    auto [b, h, s, d] = t->shape;
    t->storage.assign(pointer(index), pointer(index) + 2 * b * h * s * d);
    index += 7;
  }
  index += getSlopes(cell).empty() ? 0 : 2;
  std::vector<reference::Row> rows;
  for (int64_t b = 0; b < cell.batch(); ++b)
    for (int64_t h = 0; h < cell.heads; ++h)
      for (int64_t i = 0; i < cell.length; ++i)
        rows.push_back({b, h, i});
  auto values = reference::unfusedAttention(problem, rows);
  auto o = reference::HostTensor::dense(
      problem.dtype(), {cell.batch(), cell.heads, cell.length, cell.valueDim},
      reference::Layout::BSHD);
  std::vector<float> lse;
  for (size_t at = 0; at < rows.size(); ++at) {
    auto [b, h, i] = rows[at];
    for (int64_t d = 0; d < cell.valueDim; ++d)
      o.set(b, h, i, d, float(values.o[at * cell.valueDim + d]));
    lse.push_back(float(values.lse[at]) + (fakeGpu().isWrong ? 1 : 0));
  }
  std::memcpy(pointer(index), o.storage.data(), o.storage.size());
  std::memcpy(pointer(index + 7), lse.data(), 4 * lse.size());
}

static std::shared_ptr<cuda::Driver> makeDriver() {
  auto d = std::make_shared<cuda::Driver>();
  d->init = [](unsigned) { return 0; };
  d->getErrorName = [](int, const char **name) {
    return *name = "CUDA_ERROR_OUT_OF_MEMORY", 0;
  };
  d->getErrorString = [](int, const char **text) {
    return *text = "out of memory", 0;
  };
  d->deviceGetCount = [](int *count) { return *count = 1, 0; };
  d->deviceGet = [](int *handle, int) { return *handle = 0, 0; };
  d->deviceGetName = [](char *name, int, int) {
    return std::strcpy(name, "Fake 1"), 0;
  };
  d->deviceGetAttribute = [](int *value, int which, int) {
    return *value = which == 75   ? 8
                    : which == 76 ? 0
                    : which == 97 ? 166912
                                  : 7,
           0;
  };
  d->primaryCtxRetain = [](void **context, int) {
    return *context = &fakeGpu(), 0;
  };
  d->primaryCtxRelease = [](int) { return 0; };
  d->ctxSetCurrent = [](void *) { return 0; };
  d->ctxGetCurrent = [](void **context) { return *context = &fakeGpu(), 0; };
  d->ctxPushCurrent = [](void *) { return 0; };
  d->ctxPopCurrent = [](void **context) { return *context = &fakeGpu(), 0; };
  d->ctxGetDevice = [](int *device) { return *device = 0, 0; };
  // All memory is a device's.
  d->pointerGetAttribute = [](void *type, int, uint64_t) {
    return *static_cast<int *>(type) = 2, 0;
  };
  d->streamCreate = [](void **stream, unsigned) {
    return *stream = &fakeGpu(), 0;
  };
  d->streamDestroy = [](void *) { return 0; };
  d->streamSynchronize = [](void *) { return 0; };
  d->streamIsCapturing = [](void *, int *status) { return *status = 0, 0; };
  d->exchangeCaptureMode = [](int *) { return 0; };
  d->ctxSynchronize = [] { return 0; };
  d->memAlloc = [](uint64_t *p, size_t bytes) {
    if (bytes > fakeGpu().mostBytes)
      return 2;
    return *p = reinterpret_cast<uint64_t>(
               std::aligned_alloc(256, (bytes + 255) / 256 * 256)),
           0;
  };
  d->memFree = [](uint64_t p) {
    return std::free(reinterpret_cast<void *>(p)), 0;
  };
  d->memGetInfo = [](size_t *room, size_t *total) {
    return *room = *total = fakeGpu().mostBytes, 0;
  };
  d->memcpyHtoD = [](uint64_t to, const void *from, size_t bytes) {
    return std::memcpy(reinterpret_cast<void *>(to), from, bytes), 0;
  };
  d->memcpyDtoH = [](void *to, uint64_t from, size_t bytes) {
    return std::memcpy(to, reinterpret_cast<void *>(from), bytes), 0;
  };
  d->memsetD8 = [](uint64_t to, unsigned char byte, size_t bytes) {
    fakeGpu().isSpoiled = true;
    return std::memset(reinterpret_cast<void *>(to), byte, bytes), 0;
  };
  d->memsetD8Async = [](uint64_t to, unsigned char byte, size_t bytes, void *) {
    return std::memset(reinterpret_cast<void *>(to), byte, bytes), 0;
  };
  d->moduleLoadDataEx = [](void **module, const void *, unsigned, int *,
                           void **) {
    return *module = &fakeGpu(), ++fakeGpu().loads, 0;
  };
  d->moduleUnload = [](void *) { return 0; };
  d->moduleGetFunction = [](void **f, void *, const char *) {
    return *f = &fakeGpu(), 0;
  };
  d->funcSetAttribute = [](void *, int, int) { return 0; };
  d->funcGetAttribute = [](int *value, int, void *) { return *value = 0, 0; };
  // A launch that is only timed need not compute anything.
  d->launchKernel = [](void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, unsigned, void *, void **params, void **) {
    ++fakeGpu().launches;
    if (std::exchange(fakeGpu().isSpoiled, false))
      compute(params);
    return 0;
  };
  d->eventCreate = [](void **event, unsigned) {
    return *event = &fakeGpu(), 0;
  };
  d->eventDestroy = [](void *) { return 0; };
  d->eventRecord = [](void *, void *) { return 0; };
  d->eventSynchronize = [](void *) { return 0; };
  d->eventElapsedTime = [](float *ms, void *, void *) {
    return *ms = 12 * fakeGpu().milliseconds, 0;
  };
  return d;
}

std::unique_ptr<Device> test::openFakeDevice() {
  fakeGpu() = {};
  return llvm::cantFail(Device::open(makeDriver(), 0));
}
