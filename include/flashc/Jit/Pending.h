//===- Pending.h - Kernels that are being compiled --------------*- C++ -*-===//
#ifndef FLASHC_JIT_PENDING_H
#define FLASHC_JIT_PENDING_H

#include "llvm/Support/Error.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace flashc::jit {

class Kernel;

/// What a compilation in the background will come to.
class Pending {
public:
  /// Whether it is done within this time.
  bool waitFor(std::chrono::milliseconds patience);
  /// Waits until it is done. May be asked again and again.
  llvm::Expected<std::shared_ptr<const Kernel>> get();

  void finish(llvm::Expected<std::shared_ptr<const Kernel>> result);

private:
  std::mutex mutex; // of all below
  std::condition_variable finished;
  bool done = false;
  std::shared_ptr<const Kernel> kernel;
  std::string error;
};

/// Threads that do what they are given, first come first served; they start
/// when there is work.
class Workers {
public:
  explicit Workers(unsigned threads) : most(threads) {}
  /// Ends with the work that has begun. The rest is told that it is not done.
  ~Workers();

  /// `run(true)` on a thread, or `run(false)` if that will not be.
  void add(std::function<void(bool)> run);

private:
  void work();

  const unsigned most;
  std::mutex mutex; // of all below
  std::condition_variable changed;
  std::deque<std::function<void(bool)>> queue;
  std::vector<std::thread> threads;
  unsigned idle = 0;
  bool stopping = false;
};

} // namespace flashc::jit

#endif // FLASHC_JIT_PENDING_H
