#include "FakeDriver.h"

#include <cstring>

using namespace flashc;
using namespace flashc::test;

Seen test::seen;

static constexpr int kInvalidContext = 201; // CUDA_ERROR_INVALID_CONTEXT

/// The thread's stack of contexts; the last one is current.
static thread_local std::vector<void *> contexts;

void *test::currentContext() {
  return contexts.empty() ? nullptr : contexts.back();
}

int Seen::callInContext(std::string name) {
  int result = call(std::move(name));
  return currentContext() ? result : kInvalidContext;
}

std::shared_ptr<cuda::Driver> test::fakeDriver() {
  seen = {};
  contexts.clear();
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
  d->ctxSetCurrent = [](void *context) {
    if (!contexts.empty())
      contexts.pop_back();
    if (context)
      contexts.push_back(context);
    return 0;
  };
  d->ctxGetCurrent = [](void **context) {
    return *context = currentContext(), 0;
  };
  d->ctxPushCurrent = [](void *context) {
    int result = seen.call("push");
    if (result == 0)
      contexts.push_back(context);
    return result;
  };
  d->ctxPopCurrent = [](void **context) {
    *context = currentContext();
    if (!*context)
      return kInvalidContext;
    contexts.pop_back();
    return seen.call("pop");
  };
  d->ctxGetDevice = [](int *device) {
    return *device = 0, seen.callInContext("device");
  };
  d->pointerGetAttribute = [](void *type, int, uint64_t address) {
    *static_cast<int *>(type) = 2;
    return address >= 0x7f0000000000 ? 1 : seen.callInContext("look");
  };
  d->streamCreate = [](void **stream, unsigned flags) {
    *stream = &seen;
    return seen.callInContext(flags == 1 ? "stream" : "blocking stream");
  };
  d->streamDestroy = [](void *) {
    return seen.callInContext("destroy stream");
  };
  d->streamSynchronize = [](void *) {
    return seen.callInContext("wait for stream");
  };
  d->streamIsCapturing = [](void *, int *status) {
    return *status = seen.capturing, 0;
  };
  d->exchangeCaptureMode = [](int *mode) {
    return std::swap(*mode, seen.captureMode), 0;
  };
  d->ctxSynchronize = [] { return seen.callInContext("synchronize"); };
  d->memAlloc = [](uint64_t *p, size_t) {
    if (seen.captureMode == 0 && seen.capturing)
      return 900; // CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    int result = seen.callInContext("alloc");
    if (result == 0)
      *p = 0x1000, ++seen.allocated;
    return result;
  };
  d->memFree = [](uint64_t) {
    int result = seen.callInContext("free");
    seen.allocated -= result == 0;
    return result;
  };
  d->memGetInfo = [](size_t *room, size_t *total) {
    return *room = 5, *total = 9, 0;
  };
  d->memcpyHtoD = [](uint64_t, const void *, size_t) {
    return seen.callInContext("upload");
  };
  d->memcpyDtoH = [](void *, uint64_t, size_t) {
    return seen.callInContext("download");
  };
  d->memsetD8 = [](uint64_t, unsigned char byte, size_t bytes) {
    seen.filled = bytes;
    return seen.callInContext(byte ? "fill" : "fill with zeros");
  };
  d->memsetD8Async = [](uint64_t, unsigned char byte, size_t bytes, void *) {
    seen.filled = bytes;
    return seen.callInContext(byte ? "fill" : "fill with zeros");
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
    return seen.callInContext(usual ? "encode" : "encode something else");
  };
  d->moduleLoadDataEx = [](void **module, const void *image, unsigned, int *,
                           void **values) {
    *module = &seen;
    if (seen.failing.count("load"))
      std::strcpy(static_cast<char *>(values[0]), "line 3: no such register\n");
    seen.call(static_cast<const char *>(image));
    return seen.callInContext("load");
  };
  d->moduleUnload = [](void *) { return seen.callInContext("unload"); };
  d->moduleGetFunction = [](void **f, void *, const char *name) {
    return *f = &seen, seen.callInContext(name);
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
    return seen.callInContext("launch " + std::to_string(x) + " " +
                              std::to_string(threads) + " " +
                              std::to_string(shared));
  };
  d->launchKernelEx = [](const cuda::LaunchConfig *config, void *, void **,
                         void **) {
    return seen.callInContext("overlap " + std::to_string(config->grid[0]) +
                              " " + std::to_string(config->block[0]) + " " +
                              std::to_string(config->sharedBytes) + " " +
                              std::to_string(config->attributeCount) + " " +
                              std::to_string(config->attributes[0].id) + " " +
                              std::to_string(config->attributes[0].value));
  };
  d->eventCreate = [](void **event, unsigned) {
    return *event = &seen, seen.callInContext("create");
  };
  d->eventDestroy = [](void *) { return seen.callInContext("destroy"); };
  d->eventRecord = [](void *, void *) { return seen.callInContext("record"); };
  d->eventSynchronize = [](void *) { return seen.callInContext("wait"); };
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
