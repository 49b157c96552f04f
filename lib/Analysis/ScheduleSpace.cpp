//===- ScheduleSpace.cpp - Shapes and their budgets -----------------------===//
//
// Used by chooseSchedule. In: a block shape. Out: the ways to run it, what each
// needs of shared memory and registers, and errors with numbers where none
// fits.
//
//===----------------------------------------------------------------------===//
#include "ScheduleSpace.h"

#include "ScheduleCost.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <string>
#include <tuple>

namespace flashc {
namespace {
/// Registers besides S, O and Q: rows, addresses, B fragments, loop counters.
constexpr int64_t kOtherRegisters = 48;
constexpr int64_t kScoreRegisters = 8;
/// Most registers of scores in a kernel with masked blocks: with 112 and more,
/// ptxas was seen to spill a few bytes whatever else is live.
constexpr int64_t kMaskedScores = 96;

int64_t padded(int64_t columns) {
  return llvm::alignTo(columns, kTileColumnStep);
}
} // namespace

int64_t getSharedBytes(const ScheduleRequest &request, const Schedule &schedule,
                       bool isCPU) {
  int64_t d = padded(request.headDim), dv = padded(request.valueHeadDim);
  int64_t q = schedule.q, kv = schedule.kv;
  if (isCPU && request.isBackward)
    return 4 * ((q + 2 * kv) * (d + dv) + q * d + 4 * q * kv);
  if (isCPU) // f32 throughout: 16-bit tiles are widened once
    return 4 * (q * d + kv * (d + dv) + q * kv + q * dv);
  return 2 * (q * std::max(d, dv) + schedule.stages * kv * (d + dv));
}

int64_t estimateRegisters(const ScheduleRequest &request,
                          const Schedule &schedule) {
  int64_t rows = schedule.q / schedule.warps;
  int64_t scores = rows * schedule.kv / 32;
  int64_t output = rows * padded(request.valueHeadDim) / 32;
  int64_t queries =
      schedule.qInRegisters ? rows * padded(request.headDim) / 64 : 0;
  return scores + output + queries + kOtherRegisters +
         (request.hasScore ? kScoreRegisters : 0);
}

// Measured on d 64, 96, 128 and 256 at 32 and 16 rows a warp: the accumulator,
// live throughout, costs an eighth more than its size, and the scores of a
// masked block a quarter more.
int64_t estimateRegistersWithoutSpill(const ScheduleRequest &request,
                                      const Schedule &schedule) {
  int64_t rows = schedule.q / schedule.warps;
  int64_t output = rows * padded(request.valueHeadDim) / 32;
  int64_t scores = rows * schedule.kv / 32;
  return estimateRegisters(request, schedule) + output / 8 +
         (request.isMasked ? scores / 4 : 0);
}

/// All ways to run blocks of q x kv, fitting or not.
llvm::SmallVector<Schedule> ScheduleSpace::completions(int64_t q,
                                                       int64_t kv) const {
  llvm::SmallVector<Schedule> result;
  auto add = [&](int64_t stages, int64_t warps, bool qInRegisters) {
    Schedule s{q, kv, stages, warps, qInRegisters, target.sharedBytesPerBlock};
    s.sharedBytes = getSharedBytes(request, s, target.isCPU);
    s.registersEstimate = target.isCPU ? 0 : estimateRegisters(request, s);
    result.push_back(s);
  };
  // One stage of K and one of V already overlap: K's next block is under way
  // during P V, and V's during Q K^T. More is for who asks.
  int64_t stages = request.stages ? request.stages : 1;
  if (target.isCPU) {
    add(stages, 1, false);
    return result;
  }
  for (int64_t warps : kWarpCounts)
    for (int64_t rows : kWarpRows)
      if (rows * warps == q && (request.warps == 0 || request.warps == warps))
        for (bool qInRegisters : {false, true})
          add(stages, warps, qInRegisters);
  return result;
}

bool ScheduleSpace::isRoomy(const Schedule &s) const {
  if (target.isCPU)
    return true;
  if (request.isMasked && s.q / s.warps * s.kv / 32 > kMaskedScores)
    return false;
  return estimateRegistersWithoutSpill(request, s) <= registerLimit(s.warps);
}

llvm::SmallVector<Schedule> ScheduleSpace::allOf(int64_t q, int64_t kv,
                                                 bool mayBeTight) const {
  llvm::SmallVector<Schedule> result = completions(q, kv);
  llvm::erase_if(result, [&](const Schedule &s) {
    return !fits(s) || (!mayBeTight && !isRoomy(s));
  });
  return result;
}

std::optional<Schedule> ScheduleSpace::bestOf(int64_t q, int64_t kv,
                                              bool mayBeTight) const {
  std::optional<Schedule> best;
  auto key = [&](const Schedule &s) {
    double cost = target.isCPU ? 0.0 : getCost(request, s, target);
    return std::make_tuple(cost, s.sharedBytes, s.registersEstimate);
  };
  for (const Schedule &s : allOf(q, kv, mayBeTight))
    if (!best || key(s) < key(*best))
      best = s;
  return best;
}

/// The shape that fits whose blocks differ least from q x kv, by factors.
std::optional<Schedule> ScheduleSpace::nearest(int64_t q, int64_t kv) const {
  std::optional<Schedule> best;
  double bestDistance = 0;
  for (int64_t q1 = kRowStep; q1 <= kMaxBlockRows; q1 += kRowStep)
    for (int64_t kv1 = kRowStep; kv1 <= kMaxBlockRows; kv1 += kRowStep) {
      double distance = std::abs(std::log2(double(q1) / double(q))) +
                        std::abs(std::log2(double(kv1) / double(kv)));
      if (best && distance >= bestDistance)
        continue;
      if (std::optional<Schedule> s = bestOf(q1, kv1)) {
        best = s;
        bestDistance = distance;
      }
    }
  return best;
}

llvm::Error ScheduleSpace::overBudget(int64_t q, int64_t kv) const {
  std::optional<Schedule> near = nearest(q, kv);
  if (!near)
    return nothingFits();
  llvm::SmallVector<Schedule> ways = completions(q, kv);
  std::string advice =
      fmt::format("the nearest that fits is {}x{} with {} warps", near->q,
                  near->kv, near->warps);
  if (target.isCPU)
    advice = fmt::format("the nearest that fits is {}x{}", near->q, near->kv);
  if (ways.empty())
    return makeError(
        "tiles {}x{} have {} query rows, but {} warps with 16 or 32 rows each "
        "do not give that; {}",
        q, kv, q,
        request.warps ? std::to_string(request.warps) : "1, 2, 4 or 8", advice);
  const Schedule &least =
      *llvm::min_element(ways, [](const Schedule &a, const Schedule &b) {
        return a.registersEstimate < b.registersEstimate;
      });
  if (least.sharedBytes > least.sram)
    return makeError(
        "tiles {}x{} need {} bytes of on-chip memory, {} more than the {} of "
        "{}; {}",
        q, kv, least.sharedBytes, least.sharedBytes - least.sram, least.sram,
        target.arch, advice);
  return makeError("tiles {}x{} need about {} registers a thread, {} more than "
                   "the {} of {}; "
                   "{}",
                   q, kv, least.registersEstimate,
                   least.registersEstimate - registerLimit(least.warps),
                   registerLimit(least.warps), target.arch, advice);
}

llvm::Error ScheduleSpace::nothingFits() const {
  Schedule least{kRowStep, kRowStep, request.stages ? request.stages : 1, 1};
  int64_t bytes = getSharedBytes(request, least, target.isCPU);
  return makeError(
      "no tile fits: the smallest, {}x{} with head dims {} and {}, needs {} "
      "bytes "
      "of on-chip memory, but the budget is {}; give at least that{}",
      kRowStep, kRowStep, request.headDim, request.valueHeadDim, bytes,
      target.sharedBytesPerBlock,
      request.stages > 1 || request.warps > 0
          ? ", or leave stages and warps to be chosen"
          : "");
}
} // namespace flashc
