// A bar on standard error for what has a known number of steps.
#ifndef FLASHC_TOOLS_COMMON_PROGRESSBAR_H
#define FLASHC_TOOLS_COMMON_PROGRESSBAR_H

#include <cstdint>
#include <string>

namespace flashc::tools {

/// Steps done of all and the seconds left, as the mean of the steps so far
/// says, such as "[####...] 12 of 21 cells, 40 s left".
std::string barText(int64_t done, int64_t total, double seconds,
                    const std::string &what);

/// Where standard error is a terminal, `barText` as its last line while this
/// lives. Elsewhere only notes are written.
class ProgressBar {
public:
  /// Steps are counted in `what`, a plural.
  ProgressBar(int64_t total, std::string what);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar &) = delete;

  /// One step more is done.
  void step();
  /// A line above the bar.
  void note(const std::string &line);
  /// Take the bar away, before others write to the terminal; `draw` brings it
  /// back.
  void clear();
  void draw();

private:
  int64_t done = 0, total;
  std::string what;
  double start;
  bool shown;
};

} // namespace flashc::tools

#endif // FLASHC_TOOLS_COMMON_PROGRESSBAR_H
