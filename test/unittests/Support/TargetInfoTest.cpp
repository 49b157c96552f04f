// The table of targets and what `lookupTarget` refuses.
#include "unittests/Catch.h"

#include "flashc/Support/TargetInfo.h"

using namespace flashc;

static std::string errorOf(llvm::StringRef arch, int64_t sram) {
  llvm::Expected<TargetInfo> target = lookupTarget(arch, sram);
  return target ? "" : llvm::toString(target.takeError());
}

TEST_CASE("targets: every known arch is found under its name") {
  for (llvm::StringRef arch : knownArchs()) {
    llvm::Expected<TargetInfo> target = lookupTarget(arch);
    REQUIRE(bool(target));
    CHECK(target->arch == arch);
    CHECK(target->isCPU == (arch == "cpu"));
    CHECK(target->sharedBytesPerBlock + target->sharedBytesReservedPerBlock ==
          target->sharedBytesPerSM);
  }
}

TEST_CASE("targets: shared memory and features") {
  TargetInfo turing = llvm::cantFail(lookupTarget("sm_75"));
  CHECK(turing.sharedBytesPerBlock == 65536);
  CHECK_FALSE(turing.hasCpAsync);
  CHECK_FALSE(turing.hasBF16Mma);
  TargetInfo ampere = llvm::cantFail(lookupTarget("sm_80"));
  CHECK(ampere.sharedBytesPerBlock == 166912);
  CHECK(ampere.hasMmaK16);
  CHECK(llvm::cantFail(lookupTarget("sm_86")).sharedBytesPerBlock == 101376);
  CHECK(llvm::cantFail(lookupTarget("sm_90")).sharedBytesPerBlock == 232448);
}

TEST_CASE("targets: an sram override replaces the block's bytes") {
  CHECK(llvm::cantFail(lookupTarget("sm_80", 49152)).sharedBytesPerBlock ==
        49152);
  CHECK(llvm::cantFail(lookupTarget("cpu", 4 << 20)).sharedBytesPerBlock ==
        4 << 20);
}

TEST_CASE("targets: errors name both values and what to do") {
  CHECK(errorOf("sm_99", 0) == "target arch 'sm_99' is not known; use one of "
                               "cpu, sm_75, sm_80, sm_86, sm_89, sm_90, "
                               "sm_90a");
  CHECK(errorOf("sm_86", 166912) ==
        "sram size 166912 is more than the 101376 bytes that a block of sm_86 "
        "can have; give at most that");
  CHECK(errorOf("cpu", -1) ==
        "sram size -1 of target cpu is negative; give a number of bytes, or 0 "
        "for all 1048576 that it has");
}

TEST_CASE("target: the newest that a GPU runs") {
  auto newest = [](int sm) { return llvm::cantFail(newestArchFor(sm)); };
  CHECK(newest(75) == "sm_75");
  CHECK(newest(87) == "sm_86");
  CHECK(newest(90) == "sm_90a");
  CHECK(newest(100) == "sm_90");
  CHECK(llvm::toString(newestArchFor(70).takeError()) ==
        "the GPU is sm_70, but the oldest known target is sm_75; run on the "
        "CPU");
}
