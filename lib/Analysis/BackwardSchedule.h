// Schedules of gradients on a GPU; used by chooseSchedule.
#ifndef FLASHC_LIB_ANALYSIS_BACKWARDSCHEDULE_H
#define FLASHC_LIB_ANALYSIS_BACKWARDSCHEDULE_H

#include "flashc/Analysis/Schedule.h"

namespace flashc {

/// The schedule of a main kernel with mma.sync: tiles "auto" or "QxK". Fails
/// where nothing fits, with the number over budget.
llvm::Expected<Schedule> chooseBackward(const ScheduleRequest &request,
                                        const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_LIB_ANALYSIS_BACKWARDSCHEDULE_H
