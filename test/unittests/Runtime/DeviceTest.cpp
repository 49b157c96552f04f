// The runtime against a driver of our own, which writes down its calls.
#include "unittests/Catch.h"

#include "flashc/Runtime/Module.h"

#include <cstring>
#include <map>

using namespace flashc;

namespace {
/// What the driver below saw, and what it is to fail at. One test at a time.
struct Seen {
  std::vector<std::string> calls;
  std::map<std::string, int> failing;
  std::vector<uint64_t> params;
  int sm = 80, shared = 166912, allocated = 0;
  int call(std::string name) {
    calls.push_back(name);
    return failing.count(name) ? failing[name] : 0;
  }
} seen;

std::shared_ptr<cuda::Driver> fakeDriver() {
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
                           : 7;
    return 0;
  };
  d->primaryCtxRetain = [](void **context, int) {
    return *context = &seen, seen.call("retain");
  };
  d->primaryCtxRelease = [](int) { return seen.call("release"); };
  d->ctxSetCurrent = [](void *) { return 0; };
  d->ctxSynchronize = [] { return seen.call("synchronize"); };
  d->memAlloc = [](uint64_t *p, size_t) {
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
  d->memsetD8 = [](uint64_t, unsigned char, size_t) {
    return seen.call("fill");
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

KernelImage image() {
  KernelImage image{"fwd", "sm_80", "ptx text", "", {}};
  image.manifest.params = {
      {ParamKind::Query, "q", "f16", {-1, -1, -1, 64}, {-1, -1, -1, 1}}};
  image.manifest.qBlock = 64;
  image.manifest.warps = 4;
  image.manifest.sharedBytes = 81920;
  return image;
}

template <typename T> std::string errorOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}
} // namespace

TEST_CASE("driver: a missing library is an error with the loader's reason") {
  std::string error = errorOf(cuda::Driver::load("libno-such-cuda.so.1"));
  CHECK_THAT(error, Catch::Contains("no CUDA driver: libno-such-cuda.so.1") &&
                        Catch::Contains("--target=cpu"));
  CHECK_THAT(errorOf(cuda::Driver::load("libm.so.6")),
             Catch::Contains("has no function cu"));
}

TEST_CASE("device: what it says of itself, and that it cleans up") {
  auto driver = fakeDriver();
  {
    auto device = llvm::cantFail(Device::open(driver, 0));
    CHECK(device->name() == "Fake 1");
    CHECK(device->sm() == 80);
    CHECK(device->smCount() == 7);
    CHECK(device->sharedBytesPerBlock() == 166912);
    DeviceBuffer buffer = llvm::cantFail(device->alloc(10)),
                 none = llvm::cantFail(device->alloc(0));
    buffer = llvm::cantFail(device->upload("abc", 3));
    CHECK(none.pointer() == 0);
    CHECK(llvm::cantFail(device->time([] { return llvm::Error::success(); })) ==
          1.5f);
  }
  CHECK(seen.allocated == 0);
  CHECK(std::count(seen.calls.begin(), seen.calls.end(), "destroy") == 2);
  CHECK(seen.calls.back() == "release");
}

TEST_CASE("device: errors name the device, the call and the driver's words") {
  auto driver = fakeDriver();
  CHECK(errorOf(Device::open(driver, 3)) ==
        "GPU 3 does not exist: this machine has 1; give a number below that, "
        "or run on the CPU (--target=cpu)");
  auto device = llvm::cantFail(Device::open(driver, 0));
  seen.failing["alloc"] = 2;
  CHECK(errorOf(device->alloc(99)) ==
        "Fake 1: cuMemAlloc of 99 bytes failed with CUDA_ERROR_FAKE (made up, "
        "code 2); 5 of 9 bytes are free: use "
        "smaller arrays or end other programs on this GPU");
  seen.failing["synchronize"] = 700;
  CHECK_THAT(llvm::toString(device->synchronize()),
             Catch::Contains("Fake 1: cuCtxSynchronize failed"));
  seen.failing["retain"] = 3;
  CHECK_THAT(errorOf(Device::open(driver, 0)),
             Catch::Contains("cuDevicePrimaryCtxRetain"));
}

TEST_CASE("module: PTX is loaded, shared memory asked for, the grid launched") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  {
    Module module = llvm::cantFail(Module::load(*device, image()));
    CHECK(module.registers() == 168);
    llvm::cantFail(
        module.launch({{0x4000, {1, 1 << 17, 65, 64}, {0, 64, 64, 1}}}));
    CHECK(seen.calls.back() == "launch 262144 128 81920"); // past 65535
    CHECK(seen.params == std::vector<uint64_t>{0x4000, 1});
    size_t calls = seen.calls.size();
    llvm::cantFail(module.launch({{0, {1, 4, 0, 64}, {0, 0, 0, 1}}}));
    CHECK(seen.calls.size() == calls); // nothing to launch
  }
  CHECK(std::count(seen.calls.begin(), seen.calls.end(), "ptx text") == 1);
  CHECK(std::count(seen.calls.begin(), seen.calls.end(), "set 8 81920") == 1);
  CHECK(std::count(seen.calls.begin(), seen.calls.end(), "set 9 100") == 1);
  CHECK(seen.calls.back() == "unload");
}

