// A CUDA driver of our own, which writes down its calls, and kernels for it.
#ifndef FLASHC_TEST_UNITTESTS_RUNTIME_FAKEDRIVER_H
#define FLASHC_TEST_UNITTESTS_RUNTIME_FAKEDRIVER_H

#include "flashc/Runtime/Module.h"

#include <functional>
#include <map>

namespace flashc::test {

/// What the driver below saw, and what it is to fail at. One test at a time.
struct Seen {
  std::vector<std::string> calls;
  std::map<std::string, int> failing;
  std::vector<uint64_t> params;
  /// Looks at the parameters of each launch.
  std::function<void(void **)> onLaunch;
  int sm = 80, shared = 166912, allocated = 0;
  size_t filled = 0;
  /// Whether the thread's stream is captured.
  int capturing = 0, captureMode = 0;
  int call(std::string name) {
    calls.push_back(name);
    return failing.count(name) ? failing[name] : 0;
  }
  /// A call that, as in CUDA's driver, needs a current context.
  int callInContext(std::string name);
};
extern Seen seen;

/// What this thread has current: null as long as it has made nothing so.
void *currentContext();

/// A driver that has seen nothing yet.
std::shared_ptr<cuda::Driver> fakeDriver();

/// A kernel of one array.
KernelImage image();
/// A persistent kernel of two arrays, both with tensor maps.
KernelImage hopperImage();

ArrayArg bhsd(uint64_t at, int64_t batch, int64_t length);

int64_t countCalls(llvm::StringRef name);

template <typename T> std::string errorOf(llvm::Expected<T> value) {
  return value ? "" : llvm::toString(value.takeError());
}

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_RUNTIME_FAKEDRIVER_H
