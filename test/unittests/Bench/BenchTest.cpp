// Cells on a GPU that is made up: arrays, launches, the check and the output.
#include "FakeGpu.h"

#include "flashc-bench/Bench.h"

#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"

#include "unittests/Catch.h"

#include <iostream>
#include <sstream>

using namespace flashc;
using namespace flashc::test;

namespace {
/// What is printed while it lives.
class Captured {
public:
  Captured() : old(std::cout.rdbuf(text.rdbuf())) {}
  ~Captured() { std::cout.rdbuf(old); }
  std::string str() const { return text.str(); }

private:
  std::ostringstream text;
  std::streambuf *old;
};

const std::vector<Tiles> kAuto{{"auto", "auto", 0, 0, true}};

Cell small(const char *words) {
  return llvm::cantFail(
      parseCell("fp16 16 64 0 heads=2 " + std::string(words)));
}

std::string run(Bench &bench, const Cell &cell,
                const std::vector<Tiles> &candidates = kAuto) {
  fakeGpu().cell = cell;
  Captured captured;
  if (llvm::Error error = bench.run(cell, candidates))
    return "error: " + llvm::toString(std::move(error));
  return captured.str();
}

bool has(const std::string &text, const std::string &part) {
  INFO(text);
  return text.find(part) != text.npos;
}
} // namespace

TEST_CASE("bench: a line a cell, with what was checked against the oracle") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/true);
  // 2 * 2 * 16 * 64^2 * 256 batches * 2 heads in 1.5 ms.
  CHECK(
      has(run(bench, small("")), "flashc,fp16,fwd,16,64,256,2,0,1.5000,0.1,"));
  CHECK(has(run(bench, small("mask=causal")),
            "flashc,fp16,fwd,16,64,256,2,1,1.5000,0.0,"));
  std::string line =
      run(bench, small("dv=8 kv-heads=1 mask=window(10,0) score=alibi"));
  CHECK(has(line, "flashc,fp16,fwd,16,64,256,2,0,1.5000,"));
  CHECK(has(line, ",8,1,\"window(10,0)\",alibi\n"));
  CHECK(has(run(bench, small("score=softcap(3)")), ",16,2,none,softcap(3)\n"));
  Cell bf16 = small("mask=causal");
  bf16.dtype = "bf16";
  CHECK(has(run(bench, bf16), "flashc,bf16,fwd,16,64,256,2,1,1.5000,"));
}

TEST_CASE("bench: a larger cell after a smaller one, and back") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/true);
  for (const char *words : {"heads=1", "heads=3", "heads=1 dv=32"})
    CHECK(has(run(bench, small(words)), ",1.5000,"));
}

TEST_CASE("bench: a wrong result is an error") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/true);
  fakeGpu().isWrong = true;
  CHECK(has(run(bench, small("")), "error: flashc fp16 d16 H2 B256 64 none: "
                                   "fp16 d16 H2 B256 64 none: wrong result"));
}

TEST_CASE("bench: what does not fit is nan, and the next cell runs") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/true);
  fakeGpu().mostBytes = 3 << 20;
  CHECK(has(run(bench, small("heads=8")), ",8,0,nan,nan,nan,16,8,none,none\n"));
  CHECK(has(run(bench, small("")), ",1.5000,"));
  CHECK(has(run(bench, small(""), {{"1024x64", "1024x64", 0, 0, false}}),
            "flashc:1024x64,fp16,fwd,16,64,256,2,0,nan,nan,nan,"));
}

TEST_CASE("bench: kernels are compiled once, equal ones loaded once") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/false);
  run(bench, small(""));
  run(bench, small(""));
  CHECK(fakeGpu().loads == 1);
  run(bench, small("heads=4")); // heads are known at run time
  CHECK(fakeGpu().loads == 1);
  run(bench, small("mask=causal"));
  CHECK(fakeGpu().loads == 2);
  // Two runs of a cell are 2 * (1 + 3 + 3 * 12) launches.
  CHECK(fakeGpu().launches == 4 * 40);
}

TEST_CASE("bench: tuning a cell, and timing with what it found") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/true);
  Cell cell = small("mask=causal");
  fakeGpu().cell = cell;
  TunedSchedules schedules;
  tools::ProgressBar bar(8, "steps");
  {
    Captured captured;
    CHECK(llvm::cantFail(bench.tuneCell(cell, 4, schedules, bar)));
    CHECK(has(captured.str(), "fp16 d16 H2 B256 64 causal on Fake 1, sm_80"));
    CHECK(has(captured.str(), "| 1 | 1.000 | 1.5000 | "));
  }
  REQUIRE(schedules.entries().size() == 1);
  const TunedEntry &entry = schedules.entries()[0];
  CHECK(entry.key.gpu == "Fake 1");
  CHECK(entry.key.lengthClass == 128);
  CHECK(entry.problem == "fp16 d16 H2 B256 64 causal");
  CHECK(entry.milliseconds == 1.5);
  // Equal times: the model's own stays.
  CHECK(entry.schedule == [&] {
    CompileOptions options;
    options.length = 64;
    auto list = llvm::cantFail(listCandidates(cell, options, 1));
    return printSchedule(list[0].schedule);
  }());

  Bench tuned(*device, "sm_80", /*check=*/false, &schedules);
  CHECK(has(run(tuned, cell), "flashc,fp16,"));
  CHECK(has(run(tuned, small("")), "flashc,fp16,")); // by a remark
}

TEST_CASE("bench: no tuned schedule comes of wrong results") {
  auto device = openFakeDevice();
  Bench bench(*device, "sm_80", /*check=*/true);
  Cell cell = small("mask=causal");
  fakeGpu().cell = cell;
  fakeGpu().isWrong = true;
  TunedSchedules schedules;
  tools::ProgressBar bar(4, "steps");
  Captured captured;
  CHECK_FALSE(llvm::cantFail(bench.tuneCell(cell, 2, schedules, bar)));
  CHECK(schedules.entries().empty());
  CHECK(has(captured.str(), "| - | wrong | "));
}
