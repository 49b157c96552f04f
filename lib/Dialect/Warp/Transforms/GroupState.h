// The copy groups that a kernel has committed, at one point of its run; for
// warp-count-groups.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_GROUPSTATE_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_GROUPSTATE_H

#include "flashc/Dialect/Warp/IR/Warp.h"

namespace flashc::warp {

/// One committed group: block `ahead` of a channel's reader, or, without a
/// channel, a copy_in.
struct Group {
  mlir::Value channel;
  int64_t ahead = 0;
  bool operator==(const Group &) const = default;
};

struct GroupState {
  /// Oldest first; the first `complete` of them have been waited for.
  llvm::SmallVector<Group> queue;
  size_t complete = 0;
  /// Gets of each channel in the running iteration of the innermost loop.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> taken;

  bool operator==(const GroupState &) const = default;

  int64_t &getTaken(mlir::Value channel) {
    for (auto &[key, count] : taken)
      if (key == channel)
        return count;
    return taken.emplace_back(channel, 0).second;
  }

  /// Drops the channel's groups: older than all that follow, they do not count.
  void forget(mlir::Value channel) {
    for (size_t i = queue.size(); i-- > 0;)
      if (queue[i].channel == channel) {
        queue.erase(queue.begin() + i);
        complete -= i < complete;
      }
    llvm::erase_if(taken, [&](auto &entry) { return entry.first == channel; });
  }

  /// All but the newest `pending` groups are complete. Copies to plain buffers
  /// are of no more interest then; blocks stay until they are read.
  void wait(int64_t pending) {
    size_t older = queue.size() - std::min<size_t>(pending, queue.size());
    complete = std::max(complete, older);
    for (size_t i = complete; i-- > 0;)
      if (!queue[i].channel) {
        queue.erase(queue.begin() + i);
        --complete;
      }
  }

  /// Groups behind the newest copy_in that is under way, or all.
  int64_t countAfterCopies() const {
    for (size_t i = queue.size(); i > complete; --i)
      if (!queue[i - 1].channel)
        return queue.size() - i;
    return queue.size() - complete;
  }
};

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_GROUPSTATE_H
