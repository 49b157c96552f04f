// Progress lines of flashc-run.
#include "Progress.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace flashc::tools;
using std::chrono::seconds;

Progress::Progress(std::string what)
    : what(std::move(what)), thread([this] { report(); }) {}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  changed.notify_all();
  thread.join();
}

void Progress::report() {
  std::unique_lock lock(mutex);
  for (seconds passed(2), step(2);; step = seconds(5), passed += step) {
    if (changed.wait_for(lock, step, [this] { return done; }))
      return;
    llvm::errs() << "flashc-run: " << what << ", " << passed.count() << " s\n";
  }
}
