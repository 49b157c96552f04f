// Choices of trip counts, for the symbolic runs of warp-verify-protocol.
#include "TripCounts.h"

using namespace mlir;

namespace flashc::warp {

/// Fewer trips a loop until all choices together are few enough.
static void boundRuns(Limits &limits, int64_t mostRuns) {
  auto countRuns = [&] {
    int64_t runs = 1;
    for (auto [op, most] : limits)
      runs = std::min(runs * (most + 1), mostRuns + 1);
    return runs;
  };
  bool changed = true;
  while (changed && countRuns() > mostRuns) {
    changed = false;
    for (auto &[op, most] : limits)
      if (most > 1 && countRuns() > mostRuns) {
        --most;
        changed = true;
      }
  }
  // So many loops that even 0 or 1 trips are too many choices: the last ones
  // run once.
  while (countRuns() > mostRuns)
    for (auto &[op, most] : llvm::reverse(limits))
      if (most > 0) {
        most = 0;
        break;
      }
}

LogicalResult
forEachChoice(Limits limits, int64_t mostRuns,
              llvm::function_ref<LogicalResult(const Trips &)> run) {
  boundRuns(limits, mostRuns);
  Trips trips;
  for (auto [op, most] : limits)
    trips[op] = most == 0 ? 1 : 0;
  while (true) {
    if (failed(run(trips)))
      return failure();
    // The next choice, as a number whose digits are the counts.
    auto *digit = llvm::find_if(limits, [&](auto &entry) {
      return entry.second > 0 && trips[entry.first] < entry.second;
    });
    if (digit == limits.end())
      return success();
    ++trips[digit->first];
    for (auto *lower = limits.begin(); lower != digit; ++lower)
      if (lower->second > 0)
        trips[lower->first] = 0;
  }
}

} // namespace flashc::warp
