// The choice of the fastest schedule, with compilation, check and timing made
// up.
#include "flashc-bench/Tune.h"

#include "unittests/Catch.h"

#include "flashc/Support/Error.h"

#include <atomic>
#include <map>

using namespace flashc;

namespace {
std::vector<Candidate> candidates(int64_t count) {
  std::vector<Candidate> list;
  for (int64_t n = 1; n <= count; ++n) {
    list.emplace_back().schedule.kv = 16 * n;
    list.back().cost = 1 + 0.01 * double(n - 1);
  }
  return list;
}

/// A GPU by table: kernel n (kv = 16 n) takes the times of its row in turn, and
/// the last one from then on.
struct FakeGpu {
  std::map<int64_t, std::vector<double>> times;
  std::map<int64_t, std::string> compileErrors, loadErrors, checkErrors;
  std::map<int64_t, std::string> ptx;
  std::vector<std::string> log;
  std::atomic<int> progress{0};

  struct FakeTrial : Trial {
    FakeTrial(FakeGpu &gpu, int64_t n) : gpu(gpu), n(n) {}
    llvm::Error check() override {
      gpu.log.push_back(fmt::format("check {}", n));
      auto error = gpu.checkErrors.find(n);
      return error == gpu.checkErrors.end() ? llvm::Error::success()
                                            : makeError("{}", error->second);
    }
    llvm::Expected<double> time() override {
      gpu.log.push_back(fmt::format("time {}", n));
      std::vector<double> &row = gpu.times[n];
      if (row.empty())
        return makeError("no time");
      double ms = row.front();
      if (row.size() > 1)
        row.erase(row.begin());
      return ms;
    }
    FakeGpu &gpu;
    int64_t n;
  };

  TuneResult run(int64_t count) {
    TuneSteps steps;
    steps.compile = [&](const Schedule &s) -> llvm::Expected<KernelImage> {
      int64_t n = s.kv / 16;
      if (auto error = compileErrors.find(n); error != compileErrors.end())
        return makeError("{}", error->second);
      KernelImage image;
      image.ptx = ptx.count(n) ? ptx[n] : std::to_string(n);
      image.manifest.kvBlock = s.kv;
      return image;
    };
    steps.load = [&](const KernelImage &image)
        -> llvm::Expected<std::unique_ptr<Trial>> {
      int64_t n = image.manifest.kvBlock / 16;
      if (auto error = loadErrors.find(n); error != loadErrors.end())
        return makeError("{}", error->second);
      return std::make_unique<FakeTrial>(*this, n);
    };
    steps.progress = [&] { ++progress; };
    return tune(candidates(count), steps);
  }
};
} // namespace

TEST_CASE("tune: the fastest is taken, and every candidate counts twice") {
  FakeGpu gpu;
  gpu.times = {{1, {3.0}}, {2, {1.0}}, {3, {2.0}}, {4, {4.0}}};
  TuneResult result = gpu.run(4);
  CHECK(result.best == 1);
  CHECK(result.outcomes[3].milliseconds == 4.0);
  CHECK(gpu.progress == 8);
  // Each is checked before it is timed; the slowest is not in the finals.
  CHECK(gpu.log[0] == "check 1");
  CHECK(gpu.log[1] == "time 1");
  CHECK(llvm::count(gpu.log, "time 2") == 3);
  CHECK(llvm::count(gpu.log, "time 4") == 1);
}

TEST_CASE("tune: finals are in turns, and the best time counts") {
  FakeGpu gpu; // the first was timed while the card was hot
  gpu.times = {{1, {2.0, 1.5, 1.4}}, {2, {1.6, 1.6, 1.6}}};
  TuneResult result = gpu.run(2);
  CHECK(result.best == 0);
  CHECK(result.outcomes[0].milliseconds == 1.4);
  std::vector<std::string> finals(gpu.log.end() - 4, gpu.log.end());
  CHECK(finals ==
        std::vector<std::string>{"time 2", "time 1", "time 2", "time 1"});
}

TEST_CASE("tune: of equal times, the one that the model likes better") {
  FakeGpu gpu;
  gpu.times = {{1, {2.0}}, {2, {1.0}}, {3, {1.0}}};
  CHECK(gpu.run(3).best == 1);
}

TEST_CASE("tune: what fails says why and is not taken") {
  FakeGpu gpu;
  for (int64_t n = 1; n <= 5; ++n)
    gpu.times[n] = {double(n)};
  gpu.times[4].clear();
  gpu.compileErrors[1] = "products are serialised";
  gpu.loadErrors[2] = "too much shared memory";
  gpu.checkErrors[3] = "row 7 is off";
  TuneResult result = gpu.run(5);
  CHECK(result.best == 4);
  CHECK(result.outcomes[0].why == "products are serialised");
  CHECK(result.outcomes[1].why == "too much shared memory");
  CHECK(result.outcomes[2].why == "row 7 is off");
  CHECK(result.outcomes[2].isWrong);
  CHECK_FALSE(result.outcomes[1].isWrong);
  CHECK(result.outcomes[3].why == "no time");
  // A wrong kernel is not timed, however fast it may be.
  CHECK(llvm::count(gpu.log, "time 3") == 0);
}

TEST_CASE("tune: nothing that runs, and nothing at all") {
  FakeGpu gpu;
  CHECK(gpu.run(3).best == -1);
  CHECK(gpu.run(0).best == -1);
}

TEST_CASE("tune: a kernel that was there before is not tried again") {
  FakeGpu gpu;
  gpu.times = {{1, {2.0}}, {2, {1.0}}};
  gpu.ptx[2] = "1";
  TuneResult result = gpu.run(2);
  CHECK(result.best == 0);
  CHECK(result.outcomes[1].why == "the kernel of candidate 1");
  CHECK(llvm::count(gpu.log, "check 2") == 0);
}

TEST_CASE("tune: the table is by time, what has none last") {
  FakeGpu gpu;
  gpu.times = {{1, {4.0}}, {2, {2.0}}, {3, {1.0}}};
  gpu.checkErrors[3] = "row 7 is off";
  gpu.compileErrors[4] = "no";
  std::string table = tuneTable(gpu.run(4), 8e12, [](const Schedule &s) {
    return fmt::format("kv {}", s.kv);
  });
  CHECK(table == "| candidate | cost | ms | TFLOP/s | schedule |\n"
                 "| --- | --- | --- | --- | --- |\n"
                 "| 2 | 1.010 | 2.0000 | 4000.0 | `kv 32` |\n"
                 "| 1 | 1.000 | 4.0000 | 2000.0 | `kv 16` |\n"
                 "| 3 | 1.020 | - | wrong | `kv 48`: row 7 is off |\n"
                 "| 4 | 1.030 | - | - | `kv 64`: no |\n");
}
