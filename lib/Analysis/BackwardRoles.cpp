//===- BackwardRoles.cpp - Gradients by warps with roles on Hopper --------===//
//
// Used by chooseSchedule and checkSchedule. In: gradients, on a target with
// wgmma. Out: the schedule of their main kernel, if there is such a form: two
// warpgroups of 64 keys and one that owns dQ and loads (docs/decisions/022).
//
//===----------------------------------------------------------------------===//
#include "BackwardSchedule.h"
#include "RoleSchedule.h"

#include "flashc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

namespace flashc {
namespace {
constexpr int64_t kGroups = 2;
constexpr int64_t kKeys = 64 * kGroups;
/// Registers of the groups that own keys, and of the one that owns dQ, which
/// with these makes 64 columns of it at a time.
constexpr int64_t kKeyRegisters = 216, kReducerRegisters = 72;
/// The same where there is a score function; the sums then leave 32 columns at
/// a time.
constexpr int64_t kScoreKeyRegisters = 224, kNarrowReducerRegisters = 56;
/// Slots of Q's and dO's rings: with two, loads that the third group starts
/// beside its products come late.
constexpr int64_t kStages = 3;
/// Slots of dS and of sums on their way out.
constexpr int64_t kScoreSlots = 2, kSumSlots = 2;
constexpr int64_t kSumBytes = 64 * 64 * 4;
constexpr int64_t kBarrierBytes = 256;
constexpr int64_t kSegment = 64;
/// Of a thread's registers sums of dK and dV take a head dim's number.
constexpr int64_t kMostColumns = 128;
} // namespace

std::optional<Schedule> chooseBackwardRoles(const ScheduleRequest &request,
                                            const TargetInfo &target) {
  int64_t d = request.headDim;
  bool aligned = request.alignment == 0 || request.alignment == 16;
  bool isDim = d % kTileColumnStep == 0 && d <= kMostColumns;
  if (!target.hasRoles || !aligned || !isDim || request.valueHeadDim != d ||
      request.element == ElementKind::F32 || !request.hasFactor ||
      request.sumsCaptures || (request.isDeterministic && !request.isConvex))
    return std::nullopt;
  Schedule s;
  // A pair's tiles take what the sums of dK and dV leave. What a score function
  // needs of its own does not fit beside the longer ones.
  bool isLong = d <= kSegment && (!request.hasScore || request.isDistance);
  s.q = isLong ? 128 : 64;
  s.kv = kKeys;
  s.stages = request.stages ? request.stages : kStages;
  s.warps = 4 * kGroups;
  s.sram = target.sharedBytesPerBlock;
  int64_t columns = int64_t(llvm::alignTo(d, kSegment));
  auto ring = [&](int64_t slots) { // LSE or D stand beside its rows
    return int64_t(llvm::alignTo(slots * s.q * (2 * columns + 4), 1024));
  };
  // dO gives up a slot where blocks are long.
  int64_t fewer = s.q > kSegment && s.stages > 2 ? s.stages - 1 : s.stages;
  s.sharedBytes = 4 * kKeys * columns + ring(s.stages) + ring(fewer) +
                  2 * kScoreSlots * kKeys * s.q + kSumSlots * kSumBytes +
                  kBarrierBytes;
  if (s.sharedBytes > s.sram)
    return std::nullopt;
  RoleChoices roles;
  roles.groups = kGroups;
  roles.producerRegisters =
      request.hasScore ? kNarrowReducerRegisters : kReducerRegisters;
  roles.consumerRegisters =
      request.hasScore ? kScoreKeyRegisters : kKeyRegisters;
  s.registersEstimate = roles.consumerRegisters;
  roles.rescale = RescaleKind::Always;
  s.roles = roles;
  return s;
}

llvm::Error checkBackwardRoles(const ScheduleRequest &asked, const Schedule &s,
                               const TargetInfo &target) {
  ScheduleRequest request = asked;
  request.stages = s.stages;
  std::optional<Schedule> most = chooseBackwardRoles(request, target);
  if (!most)
    return makeError(
        "gradients by warps with roles are for head dims that are multiples of "
        "16 up to 128, of K and V alike, in f16 or bf16, with a score function "
        "whose gradient is a product and adds to no captured tensor but by "
        "query and key, in a fixed order only under a mask without gaps, on "
        "sm_90a; this is head dims {} and {} on {} with {} stages: leave the "
        "schedule to be chosen",
        request.headDim, request.valueHeadDim, target.arch, s.stages);
  if (s.q != most->q || s.kv != most->kv || s.warps != most->warps ||
      s.roles->groups != kGroups)
    return makeError(
        "gradients by warps with roles of head dim {} go in blocks "
        "of {}x{} with {} groups, but the schedule has {}x{} and "
        "{}; use these",
        request.headDim, most->q, most->kv, kGroups, s.q, s.kv,
        s.roles->groups);
  int64_t pool = (kGroups + 1) * getLaunchRegisters(kGroups, target);
  int64_t dealt =
      s.roles->producerRegisters + kGroups * s.roles->consumerRegisters;
  if (dealt <= pool)
    return llvm::Error::success();
  return makeError("{} registers for the group that owns dQ and {} for each of "
                   "{} others are dealt, but there are {} in all; deal others",
                   s.roles->producerRegisters, s.roles->consumerRegisters,
                   kGroups, pool);
}
} // namespace flashc
