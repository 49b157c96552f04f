//===- Candidates.cpp - Schedules to be timed, the likely ones first ------===//
//
// In: a request on a GPU. Out: what fits, ranked by the models of
// RoleSchedule.cpp and ScheduleCost.cpp, with the choices that these make for
// themselves (when the accumulator is rescaled, whether groups take turns, ...)
// varied one at a time: which of them is the fastest is beyond any model, since
// small differences in order decide what ptxas makes of a loop.
//
//===----------------------------------------------------------------------===//
#include "flashc/Analysis/Candidates.h"

#include "BackwardSchedule.h"
#include "RoleSchedule.h"
#include "ScheduleCost.h"
#include "ScheduleSpace.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace flashc {
namespace {
/// What a choice that the model does not know adds to a cost.
constexpr double kUnknownChoice = 0.02;
/// Registers of the loading warp at the least that setmaxnreg takes.
constexpr int64_t kLeastRegisters = 24;
constexpr int64_t kMostStages = 4;
constexpr int64_t kMostKeys = 256;

/// The schedules that differ from `s` in one choice of its roles and need no
/// more bytes than it.
std::vector<Schedule> changeRoles(const Schedule &s,
                                  const ScheduleRequest &request,
                                  const TargetInfo &target) {
  std::vector<Schedule> result;
  auto add = [&](auto change) {
    Schedule other = s;
    change(*other.roles);
    result.push_back(other);
  };
  for (RescaleKind kind : {RescaleKind::Lazy, RescaleKind::Late,
                           RescaleKind::Always, RescaleKind::Test})
    if (kind != s.roles->rescale)
      add([&](RoleChoices &roles) { roles.rescale = kind; });
  if (s.roles->groups > 1)
    add([](RoleChoices &roles) { roles.turns = !roles.turns; });
  if (s.roles->skip)
    add([](RoleChoices &roles) { roles.skip = false; });
  add([](RoleChoices &roles) { roles.overlap = !roles.overlap; });
  if (s.roles->apart && outputFitsQuery(request))
    add([](RoleChoices &roles) { roles.apart = roles.ahead = false; });
  if (s.roles->ahead)
    add([](RoleChoices &roles) { roles.ahead = false; });
  int64_t groups = s.roles->groups;
  int64_t pool = (groups + 1) * getLaunchRegisters(groups, target);
  int64_t consumer =
      std::min<int64_t>(240, (pool - kLeastRegisters) / groups / 8 * 8);
  if (consumer > s.roles->consumerRegisters)
    add([&](RoleChoices &roles) {
      roles.producerRegisters = kLeastRegisters;
      roles.consumerRegisters = consumer;
    });
  return result;
}

void listRoles(ScheduleRequest request, const TargetInfo &target,
               std::vector<Candidate> &list) {
  for (request.stages = 2; request.stages <= kMostStages; ++request.stages)
    forEachRoles(request, target, [&](const Schedule &s, double cost) {
      cost *= 1 + kUnknownChoice * double(request.stages - 2);
      list.push_back({s, cost});
      for (const Schedule &other : changeRoles(s, request, target))
        list.push_back({other, cost * (1 + kUnknownChoice)});
    });
}

void listOthers(ScheduleRequest request, const TargetInfo &target,
                std::vector<Candidate> &list) {
  for (request.stages = 1; request.stages <= 2; ++request.stages) {
    ScheduleSpace space(request, target);
    for (int64_t q = kRowStep; q <= 256; q *= 2)
      for (int64_t kv = kRowStep; kv <= kMostKeys; kv += kRowStep)
        for (const Schedule &s : space.allOf(q, kv, /*mayBeTight=*/false))
          list.push_back({s, getCost(request, s, target) *
                                 (1 + kUnknownChoice * (request.stages - 1))});
  }
}

bool isSame(const Schedule &a, const Schedule &b) {
  return a.q == b.q && a.kv == b.kv && a.stages == b.stages &&
         a.warps == b.warps && a.qInRegisters == b.qInRegisters &&
         a.roles == b.roles;
}
} // namespace

