//===- Schedule.cpp - Tile sizes from a target's budgets ------------------===//
//
// In: what is computed and where. Out: the schedule. Candidates are shapes
// whose query blocks are powers of two times 16 rows and whose key blocks are
// such or half as much again: few, since a block that does not divide the
// lengths leaves a masked tail on every row block. Other shapes are for "QxK".
//
//===----------------------------------------------------------------------===//
#include "flashc/Analysis/Schedule.h"

#include "ScheduleCost.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <optional>
#include <string>
#include <tuple>

namespace flashc {
namespace {
constexpr int64_t kRowStep = 16; // rows of one mma.sync
constexpr int64_t kMaxBlockRows = 1024;
constexpr int64_t kMaxHeadDim = 256;
constexpr int64_t kMaxStages = 8;
/// Rows of one warp that the machine level knows, and warps of a block.
constexpr int64_t kWarpRows[] = {16, 32};
constexpr int64_t kWarpCounts[] = {1, 2, 4, 8};
/// Registers besides S, O and Q: rows, addresses, B fragments, loop counters.
constexpr int64_t kOtherRegisters = 48;
constexpr int64_t kScoreRegisters = 8;
/// Most registers of scores in a kernel with masked blocks: with 112 and more,
/// ptxas was seen to spill a few bytes whatever else is live.
constexpr int64_t kMaskedScores = 96;
/// Key blocks that "auto" tries.
constexpr int64_t kKeyBlocks[] = {16, 32, 48, 64, 96, 128, 256};
/// A CPU tile of this many rows keeps a microkernel busy and a row sum short.
constexpr int64_t kCpuRows = 64;

int64_t padded(int64_t columns) {
  return llvm::alignTo(columns, kTileColumnStep);
}

class Chooser {
public:
  Chooser(const ScheduleRequest &request, const TargetInfo &target)
      : request(request), target(target) {}
  llvm::Expected<Schedule> choose();

private:
  llvm::Error checkRequest() const;
  llvm::SmallVector<Schedule> completions(int64_t q, int64_t kv) const;
  std::optional<Schedule> bestOf(int64_t q, int64_t kv,
                                 bool mayBeTight = true) const;
  llvm::Expected<Schedule> chooseAuto() const;
  llvm::Expected<Schedule> choosePaper() const;
  llvm::Expected<Schedule> chooseExact() const;
  std::optional<Schedule> nearest(int64_t q, int64_t kv) const;
  llvm::Error overBudget(int64_t q, int64_t kv) const;
  llvm::Error nothingFits() const;
  int64_t registerLimit(int64_t warps) const {
    return std::min(target.maxRegistersPerThread,
                    target.registersPerSM / (32 * warps));
  }
  bool fits(const Schedule &s) const {
    return s.sharedBytes <= s.sram &&
           (target.isCPU || s.registersEstimate <= registerLimit(s.warps));
  }
  bool isRoomy(const Schedule &s) const {
    if (target.isCPU)
      return true;
    if (request.isMasked && s.q / s.warps * s.kv / 32 > kMaskedScores)
      return false;
    return estimateRegistersWithoutSpill(request, s) <= registerLimit(s.warps);
  }

  const ScheduleRequest &request;
  const TargetInfo &target;
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

/// All ways to run blocks of q x kv, fitting or not.
llvm::SmallVector<Schedule> Chooser::completions(int64_t q, int64_t kv) const {
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

/// The cheapest way to run blocks of q x kv that fits; equal costs go to fewer
/// bytes and then to fewer registers.
std::optional<Schedule> Chooser::bestOf(int64_t q, int64_t kv,
                                        bool mayBeTight) const {
  std::optional<Schedule> best;
  auto key = [&](const Schedule &s) {
    double cost = target.isCPU ? 0.0 : getCost(request, s, target);
    return std::make_tuple(cost, s.sharedBytes, s.registersEstimate);
  };
  for (const Schedule &s : completions(q, kv))
    if (fits(s) && (mayBeTight || isRoomy(s)) && (!best || key(s) < key(*best)))
      best = s;
  return best;
}

llvm::Expected<Schedule> Chooser::chooseAuto() const {
  std::optional<Schedule> best;
  if (target.isCPU) {
    // Rows first: each key block is then read for more of them.
    for (int64_t q = kCpuRows; q >= kRowStep; q /= 2)
      for (int64_t kv = kCpuRows; kv >= kRowStep; kv /= 2)
        if (std::optional<Schedule> s = bestOf(q, kv))
          return *s;
    return nothingFits();
  }
  double bestCost = 0;
  for (int64_t q = kRowStep; q <= 256; q *= 2)
    for (int64_t kv : kKeyBlocks) {
      std::optional<Schedule> s = bestOf(q, kv, /*mayBeTight=*/false);
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
    return nothingFits();
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
      if (std::optional<Schedule> s = bestOf(q, kv))
        return *s;
  return nothingFits();
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
  if (std::optional<Schedule> s = bestOf(q, kv))
    return *s;
  return overBudget(q, kv);
}

/// The shape that fits whose blocks differ least from q x kv, by factors.
std::optional<Schedule> Chooser::nearest(int64_t q, int64_t kv) const {
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

llvm::Error Chooser::overBudget(int64_t q, int64_t kv) const {
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

llvm::Error Chooser::nothingFits() const {
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

llvm::Expected<Schedule> Chooser::choose() {
  if (llvm::Error error = checkRequest())
    return error;
  if (request.tiles == "auto")
    return chooseAuto();
  if (request.tiles == "paper")
    return choosePaper();
  return chooseExact();
}
} // namespace

int64_t getSharedBytes(const ScheduleRequest &request, const Schedule &schedule,
                       bool isCPU) {
  int64_t d = padded(request.headDim), dv = padded(request.valueHeadDim);
  int64_t q = schedule.q, kv = schedule.kv;
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

llvm::Expected<Schedule> chooseSchedule(const ScheduleRequest &request,
                                        const TargetInfo &target) {
  return Chooser(request, target).choose();
}
} // namespace flashc
