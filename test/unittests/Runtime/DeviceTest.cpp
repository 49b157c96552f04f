// The driver's loading and the device, against a driver of our own.
#include "FakeDriver.h"
#include "unittests/Catch.h"

using namespace flashc;
using namespace flashc::test;

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
