//===- ScheduleCost.h - What a schedule costs, by a model -------*- C++ -*-===//
#ifndef FLASHC_LIB_ANALYSIS_SCHEDULECOST_H
#define FLASHC_LIB_ANALYSIS_SCHEDULECOST_H

#include "flashc/Analysis/Schedule.h"

namespace flashc {

/// Cycles of one multiprocessor for each score by estimate, to compare
/// schedules of one request; only those that fit have a cost.
double getCost(const ScheduleRequest &request, const Schedule &schedule,
               const TargetInfo &target);

/// Blocks of this schedule that one multiprocessor holds at a time.
int64_t getResidentBlocks(const Schedule &schedule, const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_LIB_ANALYSIS_SCHEDULECOST_H
