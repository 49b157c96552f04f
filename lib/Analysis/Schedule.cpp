//===- Schedule.cpp - Tile sizes from a target's budgets ------------------===//
#include "flashc/Analysis/Schedule.h"

#include "flashc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

using namespace flashc;

int64_t flashc::getSharedBytes(const ScheduleRequest &request,
                               const Schedule &schedule, bool isCPU) {
  int64_t d = llvm::alignTo(request.headDim, kTileColumnStep);
  int64_t dv = llvm::alignTo(request.valueHeadDim, kTileColumnStep);
  int64_t bytes = request.element == ElementKind::F32 ? 4 : 2;
  return schedule.q * std::max(d, dv) * bytes + schedule.stages * schedule.kv * (d + dv) * bytes;
}

llvm::Expected<Schedule> flashc::chooseSchedule(const ScheduleRequest &request,
                                                const TargetInfo &target) {
  Schedule s;
  s.q = 64;
  s.kv = 64;
  s.warps = target.isCPU ? 1 : 4;
  s.sram = target.sharedBytesPerBlock;
  llvm::StringRef tiles(request.tiles);
  auto [q, kv] = tiles.split('x');
  if (tiles.contains('x'))
    (void)(q.getAsInteger(10, s.q) || kv.getAsInteger(10, s.kv));
  s.sharedBytes = getSharedBytes(request, s, target.isCPU);
  return s;
}
