// The file of measured schedules, and what is taken from it.
#include "flashc/Compiler/Tuned.h"

#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include "unittests/Catch.h"

using namespace flashc;

namespace {
bool has(const std::string &text, const std::string &part) {
  INFO(text);
  return text.find(part) != text.npos;
}

/// A module and the options of one problem.
struct Problem {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CompileOptions options;

  explicit Problem(const std::string &mask = "causal", int64_t length = 8192,
                   const std::string &arch = "sm_90a") {
    AttentionSpec spec;
    spec.headDim = 128;
    spec.mask = mask;
    module = llvm::cantFail(buildAttnModule(spec, *context));
    options.arch = arch;
    options.length = length;
  }
  TuneKey key(const std::string &gpu = "NVIDIA H200") {
    return llvm::cantFail(getTuneKey(*module, options, gpu));
  }
};

std::string scheduleText(int64_t kv) {
  ScheduleRequest request;
  request.headDim = request.valueHeadDim = 128;
  request.tiles = fmt::format("128x{}", kv);
  return printSchedule(llvm::cantFail(
      chooseSchedule(request, llvm::cantFail(lookupTarget("sm_90a")))));
}

TunedEntry entry(const TuneKey &key, int64_t kv = 96) {
  return {key, scheduleText(kv), "fp16 d128", 1.5, 1.75};
}

std::string textOf(const TunedSchedules &schedules) {
  return llvm::formatv("{0:2}", schedules.toJSON()).str();
}

std::string parseError(const std::string &text) {
  auto parsed = TunedSchedules::parse(text, "x.json");
  REQUIRE_FALSE(bool(parsed));
  return llvm::toString(parsed.takeError());
}

std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t at = text.find(from);
  REQUIRE(at != text.npos);
  return text.replace(at, from.size(), to);
}
} // namespace

TEST_CASE("tuned: lengths share a schedule up to the next power of two") {
  CHECK(getLengthClass(0) == 4096);
  CHECK(getLengthClass(1) == 128);
  CHECK(getLengthClass(4096) == 4096);
  CHECK(getLengthClass(4097) == 8192);
  CHECK(getLengthClass(1 << 30) == 65536);
}

TEST_CASE("tuned: the key has all that decides") {
  TuneKey key = Problem().key();
  CHECK(key.describe() ==
        "sm_90a (NVIDIA H200) f16 d128/128 causal, lengths to 8192");
  CHECK(key.sram == 232448);
  CHECK(key.score == "none");
  CHECK(has(key.compiler, "flashc "));
  CHECK(has(key.compiler, ", LLVM 22"));
  CHECK(Problem("causal", 5000).key() == key);
  // One mask, written in two ways.
  CHECK(Problem("causal & causal").key() == key);
  CHECK_FALSE(Problem("window(1024,0)").key() == key);
  CHECK_FALSE(Problem("causal", 4096).key() == key);
  CHECK_FALSE(Problem("causal", 8192, "sm_90").key() == key);
  CHECK_FALSE(Problem().key("NVIDIA H100") == key);
  Problem other;
  other.options.alignment = 8;
  CHECK_FALSE(other.key() == key);
  other.options.alignment = 16;
  CHECK(other.key() == key);
  other.options.sram = 100000;
  CHECK_FALSE(other.key() == key);
}

TEST_CASE("tuned: a score function is in the key as text") {
  auto keyOf = [](const char *op) {
    Problem problem;
    std::string types = "tensor<?x?x?x64xf16>";
    problem.module = llvm::cantFail(parseModule(
        "func.func @f(%q: tensor<?x?x?x64xf16>) -> tensor<?x?x?x64xf16> {\n"
        "%o, %l = attn.forward %q, %q, %q : tensor<?x?x?x64xf16>, "
        "tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> (tensor<?x?x?x64xf16>, "
        "tensor<?x?x?xf32>) {\n^bb0(%score: f32, %b: index, %h: index, %i: "
        "index, %j: index):\n%c = arith.constant 2.0 : f32\n%r = " +
            std::string(op) +
            " %score, %c : f32\nattn.yield %r : f32\n}\n"
            "return %o : tensor<?x?x?x64xf16>\n}",
        "test.mlir", *problem.context));
    return problem.key();
  };
  TuneKey key = keyOf("arith.mulf");
  CHECK(has(key.score, "arith.mulf"));
  CHECK(has(key.score, "^bb0("));
  CHECK(keyOf("arith.mulf") == key);
  CHECK_FALSE(keyOf("arith.addf") == key);
}