TEST_CASE("module: a cubin is for its own arch alone") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  KernelImage both = image();
  both.cubin = "cubin";
  llvm::cantFail(Module::load(*device, both));
  CHECK(std::count(seen.calls.begin(), seen.calls.end(), "cubin") == 1);
  seen.sm = 90;
  auto newer = llvm::cantFail(Device::open(driver, 0));
  llvm::cantFail(Module::load(*newer, both));
  CHECK(std::count(seen.calls.begin(), seen.calls.end(), "ptx text") == 1);
  both.ptx.clear();
  CHECK(errorOf(Module::load(*newer, both)) ==
        "kernel 'fwd' has a cubin for sm_80 alone, but Fake 1 is sm_90; "
        "compile it to PTX");
}

TEST_CASE(
    "module: devices that cannot run the image, and what the driver refuses") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  KernelImage newer = image();
  newer.arch = "sm_90";
  CHECK(errorOf(Module::load(*device, newer)) ==
        "kernel 'fwd' needs sm_90, but Fake 1 is sm_80; compile it with "
        "--arch=sm_80 or an older one");
  KernelImage large = image();
  large.manifest.sharedBytes = 200000;
  CHECK(errorOf(Module::load(*device, large)) ==
        "kernel 'fwd' needs 200000 bytes of shared memory, but a block of Fake "
        "1 can have 166912; compile it with "
        "--sram=166912");
  seen.failing["load"] = 218;
  CHECK(errorOf(Module::load(*device, image())) ==
        "kernel 'fwd' on Fake 1: cuModuleLoadDataEx failed with "
        "CUDA_ERROR_FAKE (made up, code 218); the driver's "
        "log: line 3: no such register");
  seen.failing = {{"launch 2 128 81920", 1}};
  Module module = llvm::cantFail(Module::load(*device, image()));
  CHECK_THAT(
      llvm::toString(module.launch({{0x4000, {1, 1, 65, 64}, {0, 0, 64, 1}}})),
      Catch::Contains("kernel 'fwd' on Fake 1: cuLaunchKernel of 2 blocks, 128 "
                      "threads, 81920 shared bytes failed"));
}

TEST_CASE("GPU: a real device opens and copies") {
  auto device = Device::open();
  if (!device) {
    llvm::consumeError(device.takeError());
    FLASHC_SKIP("no GPU");
  }
  int values[3] = {1, 2, 3}, back[3] = {};
  DeviceBuffer buffer =
      llvm::cantFail((*device)->upload(values, sizeof values));
  llvm::cantFail((*device)->copyFrom(back, buffer.pointer(), sizeof back));
  CHECK(back[2] == 3);
  CHECK((*device)->sm() >= 50);
}
