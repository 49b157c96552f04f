//===- RoleSchedule.h - Schedules of kernels with roles ---------*- C++ -*-===//
#ifndef FLASHC_LIB_ANALYSIS_ROLESCHEDULE_H
#define FLASHC_LIB_ANALYSIS_ROLESCHEDULE_H

#include "flashc/Analysis/Schedule.h"

namespace flashc {

/// A schedule with roles (one warp loads, warpgroups compute), or none where
/// the target has no such thing, TMA cannot read the arrays (rows that are not
/// multiples of 16 bytes, or a smaller alignment), or the tiles that are asked
/// for are not its. Of what fits, the cheapest by the model.
std::optional<Schedule> chooseRoles(const ScheduleRequest &request,
                                    const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_LIB_ANALYSIS_ROLESCHEDULE_H