TEST_CASE("tuned: what is written is read again") {
  TunedSchedules schedules;
  schedules.put(entry(Problem().key()));
  schedules.put(entry(Problem("none").key(), 80));
  auto read = TunedSchedules::parse(textOf(schedules), "x.json");
  if (!read)
    FAIL(llvm::toString(read.takeError()));
  CHECK(textOf(*read) == textOf(schedules));
  CHECK(read->entries().size() == 2);
  CHECK(read->entries()[0].milliseconds == 1.5);

  llvm::SmallString<64> path;
  REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("tuned", "json", path));
  REQUIRE_FALSE(bool(schedules.write(path)));
  CHECK(textOf(llvm::cantFail(TunedSchedules::read(path))) ==
        textOf(schedules));
  llvm::sys::fs::remove(path);
  auto gone = TunedSchedules::read(path);
  CHECK(has(llvm::toString(gone.takeError()), "cannot read"));
}

TEST_CASE("tuned: one entry a key, the last one put") {
  TunedSchedules schedules;
  schedules.put(entry(Problem().key(), 96));
  schedules.put(entry(Problem().key(), 80));
  REQUIRE(schedules.entries().size() == 1);
  const TunedEntry *found = llvm::cantFail(schedules.find(Problem().key()));
  REQUIRE(found);
  CHECK(found->schedule == scheduleText(80));
  CHECK(llvm::cantFail(schedules.find(Problem("none").key())) == nullptr);
}

TEST_CASE("tuned: without a GPU, that of any, if there is one") {
  TunedSchedules schedules;
  schedules.put(entry(Problem().key("NVIDIA H200")));
  CHECK(llvm::cantFail(schedules.find(Problem().key(""))));
  CHECK_FALSE(llvm::cantFail(schedules.find(Problem().key("NVIDIA H100"))));
  schedules.put(entry(Problem().key("NVIDIA H100"), 80));
  auto found = schedules.find(Problem().key(""));
  REQUIRE_FALSE(bool(found));
  CHECK(has(llvm::toString(found.takeError()),
            "schedules of 'NVIDIA H200' and of 'NVIDIA H100'"));
}

TEST_CASE("tuned: what is no such file is refused, with the place") {
  TunedSchedules schedules;
  schedules.put(entry(Problem().key()));
  std::string good = textOf(schedules);
  CHECK(has(parseError("{"), "'x.json' is no file of tuned schedules: [1:"));
  CHECK(has(parseError("[]"), "expected object"));
  CHECK(has(parseError("{}"), "missing value at the file.format"));
  CHECK(has(parseError(replaced(good, "tuned-1", "tuned-9")),
            "expected flashc-tuned-1 at the file.format"));
  CHECK(has(parseError(R"({"format": "flashc-tuned-1"})"),
            "expected array at the file.entries"));
  CHECK(has(
      parseError(replaced(good, "\"head_dim\": 128", "\"head_dim\": \"a\"")),
      "expected integer at the file.entries[0].head_dim"));
  CHECK(has(parseError(replaced(good, "\"arch\"", "\"march\"")),
            "missing value at the file.entries[0].arch"));
  CHECK(has(parseError(replaced(good, "q = 128", "q = 100")),
            "entry 0: '#tile.schedule<q = 100"));
  schedules.put(entry(Problem("none").key()));
  CHECK(has(parseError(replaced(textOf(schedules), "\"none\",\n      \"milli",
                                "\"causal\",\n      \"milli")),
            "entries 0 and 1 are both for sm_90a (NVIDIA H200) f16"));
}

TEST_CASE("tuned: the choice goes into the IR, or a remark says why not") {
  TunedSchedules schedules;
  schedules.put(entry(Problem().key(), 96));
  Problem problem;
  auto choice = llvm::cantFail(
      chooseTuned(*problem.module, problem.options, schedules, "NVIDIA H200"));
  CHECK(choice.remark.empty());
  CHECK(choice.options.schedule == scheduleText(96));
  std::string tile =
      llvm::cantFail(emitStage(*problem.module, choice.options, Stage::Tile));
  CHECK(has(tile, scheduleText(96)));

  Problem none("none");
  choice = llvm::cantFail(
      chooseTuned(*none.module, none.options, schedules, "NVIDIA H200"));
  CHECK(choice.options.schedule.empty());
  CHECK(has(choice.remark, "no tuned schedule for sm_90a (NVIDIA H200) f16 "
                           "d128/128 none, lengths to 8192 by flashc"));
  CHECK(has(choice.remark, "the model chooses"));

  problem.options.tiles = "128x64";
  auto both =
      chooseTuned(*problem.module, problem.options, schedules, "NVIDIA H200");
  REQUIRE_FALSE(bool(both));
  CHECK(has(llvm::toString(both.takeError()), "but so are tiles"));
}
