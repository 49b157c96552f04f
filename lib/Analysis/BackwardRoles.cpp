//===- BackwardRoles.cpp - Gradients by warps with roles on Hopper --------===//
//
// Used by chooseSchedule and checkSchedule. In: gradients, on a target with
// wgmma. Out: the schedule of their main kernel, if there is such a form: two
// warpgroups of 64 keys each and one that owns dQ and loads
// (docs/decisions/022); for head dims whose sums are too long for that, one
// group for dV, one for dK and the third (docs/decisions/025).
//
//===----------------------------------------------------------------------===//
#include "BackwardSchedule.h"
#include "RoleSchedule.h"

#include "flashc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

namespace flashc {
namespace {
constexpr int64_t kGroups = 2;
constexpr int64_t kGroupRows = 64;
constexpr int64_t kKeys = kGroupRows * kGroups;
/// Registers of the groups that own keys, and of the one that owns dQ, which
/// with these makes 64 columns of it at a time.
constexpr int64_t kKeyRegisters = 216, kReducerRegisters = 72;
/// The same where there is a score function; the sums then leave 32 columns at
/// a time.
constexpr int64_t kScoreKeyRegisters = 224, kNarrowReducerRegisters = 56;
/// Slots of Q's and dO's rings, and of those of short blocks where sums in
/// order take no room beside them: with two, loads that the third group starts
/// beside its products come late.
constexpr int64_t kStages = 3, kShortStages = 4;
/// Slots of dS, of P between groups that share results, and of sums that leave
/// through shared memory.
constexpr int64_t kScoreSlots = 2, kProbSlots = 2, kSumSlots = 2;
constexpr int64_t kSumBytes = 64 * 64 * 4;
constexpr int64_t kBarrierBytes = 256;
constexpr int64_t kSegment = 64;
/// Of a thread's registers sums of dK and dV take a head dim's number, and
/// where groups share the results, each of them half of that.
constexpr int64_t kMostColumns = 128, kMostSharedColumns = 256;

/// Bytes of a ring of blocks of queries, whose LSE or D stand beside its rows.
int64_t ringBytes(int64_t slots, int64_t rows, int64_t dim) {
  int64_t columns = int64_t(llvm::alignTo(dim, kSegment));
  return int64_t(llvm::alignTo(slots * rows * (2 * columns + 4), 1024));
}

Schedule roleSchedule(int64_t q, int64_t kv, int64_t stages,
                      const TargetInfo &target) {
  Schedule s;
  s.q = q;
  s.kv = kv;
  s.stages = stages;
  s.warps = 4 * kGroups;
  s.sram = target.sharedBytesPerBlock;
  RoleChoices roles;
  roles.groups = kGroups;
  roles.rescale = RescaleKind::Always;
  roles.producerRegisters = kReducerRegisters;
  roles.consumerRegisters = kKeyRegisters;
  s.registersEstimate = roles.consumerRegisters;
  s.roles = roles;
  return s;
}

/// Each group owns 64 keys, with their dK and dV.
std::optional<Schedule> chooseByRows(const ScheduleRequest &request,
                                     const TargetInfo &target) {
  int64_t d = request.headDim;
  // A pair's tiles take what the sums of dK and dV leave. What a score function
  // needs of its own does not fit beside the longer ones.
  bool isLong = d <= kSegment && (!request.hasScore || request.isDistance);
  // Sums in order wait for copies out of shared memory, and beside a score
  // function the third group has no registers to add those of long blocks.
  bool isStaged = request.isDeterministic || (isLong && request.hasScore);
  int64_t stages = request.stages       ? request.stages
                   : isLong || isStaged ? kStages
                                        : kShortStages;
  Schedule s = roleSchedule(isLong ? 128 : 64, kKeys, stages, target);
  if (request.hasScore) {
    s.roles->producerRegisters = kNarrowReducerRegisters;
    s.roles->consumerRegisters = s.registersEstimate = kScoreKeyRegisters;
  }
  int64_t columns = int64_t(llvm::alignTo(d, kSegment));
  // dO gives up a slot where blocks are long and sums take room.
  int64_t fewer = isStaged && isLong && stages > 2 ? stages - 1 : stages;
  s.sharedBytes = 4 * kKeys * columns + ringBytes(stages, s.q, d) +
                  ringBytes(fewer, s.q, d) + 2 * kScoreSlots * kKeys * s.q +
                  (isStaged ? kSumSlots * kSumBytes : 0) + kBarrierBytes;
  if (s.sharedBytes > s.sram)
    return std::nullopt;
  return s;
}

/// Both groups have the same 64 keys, one their dV and one their dK.
std::optional<Schedule> chooseByResults(const ScheduleRequest &request,
                                        const TargetInfo &target) {
  auto bytesOf = [&](int64_t stages) {
    int64_t columns = int64_t(llvm::alignTo(request.headDim, kSegment) +
                              llvm::alignTo(request.valueHeadDim, kSegment));
    return 2 * kGroupRows * columns +
           ringBytes(stages, kGroupRows, request.headDim) +
           ringBytes(stages, kGroupRows, request.valueHeadDim) +
           2 * (kScoreSlots + kProbSlots) * kGroupRows * kGroupRows +
           kBarrierBytes;
  };
  int64_t stages = request.stages ? request.stages : kStages;
  while (!request.stages && stages > 2 &&
         bytesOf(stages) > target.sharedBytesPerBlock)
    --stages;
  if (bytesOf(stages) > target.sharedBytesPerBlock || stages < 2)
    return std::nullopt;
  Schedule s = roleSchedule(kGroupRows, kGroupRows, stages, target);
  s.sharedBytes = bytesOf(stages);
  return s;
}
} // namespace

std::optional<Schedule> chooseBackwardRoles(const ScheduleRequest &request,
                                            const TargetInfo &target) {
  int64_t d = request.headDim, dv = request.valueHeadDim;
  bool aligned = request.alignment == 0 || request.alignment == 16;
  bool isDim = d % kTileColumnStep == 0 && dv % kTileColumnStep == 0 &&
               std::max(d, dv) <= kMostSharedColumns;
  if (!target.hasRoles || !aligned || !isDim ||
      request.element == ElementKind::F32 || !request.hasFactor ||
      request.sumsCaptures || (request.isDeterministic && !request.isConvex))
    return std::nullopt;
  if (d == dv && d <= kMostColumns)
    return chooseByRows(request, target);
  return chooseByResults(request, target);
}

llvm::Error checkBackwardRoles(const ScheduleRequest &asked, const Schedule &s,
                               const TargetInfo &target) {
  ScheduleRequest request = asked;
  request.stages = s.stages;
  std::optional<Schedule> most = chooseBackwardRoles(request, target);
  if (!most)
    return makeError(
        "gradients by warps with roles are for head dims that are multiples of "
        "16 up to 256, in f16 or bf16, with a score function "
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
