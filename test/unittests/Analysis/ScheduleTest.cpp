// chooseSchedule: what the model must reproduce, budgets, and errors.
#include "flashc/Analysis/Schedule.h"

#include "unittests/Catch.h"

#include <map>
#include <string>

using namespace flashc;

namespace {
TargetInfo target(const char *arch, int64_t sram = 0) {
  auto found = lookupTarget(arch, sram);
  REQUIRE(bool(found));
  return *found;
}

ScheduleRequest request(int64_t d, int64_t dv, const char *tiles = "auto") {
  ScheduleRequest result;
  result.headDim = d;
  result.valueHeadDim = dv;
  result.tiles = tiles;
  return result;
}

std::string shape(const ScheduleRequest &r, const TargetInfo &t) {
  auto s = chooseSchedule(r, t);
  if (!s)
    return llvm::toString(s.takeError());
  return std::to_string(s->q) + "x" + std::to_string(s->kv) + " " +
         std::to_string(s->warps);
}
} // namespace

TEST_CASE("the model gives the shapes measured best that do not spill") {
  TargetInfo a100 = target("sm_80");
  CHECK(shape(request(32, 32), a100) == "128x128 4");
  CHECK(shape(request(64, 64), a100) == "128x128 4");
  CHECK(shape(request(96, 96), a100) == "128x64 4");
  CHECK(shape(request(128, 128), a100) == "128x48 4");
  CHECK(shape(request(192, 192), a100) == "128x64 8");
  CHECK(shape(request(256, 256), a100) == "128x64 8");
  // A mask takes registers of its own.
  ScheduleRequest causal = request(64, 64);
  causal.isMasked = true;
  CHECK(shape(causal, a100) == "128x96 4");
  CHECK(shape(request(128, 128, "128x64"), a100) == "128x64 4");
}

TEST_CASE("less shared memory: two small blocks rather than a large one") {
  CHECK(shape(request(128, 128), target("sm_86")) == "128x32 4");
}

TEST_CASE("at d = 64 and 128 Q leaves its registers to S and O") {
  for (int64_t d : {64, 128}) {
    auto s = chooseSchedule(request(d, d), target("sm_80"));
    REQUIRE(bool(s));
    CHECK_FALSE(s->qInRegisters);
    CHECK(s->registersEstimate <= 255);
  }
}

TEST_CASE("every target and head dim fits its budgets, and twice alike") {
  for (const char *arch : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "cpu"})
    for (int64_t d : {1, 7, 8, 40, 64, 80, 128, 192, 256})
      for (int64_t dv : {16, 64, 128, 256}) {
        TargetInfo t = target(arch);
        auto s = chooseSchedule(request(d, dv), t);
        INFO(arch << " " << d << "/" << dv);
        REQUIRE(bool(s));
        CHECK(s->sharedBytes <= t.sharedBytesPerBlock);
        CHECK(s->sram == t.sharedBytesPerBlock);
        CHECK(s->registersEstimate <= 255);
        CHECK(s->q % 16 == 0);
        CHECK(s->kv % 16 == 0);
        CHECK(shape(request(d, dv), t) == shape(request(d, dv), t));
      }
}

TEST_CASE(
    "a smaller budget gives smaller blocks, down to an error with numbers") {
  auto large = chooseSchedule(request(128, 128), target("sm_80"));
  auto small = chooseSchedule(request(128, 128), target("sm_80", 32768));
  REQUIRE(bool(large));
  REQUIRE(bool(small));
  CHECK(small->sharedBytes <= 32768);
  CHECK(small->q * small->kv < large->q * large->kv);
  CHECK(shape(request(128, 128), target("sm_80", 8192)) ==
        "no tile fits: the smallest, 16x16 with head dims 128 and 128, needs "
        "12288 bytes of "
        "on-chip memory, but the budget is 8192; give at least that");
}

TEST_CASE("paper: Bc = ceil(M/4d) and Br = min(Bc, d), cut to what fits") {
  // M = 24576 elements: Bc = 96, Br = 64.
  auto s = chooseSchedule(request(64, 64, "paper"), target("sm_80", 49152));
  REQUIRE(bool(s));
  CHECK(s->q == 64);
  CHECK(s->kv == 96);
  // 83456 elements: Bc = 1305 is cut by the registers of S.
  s = chooseSchedule(request(16, 16, "paper"), target("sm_80"));
  REQUIRE(bool(s));
  CHECK(s->q == 16);
  CHECK(s->kv < 1305);
  CHECK(s->registersEstimate <= 255);
}

