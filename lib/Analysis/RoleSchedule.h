//===- RoleSchedule.h - Schedules of kernels with roles ---------*- C++ -*-===//
#ifndef FLASHC_LIB_ANALYSIS_ROLESCHEDULE_H
#define FLASHC_LIB_ANALYSIS_ROLESCHEDULE_H

#include "flashc/Analysis/Schedule.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace flashc {

/// A schedule with roles (one warp loads, warpgroups compute), or none where
/// the target has no such thing, TMA cannot read the arrays (rows that are not
/// multiples of 16 bytes, or a smaller alignment), or the tiles that are asked
/// for are not its. Of what fits, the cheapest by the model.
std::optional<Schedule> chooseRoles(const ScheduleRequest &request,
                                    const TargetInfo &target);

/// Every schedule with roles for the request that fits, and its cost by the
/// model.
void forEachRoles(const ScheduleRequest &request, const TargetInfo &target,
                  llvm::function_ref<void(const Schedule &, double)> visit);

/// Whether the output can leave through the bytes that Q has.
bool outputFitsQuery(const ScheduleRequest &request);

/// 32-bit registers that a block of so many groups has for each thread when it
/// is launched: producer + groups * consumer may be at most groups + 1 times
/// that.
int64_t getLaunchRegisters(int64_t groups, const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_LIB_ANALYSIS_ROLESCHEDULE_H
