// The random sweep of the backward on the CPU path: every draw against the fp64
// oracle.
#include "unittests/Catch.h"
#include "unittests/Numerics/GradientHarness.h"

#include <chrono>
#include <iostream>
#include <thread>

using namespace flashc::test;
using namespace flashc::reference;

namespace {
constexpr uint64_t kDraws = 320, kKernels = 80;

/// What one worker found. It has the programs whose number is its own modulo
/// the number of workers, so that none is compiled twice.
struct GradientWorker {
  std::vector<std::string> wrong, refused;
  size_t draws = 0;
  double worst = 0;
  std::string worstCase;

  void run(uint64_t mine, uint64_t workers) {
    GradientHarness harness;
    for (uint64_t seed = 0; seed < kDraws; ++seed) {
      if (seed % kKernels % workers != mine)
        continue;
      GradientCase test =
          drawGradient(seed, {.kernels = kKernels, .maxWork = 16'000'000});
      ++draws;
      std::string verdict = harness.runAndJudge(test, /*threads=*/1);
      if (!verdict.empty())
        wrong.push_back(verdict);
      const std::string &refusal = harness.program(test).refusedTiles;
      if (!refusal.empty())
        refused.push_back(test.name + ": " + refusal);
    }
    worst = harness.worstRatio();
    worstCase = harness.worstCase();
  }
};
} // namespace

TEST_CASE("cpu backward sweep: 320 draws agree with the oracle") {
  auto start = std::chrono::steady_clock::now();
  std::vector<GradientWorker> workers(
      std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (size_t n = 0; n < workers.size(); ++n)
    threads.emplace_back([&workers, n] { workers[n].run(n, workers.size()); });
  for (std::thread &thread : threads)
    thread.join();

  size_t draws = 0, refused = 0;
  double worst = 0;
  std::string worstCase;
  for (const GradientWorker &worker : workers) {
    draws += worker.draws;
    if (worker.worst > worst) {
      worst = worker.worst;
      worstCase = worker.worstCase;
    }
    refused += worker.refused.size();
    for (const std::string &line : worker.wrong)
      FAIL_CHECK(line);
    for (const std::string &line : worker.refused)
      if (line.find("over") == std::string::npos &&
          line.find("more than") == std::string::npos &&
          line.find("fit") == std::string::npos)
        FAIL_CHECK("tiles refused for no budget: " << line);
  }
  CHECK(draws == kDraws);
  CHECK(refused <= draws / 3);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::cout << "cpu backward sweep: " << draws << " draws, " << refused
            << " with tiles over the budget (run with auto), "
            << seconds.count() << " s, largest rms error " << worst
            << " of the unfused (" << worstCase << ")" << std::endl;
}