llvm::Expected<std::vector<Candidate>>
listSchedules(const ScheduleRequest &asked, const TargetInfo &target,
              size_t most) {
  ScheduleRequest request = asked;
  request.tiles = "auto";
  request.stages = request.warps = 0;
  llvm::Expected<Schedule> chosen = chooseSchedule(request, target);
  if (!chosen)
    return chosen.takeError();
  if (target.isCPU)
    return std::vector<Candidate>{{*chosen, 1}};
  std::vector<Candidate> list;
  if (chosen->roles)
    listRoles(request, target, list);
  else
    listOthers(request, target, list);
  // "auto" looks at fewer shapes of key blocks, so it may not be the cheapest.
  auto found = llvm::find_if(
      list, [&](const Candidate &c) { return isSame(c.schedule, *chosen); });
  assert(found != list.end() && "the chosen schedule is among those that fit");
  double unit = found->cost;
  std::rotate(list.begin(), found, found + 1);
  // Equal costs stay in their order.
  std::multimap<double, Schedule> ranked;
  for (const Candidate &candidate : llvm::drop_begin(list))
    ranked.emplace(candidate.cost / unit, candidate.schedule);
  list.resize(1);
  list.front().cost = 1;
  for (const auto &[cost, schedule] : ranked)
    if (list.size() < most)
      list.push_back({schedule, cost});
  return list;
}

/// As the chooser completes these blocks, which no choice may go beyond.
static llvm::Error checkRoles(const ScheduleRequest &asked, const Schedule &s,
                              const TargetInfo &target) {
  ScheduleRequest request = asked;
  request.tiles = fmt::format("{}x{}", s.q, s.kv);
  request.stages = s.stages;
  request.warps = s.warps;
  std::optional<Schedule> most = chooseRoles(request, target);
  if (!most)
    return makeError(
        "a schedule with roles, blocks of {}x{} and {} stages does not fit "
        "head dims {} and {} on {} with {} bytes on chip; take one that was "
        "made for this attention and target",
        s.q, s.kv, s.stages, request.headDim, request.valueHeadDim, target.arch,
        target.sharedBytesPerBlock);
  const RoleChoices &roles = *s.roles;
  if (roles.apart && !most->roles->apart)
    return makeError("blocks of {}x{} and {} stages leave no room for an "
                     "output apart from Q in {} bytes; make apart false",
                     s.q, s.kv, s.stages, target.sharedBytesPerBlock);
  if (roles.ahead && !most->roles->ahead)
    return makeError("blocks of {}x{} and {} stages leave no room for a second "
                     "slot of Q in {} bytes; make ahead false",
                     s.q, s.kv, s.stages, target.sharedBytesPerBlock);
  if (!roles.apart && !outputFitsQuery(request))
    return makeError("the output has head dim {} and Q has {}, so it does not "
                     "fit Q's bytes; make apart true",
                     request.valueHeadDim, request.headDim);
  int64_t pool = (roles.groups + 1) * getLaunchRegisters(roles.groups, target);
  int64_t dealt =
      roles.producerRegisters + roles.groups * roles.consumerRegisters;
  if (dealt > pool || roles.consumerRegisters < most->registersEstimate)
    return makeError(
        "{} registers for the producer and {} for each of {} groups are dealt, "
        "but there are {} in all and a group needs about {}; deal others",
        roles.producerRegisters, roles.consumerRegisters, roles.groups, pool,
        most->registersEstimate);
  return llvm::Error::success();
}

llvm::Error checkSchedule(const ScheduleRequest &asked, const Schedule &s,
                          const TargetInfo &target) {
  ScheduleRequest request = asked;
  request.tiles = "auto";
  request.stages = request.warps = 0;
  if (llvm::Expected<Schedule> any = chooseSchedule(request, target); !any)
    return any.takeError(); // nothing can be made of this request
  if (s.sram != target.sharedBytesPerBlock)
    return makeError("the schedule was made for {} bytes on chip, but {} has "
                     "{}; make it anew",
                     s.sram, target.arch, target.sharedBytesPerBlock);
  if (s.roles && asked.isBackward)
    return checkBackwardRoles(asked, s, target);
  if (s.roles)
    return checkRoles(asked, s, target);
  request.stages = s.stages;
  request.warps = target.isCPU ? 0 : s.warps;
  if (request.isBackward && !target.isCPU) {
    request.tiles = fmt::format("{}x{}", s.q, s.kv);
    return chooseSchedule(request, target).takeError();
  }
  ScheduleSpace space(request, target);
  for (const Schedule &other : space.allOf(s.q, s.kv, /*mayBeTight=*/true))
    if (isSame(other, s))
      return llvm::Error::success();
  if (space.bestOf(s.q, s.kv))
    return makeError("blocks of {}x{} with {} warps do not fit {} with "
                     "q_in_registers {}; make it {}",
                     s.q, s.kv, s.warps, target.arch, s.qInRegisters,
                     !s.qInRegisters);
  return space.overBudget(s.q, s.kv);
}
} // namespace flashc
