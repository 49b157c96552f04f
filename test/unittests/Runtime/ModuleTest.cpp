// Loading and launching, against a driver of our own.
#include "FakeDriver.h"
#include "unittests/Catch.h"

#include <thread>

using namespace flashc;
using namespace flashc::test;

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
    CHECK(seen.filled == (4096 + 65536) * 16 + 64 * 2);
    CHECK(countCalls("fill with zeros") == 1);
    CHECK(countCalls("wait for stream") == 1);
    CHECK(seen.calls.back() == "destroy stream");
    CHECK(countCalls("synchronize") == 0); // nobody else waits
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
    CHECK(words == std::vector<uint64_t>{0x1000 + (4096 + 65536) * 16, 1, 96,
                                         0x4000, 70, 128});
    CHECK(counters == std::vector<uint64_t>{0x1000, 0x1010});
    CHECK(countCalls("encode") == 4);
  }
  CHECK(seen.allocated == 0);
}

namespace {
/// The kernel with roles on a Hopper that counts calls, with two small arrays,
/// and the counter that each launch was given.
struct Hopper {
  std::unique_ptr<Device> device = open();
  Module module = llvm::cantFail(Module::load(*device, hopperImage()));
  PackedArguments packed =
      llvm::cantFail(module.pack({bhsd(0x4000, 1, 70), bhsd(0x8000, 1, 70)}));
  std::vector<uint64_t> counters;
  Hopper() {
    seen.onLaunch = [this](void **params) {
      counters.push_back(*static_cast<uint64_t *>(params[16]));
    };
  }
  static std::unique_ptr<Device> open() {
    auto driver = fakeDriver();
    seen.sm = 90;
    return llvm::cantFail(Device::open(driver, 0));
  }
};
} // namespace

TEST_CASE("module: a persistent grid has a block a multiprocessor at most") {
  Hopper hopper;
  llvm::cantFail(
      hopper.module.launch({bhsd(0x4000, 4, 70), bhsd(0x8000, 4, 70)}));
  CHECK(seen.calls.back() == "launch 7 256 81920"); // of 8 tiles
}

TEST_CASE("module: 4096 launches have counters of their own") {
  Hopper hopper;
  for (int n = 0; n < 4098; ++n)
    llvm::cantFail(hopper.module.launch(hopper.packed));
  CHECK(countCalls("encode") == 2); // once for all launches
  CHECK(hopper.counters[4095] == 0x1000 + 4095 * 16);
  CHECK(hopper.counters[4096] == 0x1000);
  CHECK(hopper.counters[4097] == 0x1010);
}

TEST_CASE("module: a captured launch keeps a counter that no other takes") {
  Hopper hopper;
  for (int capturing : {0, 1, 0, 1}) {
    seen.capturing = capturing;
    llvm::cantFail(hopper.module.launch(hopper.packed));
  }
  uint64_t captured = 0x1000 + 4096 * 16;
  CHECK(hopper.counters ==
        std::vector<uint64_t>{0x1000, captured, 0x1010, captured + 16});
}

TEST_CASE("module: loading goes on while a stream is captured") {
  auto driver = fakeDriver();
  seen.sm = 90;
  seen.capturing = 1;
  auto device = llvm::cantFail(Device::open(driver, 0));
  CHECK_THAT(errorOf(device->alloc(1)), Catch::Contains("cuMemAlloc"));
  Module module = llvm::cantFail(Module::load(*device, hopperImage()));
  CHECK(seen.captureMode == 0); // as it was
}

TEST_CASE("module: what is current before a call is so after it") {
  auto driver = fakeDriver();
  int own = 0;
  auto device = llvm::cantFail(Device::attach(driver, -1, &own));
  CHECK(currentContext() == nullptr);
  CHECK(countCalls("retain") == 0);
  {
    Module module = llvm::cantFail(Module::load(*device, image()));
    CHECK(countCalls("push") == countCalls("pop"));
    int64_t pushed = countCalls("push");
    std::vector<ArrayArg> args = {{0x4000, {1, 1, 65, 64}, {0, 0, 64, 1}}};
    llvm::cantFail(module.launch(args));
    CHECK(countCalls("push") > pushed);
    CHECK(countCalls("push") == countCalls("pop"));
    CHECK(currentContext() == nullptr);
    pushed = countCalls("push");
    driver->ctxSetCurrent(&own); // nothing to do
    llvm::cantFail(module.launch(args));
    CHECK(countCalls("push") == pushed);
    driver->ctxSetCurrent(nullptr);
    seen.failing["push"] = 201;
    CHECK_THAT(llvm::toString(module.launch(args)),
               Catch::Contains("Fake 1: cuCtxPushCurrent failed"));
    seen.failing.clear();
  }
  CHECK(seen.calls.back() == "pop"); // of the module's end
  CHECK(countCalls("unload") == 1);
  device.reset();
  CHECK(countCalls("release") == 0); // it is the caller's
}

TEST_CASE("module: host memory is refused") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, image()));
  CHECK(llvm::toString(
            module.launch({{0x7f1234567000, {1, 1, 65, 64}, {0, 0, 64, 1}}})) ==
        "kernel 'fwd', array 'q': its address 0x7f1234567000 is in host "
        "memory, which Fake 1 does not read; copy it to the GPU");
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
  seen.failing["encode"] = 1; // CUDA_ERROR_INVALID_VALUE
  CHECK(llvm::toString(module.launch(packed)) ==
        "kernel 'fwd' on Fake 1: cuTensorMapEncodeTiled of sizes "
        "64x70x1x1x1, strides of 128, 128, 128, 128 bytes, boxes of "
        "64x96x1x1x1 at 0x8000 failed with CUDA_ERROR_FAKE (made up, code 1); "
        "pass contiguous copies of the arrays");
  seen.failing["encode"] = 700; // not the arrays' fault
  CHECK_THAT(llvm::toString(module.launch(packed)),
             Catch::EndsWith("(made up, code 700); an earlier kernel may have "
                             "failed: run it under compute-sanitizer"));
}

TEST_CASE("module: a new thread, and one with another context current") {
  auto driver = fakeDriver();
  seen.sm = 90;
  auto device = llvm::cantFail(Device::attach(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, hopperImage()));
  std::vector<ArrayArg> args = {bhsd(0x4000, 1, 70), bhsd(0x8000, 1, 70)};
  int other = 0;
  for (void *context :
       {static_cast<void *>(nullptr), static_cast<void *>(&other)})
    std::thread([&] {
      driver->ctxSetCurrent(context);
      llvm::cantFail(module.launch(args));
      llvm::cantFail(module.launch(llvm::cantFail(module.pack(args))));
      Module loaded = llvm::cantFail(Module::load(*device, hopperImage()));
      CHECK(currentContext() == context);
    }).join();
  CHECK(countCalls("launch 2 256 81920") == 4);
  // Nothing is pushed where the context is current.
  driver->ctxSetCurrent(&seen);
  int64_t pushed = countCalls("push");
  llvm::cantFail(module.launch(args));
  CHECK(countCalls("push") == pushed);
}

TEST_CASE("module: neither maps nor a counter, no memory of its own") {
  auto driver = fakeDriver();
  auto device = llvm::cantFail(Device::open(driver, 0));
  Module module = llvm::cantFail(Module::load(*device, image()));
  CHECK(seen.allocated == 0);
  CHECK(countCalls("synchronize") == 0);
}
