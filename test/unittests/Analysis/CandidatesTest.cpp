// listSchedules and checkSchedule: what may be timed, and what may be asked.
#include "flashc/Analysis/Candidates.h"

#include "unittests/Catch.h"

#include <set>

using namespace flashc;

namespace {
TargetInfo target(const char *arch, int64_t sram = 0) {
  return llvm::cantFail(lookupTarget(arch, sram));
}

ScheduleRequest request(int64_t d, int64_t dv, bool isMasked = false) {
  ScheduleRequest result;
  result.headDim = d;
  result.valueHeadDim = dv;
  result.isMasked = isMasked;
  return result;
}

std::string text(const Schedule &s) {
  std::string text = fmt::format("{}x{} s{} w{} q{}", s.q, s.kv, s.stages,
                                 s.warps, s.qInRegisters);
  if (s.roles)
    text += fmt::format(" g{} p{} c{} o{} t{} r{} a{}{}", s.roles->groups,
                        s.roles->producerRegisters, s.roles->consumerRegisters,
                        s.roles->overlap, s.roles->turns, int(s.roles->rescale),
                        s.roles->apart, s.roles->ahead) +
            (s.roles->skip ? " skip" : "");
  return text;
}

/// The error of a schedule that was changed, empty if it fits.
template <typename Change>
std::string checkChanged(const ScheduleRequest &request,
                         const TargetInfo &target, Change change) {
  Schedule s = llvm::cantFail(chooseSchedule(request, target));
  change(s);
  return llvm::toString(checkSchedule(request, s, target));
}

bool has(const std::string &text, const char *part) {
  return text.find(part) != text.npos;
}
} // namespace

TEST_CASE("candidates: auto at the head, then by cost, none twice, all fit") {
  for (const char *arch : {"sm_80", "sm_90a"})
    for (auto [d, dv] : {std::pair<int64_t, int64_t>{64, 64},
                         {128, 128},
                         {192, 128},
                         {64, 128},
                         {256, 256}})
      for (bool isMasked : {false, true}) {
        INFO(arch << " " << d << "/" << dv << " " << isMasked);
        ScheduleRequest r = request(d, dv, isMasked);
        TargetInfo t = target(arch);
        auto list = llvm::cantFail(listSchedules(r, t, 10000));
        CHECK(list.size() > 20);
        CHECK(text(list[0].schedule) ==
              text(llvm::cantFail(chooseSchedule(r, t))));
        CHECK(list[0].cost == 1);
        std::set<std::string> seen;
        for (size_t n = 0; n < list.size(); ++n) {
          INFO(text(list[n].schedule));
          CHECK(seen.insert(text(list[n].schedule)).second);
          CHECK((n < 2 || list[n - 1].cost <= list[n].cost));
          CHECK(llvm::toString(checkSchedule(r, list[n].schedule, t)) == "");
        }
        auto few = llvm::cantFail(listSchedules(r, t, 5));
        CHECK(few.size() == 5);
        CHECK(text(few[4].schedule) == text(list[4].schedule));
      }
}

TEST_CASE("candidates of kernels with roles vary each choice") {
  auto list =
      llvm::cantFail(listSchedules(request(128, 128), target("sm_90a"), 10000));
  auto some = [&](auto is) {
    return llvm::any_of(list, [&](const Candidate &c) {
      return c.schedule.kv == 128 && c.schedule.roles->groups == 2 &&
             c.schedule.stages == 2 && is(*c.schedule.roles);
    });
  };
  for (RescaleKind kind : {RescaleKind::Lazy, RescaleKind::Late,
                           RescaleKind::Always, RescaleKind::Test})
    CHECK(some([&](const RoleChoices &r) { return r.rescale == kind; }));
  CHECK(some([](const RoleChoices &r) { return !r.overlap; }));
  CHECK(some([](const RoleChoices &r) { return !r.turns; }));
  CHECK_FALSE(some([](const RoleChoices &r) { return r.skip; }));
  CHECK(some([](const RoleChoices &r) { return !r.apart; }));
  CHECK(some([](const RoleChoices &r) { return r.apart && !r.ahead; }));
  CHECK(some([](const RoleChoices &r) {
    return r.producerRegisters == 24 && r.consumerRegisters == 240;
  }));
  CHECK(llvm::any_of(
      list, [](const Candidate &c) { return c.schedule.stages == 3; }));
}

TEST_CASE("candidates fail as the choice does, and the CPU has one") {
  auto list = listSchedules(request(300, 300), target("sm_80"), 5);
  REQUIRE_FALSE(bool(list));
  CHECK(has(llvm::toString(list.takeError()), "head dim 300"));
  CHECK(
      llvm::cantFail(listSchedules(request(64, 64), target("cpu"), 5)).size() ==
      1);
}

TEST_CASE("a schedule from elsewhere is held against the budgets") {
  TargetInfo hopper = target("sm_90a"), ampere = target("sm_80");
  ScheduleRequest r = request(128, 128);
  r.length = 512; // 128x128
  CHECK(checkChanged(r, hopper, [](Schedule &) {}) == "");
  CHECK(checkChanged(r, ampere, [](Schedule &) {}) == "");
  CHECK(has(checkChanged(r, hopper, [](Schedule &s) { s.kv = 256; }),
            "blocks of 128x256 and 2 stages does not fit head dims 128 and "
            "128"));
  ScheduleRequest full = r;
  full.tiles = "128x176"; // fills the memory
  CHECK(has(
      checkChanged(full, hopper, [](Schedule &s) { s.roles->apart = true; }),
      "leave no room for an output apart from Q"));
  CHECK(has(
      checkChanged(full, hopper, [](Schedule &s) { s.roles->ahead = true; }),
      "leave no room for a second slot of Q"));
  CHECK(has(checkChanged(r, hopper,
                         [](Schedule &s) { s.roles->consumerRegisters = 240; }),
            "32 registers for the producer and 240 for each of 2 groups are "
            "dealt, but there are 504 in all"));
  CHECK(has(checkChanged(r, hopper,
                         [](Schedule &s) { s.roles->consumerRegisters = 160; }),
            "a group needs about"));
  CHECK(has(checkChanged(request(64, 128), hopper,
                         [](Schedule &s) { s.roles->apart = false; }),
            "the output has head dim 128 and Q has 64"));
  CHECK(has(checkChanged(r, hopper, [](Schedule &s) { s.sram = 1000; }),
            "made for 1000 bytes on chip, but sm_90a has 232448"));
  CHECK(has(checkChanged(r, ampere, [](Schedule &s) { s.kv = 512; }),
            "tiles 128x512 need"));
  CHECK(has(checkChanged(r, ampere, [](Schedule &s) { s.warps = 1; }),
            "1 warps with 16 or 32 rows each do not give that"));
  // One made for Hopper is none for Ampere.
  Schedule roles = llvm::cantFail(chooseSchedule(r, hopper));
  roles.sram = ampere.sharedBytesPerBlock;
  CHECK(has(llvm::toString(checkSchedule(r, roles, ampere)), "does not fit"));
  ScheduleRequest odd = request(100, 100);
  CHECK(has(llvm::toString(checkSchedule(
                odd, llvm::cantFail(chooseSchedule(r, hopper)), hopper)),
            "does not fit head dims 100"));
}