TEST_CASE("QxK is taken as asked or refused by its number over budget") {
  CHECK(shape(request(64, 64, "64x32"), target("sm_80")) == "64x32 2");
  CHECK(shape(request(64, 64, "48x32"), target("cpu")) == "48x32 1");
  CHECK(shape(request(256, 256, "128x128"), target("sm_80")) ==
        "tiles 128x128 need 196608 bytes of on-chip memory, 29696 more than "
        "the 166912 of "
        "sm_80; the nearest that fits is 128x96 with 8 warps");
  CHECK(shape(request(64, 64, "256x256"), target("sm_90"))
            .find("registers a thread") != std::string::npos);
  CHECK(shape(request(64, 64, "48x64"), target("sm_80")) ==
        "tiles 48x64 have 48 query rows, but 1, 2, 4 or 8 warps with 16 or 32 "
        "rows each do "
        "not give that; the nearest that fits is 64x64 with 2 warps");
  CHECK(shape(request(64, 64, "60x64"), target("sm_80")) ==
        "tiles 60x64 have a block of 60 rows, but blocks are multiples of 16 "
        "up to 1024; use "
        "128x64 or the like");
  CHECK(
      shape(request(64, 64, "big"), target("sm_80")) ==
      "tiles 'big' are not understood; use auto, paper, or QxK such as 128x64");
}

TEST_CASE("overrides of stages and warps") {
  ScheduleRequest r = request(64, 64);
  r.stages = 3;
  r.warps = 2;
  auto s = chooseSchedule(r, target("sm_80"));
  REQUIRE(bool(s));
  CHECK(s->stages == 3);
  CHECK(s->warps == 2);
  r.stages = 9;
  CHECK(shape(r, target("sm_80")) == "9 stages are asked for, but a ring has 1 "
                                     "to 8; give one of these, or 0 to have it "
                                     "chosen");
  r.stages = 0;
  r.warps = 3;
  CHECK(shape(r, target("sm_80")) ==
        "3 warps are asked for, but a block has 1, 2, 4 or 8; give one of "
        "these, or 0 to have "
        "it chosen");
  r.warps = 4;
  CHECK(shape(r, target("cpu")) == "4 warps are asked for, but target cpu has "
                                   "one thread a block; leave the option out");
}

TEST_CASE("element types that a target lacks are refused by name") {
  ScheduleRequest r = request(64, 64);
  r.element = ElementKind::F32;
  CHECK(shape(r, target("sm_80")) ==
        "element type f32 is not supported on sm_80, whose tensor cores take "
        "f16 and bf16; use "
        "one of these or target cpu");
  CHECK(shape(r, target("cpu")) == "64x64 1");
  r.element = ElementKind::BF16;
  CHECK(shape(r, target("sm_75")) ==
        "element type bf16 needs sm_80 (mma.sync on bf16), but the target is "
        "sm_75; use f16");
  CHECK(shape(request(257, 64), target("sm_80")) ==
        "head dim 257 is outside 1 to 256; split or pad the heads");
}

TEST_CASE("gradients: blocks that fit a core's L2") {
  TargetInfo cpu = target("cpu");
  ScheduleRequest r = request(64, 64);
  r.isBackward = true;
  CHECK(shape(r, cpu) == "64x64 1");
  // 4 bytes of (q + 2 kv)(d + dv) + q d + 4 q kv.
  auto s = chooseSchedule(r, cpu);
  CHECK(s->sharedBytes == 4 * (192 * 128 + 64 * 64 + 4 * 64 * 64));
  CHECK(shape(r, target("cpu", 65536)) == "32x16 1");
  r.tiles = "512x512";
  CHECK(shape(r, cpu).find("more than the 1048576 of cpu") !=
        std::string::npos);
}

