//===- Candidates.h - Schedules to be timed, the likely ones first -*- C++
//-*-===//
//
// `chooseSchedule` takes one; here are the others, for those who can measure.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_ANALYSIS_CANDIDATES_H
#define FLASHC_ANALYSIS_CANDIDATES_H

#include "flashc/Analysis/Schedule.h"

#include <vector>

namespace flashc {

/// A schedule that fits its target, and its place in the list of candidates.
struct Candidate {
  Schedule schedule;
  /// Cost by the model, relative to the schedule that "auto" takes, which has
  /// 1. Each choice that the model knows nothing of and that differs from its
  /// own adds two percent.
  double cost = 0;
};

/// At most `most` schedules for `request` on the GPU `target`, cheapest first,
/// the one of "auto" at the head: blocks of every shape that fits, more stages,
/// and of kernels with roles the choices of `#tile.roles` one at a time. Asked
/// tiles, stages and warps are not looked at. Fails as `chooseSchedule` does.
llvm::Expected<std::vector<Candidate>>
listSchedules(const ScheduleRequest &request, const TargetInfo &target,
              size_t most);

/// Whether a schedule that comes from elsewhere fits `request` on `target`.
/// The error says what is over which budget, or made for another target.
llvm::Error checkSchedule(const ScheduleRequest &request,
                          const Schedule &schedule, const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_ANALYSIS_CANDIDATES_H
