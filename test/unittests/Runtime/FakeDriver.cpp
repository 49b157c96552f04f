#include "FakeDriver.h"

#include <cstring>

using namespace flashc;
using namespace flashc::test;

Seen test::seen;

std::shared_ptr<cuda::Driver> test::fakeDriver() {
  seen = {};
  auto d = std::make_shared<cuda::Driver>();
  d->init = [](unsigned) { return 0; };
  d->getErrorName = [](int, const char **name) {
    return *name = "CUDA_ERROR_FAKE", 0;
  };
  d->getErrorString = [](int, const char **text) {
    return *text = "made up", 0;
  };
  d->deviceGetCount = [](int *count) { return *count = 1, 0; };
  d->deviceGet = [](int *handle, int) { return *handle = 0, 0; };
  d->deviceGetName = [](char *name, int, int) {
    return std::strcpy(name, "Fake 1"), 0;
  };
  d->deviceGetAttribute = [](int *value, int which, int) {
    *value = which == 75   ? seen.sm / 10
             : which == 76 ? seen.sm % 10
             : which == 97 ? seen.shared
             : which == 88 ? 0
                           : 7;
    return 0;
  };
  d->primaryCtxRetain = [](void **context, int) {
    return *context = &seen, seen.call("retain");
  };
  d->primaryCtxRelease = [](int) { return seen.call("release"); };
  d->ctxSetCurrent = [](void *context) { return seen.current = context, 0; };
  d->ctxGetCurrent = [](void **context) { return *context = seen.current, 0; };
  d->ctxPushCurrent = [](void *context) {
    int result = seen.call("push");
    if (result == 0)
      seen.current = context;
    return result;
  };
  d->ctxPopCurrent = [](void **context) {
    *context = std::exchange(seen.current, nullptr);
    return seen.call("pop");
  };
  d->ctxGetDevice = [](int *device) { return *device = 0, 0; };
  d->pointerGetAttribute = [](void *type, int, uint64_t address) {
    return *static_cast<int *>(type) = 2, address >= 0x7f0000000000 ? 1 : 0;
  };
  d->streamCreate = [](void **stream, unsigned flags) {
    *stream = &seen;
    return seen.call(flags == 1 ? "stream" : "blocking stream");
  };
  d->streamDestroy = [](void *) { return seen.call("destroy stream"); };
  d->streamSynchronize = [](void *) { return seen.call("wait for stream"); };
  d->streamIsCapturing = [](void *, int *status) {
    return *status = seen.capturing, 0;
  };
  d->exchangeCaptureMode = [](int *mode) {
    return std::swap(*mode, seen.captureMode), 0;
  };
  d->ctxSynchronize = [] { return seen.call("synchronize"); };
  d->memAlloc = [](uint64_t *p, size_t) {
    if (seen.captureMode == 0 && seen.capturing)
      return 900; // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    return *p = 0x1000, ++seen.allocated, seen.call("alloc");
  };
  d->memFree = [](uint64_t) { return --seen.allocated, 0; };
  d->memGetInfo = [](size_t *room, size_t *total) {
    return *room = 5, *total = 9, 0;
  };
  d->memcpyHtoD = [](uint64_t, const void *, size_t) {
    return seen.call("upload");
  };
  d->memcpyDtoH = [](void *, uint64_t, size_t) {
    return seen.call("download");
  };
  d->memsetD8 = [](uint64_t, unsigned char byte, size_t bytes) {
    seen.filled = bytes;
    return seen.call(byte ? "fill" : "fill with zeros");
  };
  d->memsetD8Async = [](uint64_t, unsigned char byte, size_t bytes, void *) {
    seen.filled = bytes;
    return seen.call(byte ? "fill" : "fill with zeros");
  };
  // A map that says what it was made of.
  d->tensorMapEncodeTiled = [](void *map, int type, uint32_t rank,
                               void *address, const uint64_t *sizes,
                               const uint64_t *, const uint32_t *box,
                               const uint32_t *steps, int interleave,
                               int swizzle, int promotion, int fill) {
    auto *words = static_cast<uint64_t *>(map);
    words[0] = reinterpret_cast<uint64_t>(address);
    words[1] = sizes[1];
    words[2] = box[1];
    bool usual = reinterpret_cast<uint64_t>(map) % 64 == 0 && type == 6 &&
                 rank == 5 && steps[4] == 1 && interleave == 0 &&
                 swizzle == 3 && promotion == 3 && fill == 0;
    return seen.call(usual ? "encode" : "encode something else");
  };
  d->moduleLoadDataEx = [](void **module, const void *image, unsigned, int *,
                           void **values) {
    *module = &seen;
    if (seen.failing.count("load"))
      std::strcpy(static_cast<char *>(values[0]), "line 3: no such register\n");
    return seen.call("load"), seen.call(static_cast<const char *>(image)),
           seen.failing.count("load") ? 218 : 0;
  };
  d->moduleUnload = [](void *) { return seen.call("unload"); };
  d->moduleGetFunction = [](void **f, void *, const char *name) {
    return *f = &seen, seen.call(name);
  };
  d->funcSetAttribute = [](void *, int which, int value) {
    return seen.call("set " + std::to_string(which) + " " +
                     std::to_string(value));
  };
  d->funcGetAttribute = [](int *value, int which, void *) {
    return *value = which == 4 ? 168 : 0, 0;
  };
  d->launchKernel = [](void *, unsigned x, unsigned, unsigned, unsigned threads,
                       unsigned, unsigned, unsigned shared, void *,
                       void **params, void **) {
    seen.params = {*static_cast<uint64_t *>(params[0]),
                   *static_cast<uint32_t *>(params[1])};
    if (seen.onLaunch)
      seen.onLaunch(params);
    return seen.call("launch " + std::to_string(x) + " " +
                     std::to_string(threads) + " " + std::to_string(shared));
  };
  d->eventCreate = [](void **event, unsigned) {
    return *event = &seen, seen.call("create");
  };
  d->eventDestroy = [](void *) { return seen.call("destroy"); };
  d->eventRecord = [](void *, void *) { return seen.call("record"); };
  d->eventSynchronize = [](void *) { return seen.call("wait"); };
  d->eventElapsedTime = [](float *ms, void *, void *) { return *ms = 1.5, 0; };
  return d;
}

KernelImage test::image() {
  KernelImage image{"fwd", "sm_80", "ptx text", "", {}, ""};
  image.manifest.params = {
      {ParamKind::Query, "q", "f16", {-1, -1, -1, 64}, {-1, -1, -1, 1}}};
  image.manifest.qBlock = 64;
  image.manifest.warps = 4;
  image.manifest.sharedBytes = 81920;
  return image;
}

KernelImage test::hopperImage() {
  KernelImage hopper = image();
  hopper.arch = "sm_90a";
  hopper.cubin = "cubin";
  Manifest &m = hopper.manifest;
  m.params.push_back(m.params[0]);
  m.params[1].kind = ParamKind::Key;
  m.tensorMaps = {{1, 96}, {0, 128}};
  m.persistent = true;
  m.producerWarps = 4;
  return hopper;
}

ArrayArg test::bhsd(uint64_t at, int64_t batch, int64_t length) {
  return {at, {batch, 1, length, 64}, {length * 64, length * 64, 64, 1}};
}

int64_t test::countCalls(llvm::StringRef name) {
  return std::count(seen.calls.begin(), seen.calls.end(), name);
}