TEST_CASE("gradients on a GPU: keys are rows, and everything fits") {
  ScheduleRequest r = request(128, 128);
  r.isBackward = true;
  CHECK(shape(r, target("sm_80")) == "64x128 8");
  CHECK(shape(r, target("sm_90a")) == "64x128 8");
  // Warps with roles, where there is such a form and nothing else is asked for.
  CHECK_FALSE(chooseSchedule(r, target("sm_90"))->roles);
  CHECK(chooseSchedule(r, target("sm_90a"))->roles);
  r.warps = 4;
  CHECK_FALSE(chooseSchedule(r, target("sm_90a"))->roles);
  r.warps = 0;
  r.tiles = "64x64";
  CHECK_FALSE(chooseSchedule(r, target("sm_90a"))->roles);
  for (const char *arch : {"sm_75", "sm_80", "sm_86", "sm_90a"})
    for (int64_t d = 1; d <= 256; ++d) {
      r = request(d, d);
      r.isBackward = true;
      TargetInfo gpu = target(arch);
      INFO(arch << " d " << d);
      if (gpu.sm == 75 && d > 224) { // 64 KiB are too few
        CHECK(shape(r, gpu).find("no tile fits the gradients") == 0);
        continue;
      }
      auto s = chooseSchedule(r, gpu);
      REQUIRE(bool(s));
      CHECK(s->sharedBytes <= gpu.sharedBytesPerBlock);
      CHECK(s->registersEstimate <= 255);
      // Warps that share rows deal all columns among themselves.
      int64_t columns = getBackwardColumns(d, *s);
      int64_t rows = s->warpRows * s->warps;
      int64_t parts = std::max({rows / s->q, rows / s->kv, int64_t(1)});
      CHECK(columns >= d);
      CHECK(columns % (s->roles ? 16 : 16 * parts) == 0);
      CHECK(bool(s->roles) == (gpu.sm == 90 && gpu.hasRoles && d % 16 == 0));
    }
}

TEST_CASE("gradients by warps with roles: what has that form") {
  TargetInfo hopper = target("sm_90a");
  ScheduleRequest plain = request(64, 64);
  plain.isBackward = true;
  auto rolesOf = [&](void (*change)(ScheduleRequest &)) {
    ScheduleRequest r = plain;
    change(r);
    return chooseSchedule(r, hopper);
  };
  auto has = [&](void (*change)(ScheduleRequest &)) {
    return bool(rolesOf(change)->roles);
  };
  CHECK(has([](ScheduleRequest &r) { r.hasKeyLengths = true; }));
  CHECK(has([](ScheduleRequest &r) { r.isDeterministic = true; }));
  CHECK_FALSE(has([](ScheduleRequest &r) {
    r.isDeterministic = true;
    r.isConvex = false;
  }));
  CHECK(has([](ScheduleRequest &r) { r.isConvex = false; }));
  CHECK_FALSE(has([](ScheduleRequest &r) { r.alignment = 8; }));
  CHECK_FALSE(has([](ScheduleRequest &r) { r.valueHeadDim = 36; }));
  // Groups share the results of 64 keys where a thread has no registers for
  // both sums, and where these differ.
  for (auto [d, dv, stages] :
       {std::tuple<int64_t, int64_t, int64_t>{256, 256, 2},
        {192, 128, 3},
        {144, 144, 3},
        {64, 32, 3}}) {
    INFO(d << "/" << dv);
    ScheduleRequest r = request(d, dv);
    r.isBackward = true;
    auto shared = chooseSchedule(r, hopper);
    REQUIRE(shared->roles);
    CHECK(shared->kv == 64);
    CHECK(shared->q == 64);
    CHECK(shared->stages == stages);
    CHECK(shared->sharedBytes <= hopper.sharedBytesPerBlock);
  }
  // Score functions: shorter blocks at head dim 64 unless they count distances,
  // and other registers.
  auto score = rolesOf([](ScheduleRequest &r) { r.hasScore = true; });
  REQUIRE(score->roles);
  CHECK(score->q == 64);
  CHECK(score->roles->consumerRegisters == 224);
  CHECK(score->roles->producerRegisters == 56);
  CHECK(rolesOf([](ScheduleRequest &r) {
          r.hasScore = r.isDistance = true;
        })->q == 128);
  CHECK_FALSE(has([](ScheduleRequest &r) {
    r.hasScore = true;
    r.hasFactor = false;
  }));
  CHECK_FALSE(
      has([](ScheduleRequest &r) { r.hasScore = r.sumsCaptures = true; }));
}
