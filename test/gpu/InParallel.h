// Work on all cores, as the compilation of many kernels for one device.
#ifndef FLASHC_TEST_GPU_INPARALLEL_H
#define FLASHC_TEST_GPU_INPARALLEL_H

#include "flashc/Runtime/Device.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace flashc {

/// work(0) to work(count - 1), in any order, on threads where `device` is
/// current.
template <typename Work>
void inParallel(const Device &device, size_t count, Work work) {
  std::atomic<size_t> next = 0;
  auto run = [&] {
    llvm::consumeError(device.makeCurrent());
    for (size_t at; (at = next++) < count;)
      work(at);
  };
  std::vector<std::thread> threads;
  size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (size_t n = 1; n < std::min(cores, count); ++n)
    threads.emplace_back(run);
  run();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace flashc

#endif // FLASHC_TEST_GPU_INPARALLEL_H
