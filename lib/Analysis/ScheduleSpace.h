//===- ScheduleSpace.h - Shapes and their budgets ---------------*- C++ -*-===//
#ifndef FLASHC_LIB_ANALYSIS_SCHEDULESPACE_H
#define FLASHC_LIB_ANALYSIS_SCHEDULESPACE_H

#include "flashc/Analysis/Schedule.h"

#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <optional>

namespace flashc {

constexpr int64_t kRowStep = 16; // rows of one mma.sync
constexpr int64_t kMaxBlockRows = 1024;
/// Rows of one warp that the machine level knows, and warps of a block.
constexpr int64_t kWarpRows[] = {16, 32};
constexpr int64_t kWarpCounts[] = {1, 2, 4, 8};

/// The schedules of one request on one target, and which of them fit.
class ScheduleSpace {
public:
  ScheduleSpace(const ScheduleRequest &request, const TargetInfo &target)
      : request(request), target(target) {}

  /// The cheapest way to run blocks of q x kv that fits (unless `mayBeTight`,
  /// without a spill); equal costs go to fewer bytes and then to fewer
  /// registers.
  std::optional<Schedule> bestOf(int64_t q, int64_t kv,
                                 bool mayBeTight = true) const;
  /// All ways to run blocks of q x kv that fit (and, unless `mayBeTight`, spill
  /// nothing).
  llvm::SmallVector<Schedule> allOf(int64_t q, int64_t kv,
                                    bool mayBeTight) const;
  /// Why blocks of q x kv do not fit: the number over budget and the nearest
  /// shape that does.
  llvm::Error overBudget(int64_t q, int64_t kv) const;
  /// No shape fits: the bytes of the smallest and the budget.
  llvm::Error nothingFits() const;

private:
  llvm::SmallVector<Schedule> completions(int64_t q, int64_t kv) const;
  std::optional<Schedule> nearest(int64_t q, int64_t kv) const;
  int64_t registerLimit(int64_t warps) const {
    return std::min(target.maxRegistersPerThread,
                    target.registersPerSM / (32 * warps));
  }
  bool fits(const Schedule &s) const {
    return s.sharedBytes <= s.sram &&
           (target.isCPU || s.registersEstimate <= registerLimit(s.warps));
  }
  bool isRoomy(const Schedule &s) const;

  const ScheduleRequest &request;
  const TargetInfo &target;
};

} // namespace flashc

#endif // FLASHC_LIB_ANALYSIS_SCHEDULESPACE_H
