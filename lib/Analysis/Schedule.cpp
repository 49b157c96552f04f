//===- Schedule.cpp - Tile sizes from a target's budgets ------------------===//
//
// In: what is computed and where. Out: the schedule. Candidates are shapes
// whose query blocks are powers of two times 16 rows and whose key blocks are
// such or half as much again: few, since a block that does not divide the
// lengths leaves a masked tail on every row block. Other shapes are for "QxK".
//
//===----------------------------------------------------------------------===//
#include "flashc/Analysis/Schedule.h"

#include "BackwardSchedule.h"
#include "RoleSchedule.h"
#include "ScheduleCost.h"
#include "ScheduleSpace.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <optional>
#include <tuple>

namespace flashc {
namespace {
constexpr int64_t kMaxHeadDim = 256;
constexpr int64_t kMaxStages = 8;
/// Key blocks that "auto" tries.
constexpr int64_t kKeyBlocks[] = {16, 32, 48, 64, 96, 128, 256};
/// A CPU tile of this many rows keeps a microkernel busy and a row sum short.
constexpr int64_t kCpuRows = 64;

class Chooser {
public:
  Chooser(const ScheduleRequest &request, const TargetInfo &target)
      : request(request), target(target), space(request, target) {}
  llvm::Expected<Schedule> choose();

private:
  llvm::Error checkRequest() const;
  llvm::Expected<Schedule> chooseAuto() const;
  llvm::Expected<Schedule> choosePaper() const;
  llvm::Expected<Schedule> chooseExact() const;

  const ScheduleRequest &request;
  const TargetInfo &target;
  ScheduleSpace space;
};

llvm::Error Chooser::checkRequest() const {
  for (int64_t d : {request.headDim, request.valueHeadDim})
    if (d < 1 || d > kMaxHeadDim)
      return makeError("head dim {} is outside 1 to {}; split or pad the heads",
                       d, kMaxHeadDim);
  if (request.stages < 0 || request.stages > kMaxStages)
    return makeError(
        "{} stages are asked for, but a ring has 1 to {}; give one of these, "
        "or 0 to have it chosen",
        request.stages, kMaxStages);
  if (target.isCPU) {
    if (request.warps > 1)
      return makeError(
          "{} warps are asked for, but target cpu has one thread a block; "
          "leave the option out",
          request.warps);
    return llvm::Error::success();
  }
  if (request.warps != 0 && !llvm::is_contained(kWarpCounts, request.warps))
    return makeError(
        "{} warps are asked for, but a block has 1, 2, 4 or 8; give one of "
        "these, or 0 to have it chosen",
        request.warps);
  if (request.element == ElementKind::F32)
    return makeError(
        "element type f32 is not supported on {}, whose tensor cores take f16 "
        "and bf16; use one of these or target cpu",
        target.arch);
  if (request.element == ElementKind::BF16 && !target.hasBF16Mma)
    return makeError(
        "element type bf16 needs sm_80 (mma.sync on bf16), but the target is "
        "{}; use f16",
        target.arch);
  return llvm::Error::success();
}

llvm::Expected<Schedule> Chooser::chooseAuto() const {
  std::optional<Schedule> best;
  if (target.isCPU) {
    // Rows first: each key block is then read for more of them.
    for (int64_t q = kCpuRows; q >= kRowStep; q /= 2)
      for (int64_t kv = kCpuRows; kv >= kRowStep; kv /= 2)
        if (std::optional<Schedule> s = space.bestOf(q, kv))
          return *s;
    return space.nothingFits();
  }
  double bestCost = 0;
  for (int64_t q = kRowStep; q <= 256; q *= 2)
    for (int64_t kv : kKeyBlocks) {
      std::optional<Schedule> s = space.bestOf(q, kv, /*mayBeTight=*/false);
      if (!s)
        continue;
      double cost = getCost(request, *s, target);
      if (!best || std::tie(cost, s->sharedBytes) <
                       std::tie(bestCost, best->sharedBytes)) {
        best = s;
        bestCost = cost;
      }
    }
  if (!best)
    return space.nothingFits();
  return *best;
}

llvm::Expected<Schedule> Chooser::choosePaper() const {
  int64_t elementBytes =
      request.element == ElementKind::F32 || target.isCPU ? 4 : 2;
  int64_t elements = target.sharedBytesPerBlock / elementBytes;
  int64_t d = std::max(request.headDim, request.valueHeadDim);
  int64_t columns = llvm::divideCeil(elements, 4 * d);
  int64_t rows = std::min(columns, d);
  auto down = [](int64_t n) {
    return std::clamp(n / kRowStep * kRowStep, kRowStep, kMaxBlockRows);
  };
  // The rule leaves out S, P and the padding, so what it gives need not fit.
  for (int64_t q = down(rows); q >= kRowStep; q -= kRowStep)
    for (int64_t kv = down(columns); kv >= kRowStep; kv -= kRowStep)
      if (std::optional<Schedule> s = space.bestOf(q, kv))
        return *s;
  return space.nothingFits();
}

llvm::Expected<Schedule> Chooser::chooseExact() const {
  int64_t q = 0, kv = 0;
  auto [first, second] = llvm::StringRef(request.tiles).split('x');
  if (first.getAsInteger(10, q) || second.getAsInteger(10, kv))
    return makeError(
        "tiles '{}' are not understood; use auto, paper, or QxK such as 128x64",
        request.tiles);
  for (int64_t rows : {q, kv})
    if (rows < kRowStep || rows > kMaxBlockRows || rows % kRowStep != 0)
      return makeError(
          "tiles {} have a block of {} rows, but blocks are multiples of {} up "
          "to {}; use 128x64 or the like",
          request.tiles, rows, kRowStep, kMaxBlockRows);
  if (std::optional<Schedule> s = space.bestOf(q, kv))
    return *s;
  return space.overBudget(q, kv);
}

llvm::Expected<Schedule> Chooser::choose() {
  if (llvm::Error error = checkRequest())
    return error;
  if (request.isBackward && !target.isCPU)
    return chooseBackward(request, target);
  if (std::optional<Schedule> schedule = chooseRoles(request, target))
    return *schedule;
  if (request.tiles == "auto")
    return chooseAuto();
  if (request.tiles == "paper")
    return choosePaper();
  return chooseExact();
}
} // namespace

llvm::Expected<Schedule> chooseSchedule(const ScheduleRequest &request,
                                        const TargetInfo &target) {
  return Chooser(request, target).choose();
}
} // namespace flashc
