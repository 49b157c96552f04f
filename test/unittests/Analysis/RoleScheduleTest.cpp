// chooseSchedule on sm_90a: which kernels have roles, and their budgets.
#include "flashc/Analysis/Schedule.h"

#include "unittests/Catch.h"

#include <fmt/format.h>

#include <string>

using namespace flashc;

namespace {
TargetInfo hopper(int64_t sram = 0) {
  return llvm::cantFail(lookupTarget("sm_90a", sram));
}

ScheduleRequest request(int64_t d, int64_t dv, bool isMasked = false,
                        const char *tiles = "auto") {
  ScheduleRequest result;
  result.headDim = d;
  result.valueHeadDim = dv;
  result.isMasked = isMasked;
  result.tiles = tiles;
  return result;
}

/// "128x176 2 32+232 turns always", with `apart`, `ahead` and `skip` at the
/// end; or that there are no roles.
std::string roles(const ScheduleRequest &request,
                  const TargetInfo &target = hopper()) {
  auto s = chooseSchedule(request, target);
  if (!s)
    return llvm::toString(s.takeError());
  if (!s->roles)
    return "none";
  const char *rescale[] = {"lazy", "late", "always", "test"};
  const RoleChoices &r = *s->roles;
  return fmt::format(
      "{}x{} {} {}+{}{} {}{}{}{}", s->q, s->kv, r.groups, r.producerRegisters,
      r.consumerRegisters, r.turns ? " turns" : "", rescale[int(r.rescale)],
      r.apart ? " apart" : "", r.ahead ? " ahead" : "", r.skip ? " skip" : "");
}

int64_t roundUp(int64_t x, int64_t step) {
  return (x + step - 1) / step * step;
}
} // namespace

TEST_CASE("sm_90a: the shapes measured best on an H200") {
  auto at = [](int64_t length, int64_t d, bool isMasked) {
    ScheduleRequest result = request(d, d, isMasked);
    result.length = length;
    return roles(result);
  };
  CHECK(at(8192, 64, false) == "192x128 3 32+160 turns test apart ahead");
  CHECK(at(8192, 64, true) == "192x128 3 32+160 turns test apart ahead skip");
  CHECK(at(8192, 128, false) == "192x80 3 32+160 turns test apart ahead");
  CHECK(at(8192, 128, true) == "192x80 3 32+160 turns test apart ahead skip");
  CHECK(at(8192, 256, false) == "128x80 2 32+232 test");
  CHECK(at(4096, 256, true) == "128x64 2 32+232 test skip");
  // Short problems: whole tiles, and an output that does not wait.
  CHECK(at(512, 64, false) == "192x128 3 32+160 turns test apart ahead");
  CHECK(at(512, 64, true) == "128x128 2 32+232 turns test apart ahead");
  CHECK(at(1024, 64, false) == "192x128 3 32+160 turns test apart ahead");
  CHECK(at(1024, 64, true) == "128x128 2 32+232 turns test apart ahead");
  CHECK(at(1024, 128, false) == "128x128 2 32+232 turns test apart ahead");
  CHECK(at(1024, 128, true) == "128x128 2 32+232 turns test apart ahead");
  CHECK(at(512, 256, false) == "128x64 2 32+232 test");
  CHECK(at(0, 128, true) == at(4096, 128, true));
}

TEST_CASE("sm_90a: registers are set aside for score functions on positions") {
  ScheduleRequest r = request(128, 128, /*isMasked=*/false);
  r.length = 8192;
  r.hasScore = true; // a soft cap, ALiBi
  CHECK(roles(r) == "192x80 3 32+160 turns test apart ahead");
  r.isPositional = true; // a bias that is read
  CHECK(roles(r) == "128x128 2 32+232 turns always apart ahead");
}

TEST_CASE("sm_90a: key blocks that windows are made of") {
  auto at = [](int64_t d, int64_t left, int64_t right) {
    ScheduleRequest result = request(d, d, /*isMasked=*/true);
    result.length = 8192;
    result.left = left;
    result.right = right;
    return roles(result);
  };
  // 1024 + 192 keys of a tile are 19 blocks of 64, and 16 or 17 of 80.
  // Groups that skip take no turns.
  CHECK(at(128, 1024, 0) == "192x64 3 32+160 test apart ahead skip");
  CHECK(at(128, 256, 0) == "192x64 3 32+160 test apart ahead skip");
  CHECK(at(128, -1, 0) == at(128, -1, -1));
  CHECK(at(128, 8191, 0) == at(128, -1, 0)); // it reaches over all keys
  // Where no length is said, a window equals what it may be equal to.
  ScheduleRequest unknown = request(128, 128, /*isMasked=*/true);
  std::string causal = roles(unknown);
  for (int64_t left : {0, 256, 1024}) {
    unknown.left = left;
    unknown.right = 0;
    CHECK(roles(unknown) == causal);
  }
}

