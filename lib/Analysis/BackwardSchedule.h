// Schedules of gradients on a GPU; used by chooseSchedule.
#ifndef FLASHC_LIB_ANALYSIS_BACKWARDSCHEDULE_H
#define FLASHC_LIB_ANALYSIS_BACKWARDSCHEDULE_H

#include "flashc/Analysis/Schedule.h"

#include <optional>

namespace flashc {

/// The schedule of a main kernel with mma.sync: tiles "auto" or "QxK". Fails
/// where nothing fits, with the number over budget.
llvm::Expected<Schedule> chooseBackward(const ScheduleRequest &request,
                                        const TargetInfo &target);

/// The schedule of a main kernel whose warps have roles; none where there is no
/// such form. Not chosen unless it is asked for.
std::optional<Schedule> chooseBackwardRoles(const ScheduleRequest &request,
                                            const TargetInfo &target);
/// Whether `schedule`, which has roles, is one for `request`.
llvm::Error checkBackwardRoles(const ScheduleRequest &request,
                               const Schedule &schedule,
                               const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_LIB_ANALYSIS_BACKWARDSCHEDULE_H
