// The runtime against a driver of our own, which writes down its calls.
#include "unittests/Catch.h"

#include "flashc/Runtime/Module.h"

#include <cstring>
#include <functional>
#include <map>

using namespace flashc;

namespace {
/// What the driver below saw, and what it is to fail at. One test at a time.
struct Seen {
  std::vector<std::string> calls;
  std::map<std::string, int> failing;
  std::vector<uint64_t> params;
  /// Looks at the parameters of each launch.
  std::function<void(void **)> onLaunch;
  int sm = 80, shared = 166912, allocated = 0;
  size_t filled = 0;
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
  d->memsetD8 = [](uint64_t, unsigned char byte, size_t bytes) {
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

KernelImage image() {
  KernelImage image{"fwd", "sm_80", "ptx text", "", {}};
  image.manifest.params = {
      {ParamKind::Query, "q", "f16", {-1, -1, -1, 64}, {-1, -1, -1, 1}}};
  image.manifest.qBlock = 64;
  image.manifest.warps = 4;
  image.manifest.sharedBytes = 81920;
  return image;
}

/// A persistent kernel of two arrays, both with tensor maps.
KernelImage hopperImage() {
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

ArrayArg bhsd(uint64_t at, int64_t batch, int64_t length) {
  return {at, {batch, 1, length, 64}, {length * 64, length * 64, 64, 1}};
}

int64_t countCalls(llvm::StringRef name) {
  return std::count(seen.calls.begin(), seen.calls.end(), name);
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

TEST_CASE("module: code of sm_90a is for that GPU alone") {
  auto driver = fakeDriver();
  seen.sm = 90;
  auto device = llvm::cantFail(Device::open(driver, 0));
  llvm::cantFail(Module::load(*device, hopperImage()));
  CHECK(countCalls("cubin") == 1);
  seen.sm = 100;
  auto newer = llvm::cantFail(Device::open(driver, 0));
  CHECK(errorOf(Module::load(*newer, hopperImage())) ==
        "kernel 'fwd' is for sm_90a, which no other GPU runs, but Fake 1 is "
        "sm_100; compile it with --arch=sm_90");
  seen.sm = 80;
  auto older = llvm::cantFail(Device::open(driver, 0));
  CHECK_THAT(errorOf(Module::load(*older, hopperImage())),
             Catch::Contains("needs sm_90, but Fake 1 is sm_80"));
}

TEST_CASE("module: a driver without tensor maps is refused where it matters") {
  auto driver = fakeDriver();
  seen.sm = 90;
  driver->tensorMapEncodeTiled = nullptr;
  auto device = llvm::cantFail(Device::open(driver, 0));
  llvm::cantFail(Module::load(*device, image()));
  CHECK(errorOf(Module::load(*device, hopperImage())) ==
        "kernel 'fwd' on Fake 1 needs cuTensorMapEncodeTiled, which its CUDA "
        "driver does not have; install a driver of CUDA 12 or newer, or "
        "compile with --arch=sm_80");
}

TEST_CASE("module: maps and a counter follow the arrays' parameters") {
  auto driver = fakeDriver();
  seen.sm = 90;
  auto device = llvm::cantFail(Device::open(driver, 0));
  {
    Module module = llvm::cantFail(Module::load(*device, hopperImage()));
    CHECK(seen.filled == 4096 * 16 + 64 * 2);
    CHECK(countCalls("fill with zeros") == 1);
    CHECK(seen.calls.back() == "synchronize");
    std::vector<uint64_t> words, counters;
    // Each array has a pointer, three sizes and three strides.
    seen.onLaunch = [&](void **params) {
      for (int map : {14, 15})
        words.insert(words.end(), static_cast<uint64_t *>(params[map]),
                     static_cast<uint64_t *>(params[map]) + 3);
      counters.push_back(*static_cast<uint64_t *>(params[16]));
    };
    std::vector<ArrayArg> args = {bhsd(0x4000, 3, 70), bhsd(0x8000, 3, 50)};
    llvm::cantFail(module.launch(args));
    CHECK(seen.calls.back() == "launch 6 256 81920"); // 6 tiles
    CHECK(words == std::vector<uint64_t>{0x8000, 50, 96, 0x4000, 70, 128});
    // Without keys: a map of the zeros behind the counters.
    args[1] = {0, {3, 1, 0, 64}, {0, 0, 64, 1}};
    words.clear();
    llvm::cantFail(module.launch(args));
    CHECK(words ==
          std::vector<uint64_t>{0x1000 + 4096 * 16, 1, 96, 0x4000, 70, 128});
    CHECK(counters == std::vector<uint64_t>{0x1000, 0x1010});
    CHECK(countCalls("encode") == 4);
  }
  CHECK(seen.allocated == 0);
}

TEST_CASE("module: a persistent grid has a block a multiprocessor at most") {
  auto driver = fakeDriver();
  seen.sm = 90;
  auto device = llvm::cantFail(Device::open(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, hopperImage()));
  llvm::cantFail(module.launch({bhsd(0x4000, 4, 70), bhsd(0x8000, 4, 70)}));
  CHECK(seen.calls.back() == "launch 7 256 81920"); // of 8 tiles
}

TEST_CASE("module: 4096 launches have counters of their own") {
  auto driver = fakeDriver();
  seen.sm = 90;
  auto device = llvm::cantFail(Device::open(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, hopperImage()));
  std::vector<uint64_t> counters;
  seen.onLaunch = [&](void **params) {
    counters.push_back(*static_cast<uint64_t *>(params[16]));
  };
  PackedArguments packed =
      llvm::cantFail(module.pack({bhsd(0x4000, 1, 70), bhsd(0x8000, 1, 70)}));
  for (int n = 0; n < 4098; ++n)
    llvm::cantFail(module.launch(packed));
  CHECK(countCalls("encode") == 2); // once for all launches
  CHECK(counters[4095] == 0x1000 + 4095 * 16);
  CHECK(counters[4096] == 0x1000);
  CHECK(counters[4097] == 0x1010);
}

TEST_CASE("module: arguments packed without a driver are encoded by a launch") {
  auto driver = fakeDriver();
  seen.sm = 90;
  auto device = llvm::cantFail(Device::open(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, hopperImage()));
  std::vector<ArrayArg> args = {bhsd(0x4000, 1, 70), bhsd(0x8000, 1, 70)};
  PackedArguments packed =
      llvm::cantFail(packArguments("fwd", module.manifest(), args));
  llvm::cantFail(module.launch(packed));
  llvm::cantFail(module.launch(packed));
  CHECK(countCalls("encode") == 4);
  seen.failing["encode"] = 1;
  CHECK(llvm::toString(module.launch(packed)) ==
        "kernel 'fwd' on Fake 1: cuTensorMapEncodeTiled of sizes "
        "64x70x1x1x1, strides of 128, 128, 128, 128 bytes, boxes of "
        "64x96x1x1x1 at 0x8000 failed with CUDA_ERROR_FAKE (made up, code 1); "
        "pass contiguous copies of the arrays");
}

TEST_CASE("module: neither maps nor a counter, no memory of its own") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, image()));
  CHECK(seen.allocated == 0);
  CHECK(countCalls("synchronize") == 0);
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
