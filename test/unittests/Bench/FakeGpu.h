// A driver whose device memory is the host's and whose kernels are the oracle:
// what flashc-bench does around a launch is tested without a GPU.
#ifndef FLASHC_TEST_UNITTESTS_BENCH_FAKEGPU_H
#define FLASHC_TEST_UNITTESTS_BENCH_FAKEGPU_H

#include "flashc-bench/Cell.h"

#include "flashc/Runtime/Device.h"

namespace flashc::test {

/// What the device is to do. One at a time.
struct FakeGpu {
  /// The problem that a launch computes.
  Cell cell;
  /// Whether outputs were overwritten since the last launch.
  bool isSpoiled = false;
  /// Whether it computes something else.
  bool isWrong = false;
  /// Allocations past this fail.
  size_t mostBytes = size_t(1) << 40;
  float milliseconds = 1.5;
  int launches = 0, loads = 0;
};
FakeGpu &fakeGpu();

/// An sm_80 called "Fake 1", with a fresh `fakeGpu()`.
std::unique_ptr<Device> openFakeDevice();

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_BENCH_FAKEGPU_H
