#include "flashc/Jit/Pending.h"
#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::jit;

bool Pending::waitFor(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex);
  return finished.wait_for(lock, patience, [&] { return done; });
}

llvm::Expected<std::shared_ptr<const Kernel>> Pending::get() {
  std::unique_lock lock(mutex);
  finished.wait(lock, [&] { return done; });
  if (kernel)
    return kernel;
  return makeError("{}", error);
}

void Pending::finish(llvm::Expected<std::shared_ptr<const Kernel>> result) {
  {
    std::lock_guard guard(mutex);
    done = true;
    if (result)
      kernel = *result;
    else
      error = llvm::toString(result.takeError());
  }
  finished.notify_all();
}

Workers::~Workers() {
  std::deque<std::function<void(bool)>> left;
  {
    std::lock_guard guard(mutex);
    stopping = true;
    left.swap(queue);
  }
  changed.notify_all();
  for (auto &run : left)
    run(false);
  for (std::thread &thread : threads)
    thread.join();
}

void Workers::add(std::function<void(bool)> run) {
  {
    std::lock_guard guard(mutex);
    queue.push_back(std::move(run));
    if (idle < queue.size() && threads.size() < most)
      threads.emplace_back([this] { work(); });
  }
  changed.notify_one();
}

void Workers::work() {
  std::unique_lock lock(mutex);
  while (true) {
    ++idle;
    changed.wait(lock, [&] { return stopping || !queue.empty(); });
    --idle;
    if (queue.empty())
      return;
    auto run = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    run(true);
    lock.lock();
  }
}
