//===- ScheduleAttr.h - Schedules as attributes and as text -----*- C++ -*-===//
#ifndef FLASHC_CONVERSION_ATTNTOTILE_SCHEDULEATTR_H
#define FLASHC_CONVERSION_ATTNTOTILE_SCHEDULEATTR_H

#include "flashc/Analysis/Schedule.h"
#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

namespace flashc {

/// What a schedule depends on, as the op says it. Tiles, stages, warps,
/// alignment and length are left as they are in a new request.
ScheduleRequest getScheduleRequest(attn::AttentionInterface op);

/// `#tile.schedule` of a struct and back; what a schedule was found to need
/// (`sharedBytes`, `registersEstimate`) is not in the attribute.
tile::ScheduleAttr toAttr(const Schedule &schedule, mlir::MLIRContext *context);
Schedule toSchedule(tile::ScheduleAttr attr);

/// The text of `#tile.schedule<...>`, and the schedule of a text. Fails with
/// the parser's or the verifier's words.
std::string printSchedule(const Schedule &schedule);
llvm::Expected<Schedule> parseSchedule(llvm::StringRef text,
                                       mlir::MLIRContext *context);

} // namespace flashc

#endif // FLASHC_CONVERSION_ATTNTOTILE_SCHEDULEATTR_H
