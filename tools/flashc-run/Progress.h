// A line on standard error for what takes long.
#ifndef FLASHC_TOOLS_FLASHC_RUN_PROGRESS_H
#define FLASHC_TOOLS_FLASHC_RUN_PROGRESS_H

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace flashc::tools {

/// While it lives: after two seconds, and every five from then on, a line that
/// says what is being done and for how long already.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress &) = delete;

private:
  void report();

  std::string what;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread thread;
};

} // namespace flashc::tools

#endif // FLASHC_TOOLS_FLASHC_RUN_PROGRESS_H