TEST_CASE("sm_90a: tiles, warps and stages that are asked for") {
  CHECK(roles(request(128, 128, false, "128x128")) ==
        "128x128 2 32+232 turns test apart ahead");
  CHECK(roles(request(128, 128, false, "64x64")) ==
        "64x64 1 32+240 test apart ahead");
  ScheduleRequest one = request(128, 128);
  one.warps = 4;
  auto s = chooseSchedule(one, hopper());
  REQUIRE(bool(s));
  REQUIRE(s->roles);
  CHECK(s->roles->groups == 1);
  CHECK(s->q == 64);
  ScheduleRequest deep = request(64, 64);
  deep.stages = 4;
  s = chooseSchedule(deep, hopper());
  REQUIRE(bool(s));
  CHECK(s->roles);
  CHECK(s->stages == 4);
  CHECK(s->sharedBytes <= s->sram);
  // No warpgroups of 64 rows, more registers than there are, and the paper's
  // own tiles: as on sm_90.
  for (const char *tiles : {"96x64", "192x192", "paper"}) {
    INFO(tiles);
    CHECK(roles(request(128, 128, false, tiles), hopper()).find('+') ==
          std::string::npos);
  }
}

TEST_CASE(
    "what TMA cannot copy has no roles, and gets a schedule all the same") {
  for (int64_t alignment : {2, 4, 8}) {
    ScheduleRequest r = request(128, 128);
    r.alignment = alignment;
    CHECK(roles(r) == "none");
  }
  ScheduleRequest aligned = request(128, 128);
  aligned.alignment = 16;
  CHECK(roles(aligned) == roles(request(128, 128)));
  for (int64_t d : {1, 7, 12, 36, 100, 250}) {
    CHECK(roles(request(d, 64)) == "none");
    CHECK(roles(request(64, d)) == "none");
  }
  ScheduleRequest bf16 = request(128, 128);
  bf16.element = ElementKind::BF16;
  CHECK(roles(bf16) == roles(request(128, 128)));
  // Other targets have none, whatever is asked for.
  TargetInfo sm90 = llvm::cantFail(lookupTarget("sm_90"));
  CHECK(roles(request(128, 128), sm90) == "none");
  // With little shared memory the small tiles of the other path are left.
  CHECK(roles(request(256, 256), hopper(65536)) == "none");
}

TEST_CASE("sm_90a: no head dim goes over a budget") {
  TargetInfo target = hopper();
  for (int64_t d = 8; d <= 256; d += 8)
    for (int64_t dv = 8; dv <= 256; dv += 8)
      for (bool isMasked : {false, true})
        for (bool hasScore : {false, true}) {
          ScheduleRequest r = request(d, dv, isMasked);
          r.hasScore = hasScore;
          auto s = chooseSchedule(r, target);
          INFO(d << "/" << dv << (isMasked ? " masked" : "")
                 << (hasScore ? " score" : ""));
          REQUIRE(bool(s));
          CHECK(s->sharedBytes <= target.sharedBytesPerBlock);
          CHECK(s->sram == target.sharedBytesPerBlock);
          REQUIRE(s->roles);
          const RoleChoices &c = *s->roles;
          // What the verifiers of #tile.schedule and warp.role ask.
          CHECK(s->warps == 4 * c.groups);
          CHECK(s->q == 64 * c.groups);
          CHECK(s->kv % 16 == 0);
          CHECK(s->kv <= 256);
          int64_t launch = 65536 / (128 * (c.groups + 1)) / 8 * 8;
          CHECK(c.producerRegisters + c.groups * c.consumerRegisters <=
                (c.groups + 1) * launch);
          CHECK(c.consumerRegisters % 8 == 0);
          CHECK(s->registersEstimate <= c.consumerRegisters);
          // S, P and O of a thread, at the least.
          CHECK(s->kv * 3 / 4 + roundUp(dv, 16) / 2 <= c.consumerRegisters);
          // What warp-allocate-shared lays out: slots, barriers, queue.
          int64_t columns = roundUp(d, 64), valueColumns = roundUp(dv, 64);
          int64_t bytes = 2 * (s->q * columns +
                               s->stages * s->kv * (columns + valueColumns));
          if (c.apart)
            bytes += 2 * s->q * valueColumns;
          else
            CHECK(valueColumns <= columns);
          if (c.ahead)
            bytes += 2 * s->q * columns;
          bytes += 16 * (c.groups + 2 * s->stages) + 40;
          CHECK(roundUp(bytes, 128) <= s->sharedBytes);
          CHECK(roles(r) == roles(r));
        }
}
