//===- Tune.cpp - The fastest of some schedules ---------------------------===//
//
// In: candidates, and how to compile, check and time them. Out: what came of
// each, and the fastest. Knows nothing of GPUs.
//
//===----------------------------------------------------------------------===//
#include "Tune.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <algorithm>
#include <map>

using namespace flashc;

static constexpr size_t kFinalists = 3;
static constexpr int kFinalRounds = 2;

namespace {
class Tuner {
public:
  Tuner(const std::vector<Candidate> &candidates, const TuneSteps &steps)
      : steps(steps), images(candidates.size()), trials(candidates.size()) {
    for (const Candidate &candidate : candidates)
      result.outcomes.emplace_back().candidate = candidate;
  }

  TuneResult run() {
    compileAll();
    for (size_t n = 0; n < images.size(); ++n) {
      attempt(n);
      steps.progress();
    }
    runFinals();
    return std::move(result);
  }

private:
  void compileAll();
  void attempt(size_t n);
  void time(size_t n);
  void runFinals();
  /// Those that have a time, the fastest first.
  std::vector<size_t> ranking() const;
  void refuse(size_t n, llvm::Error error) {
    result.outcomes[n].milliseconds = NAN;
    result.outcomes[n].why = llvm::toString(std::move(error));
  }

  const TuneSteps &steps;
  TuneResult result;
  std::vector<std::unique_ptr<KernelImage>> images;
  std::vector<std::unique_ptr<Trial>> trials;
  std::map<std::string, size_t> byPtx;
};

void Tuner::compileAll() {
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency());
  for (size_t n = 0; n < images.size(); ++n)
    pool.async([this, n] {
      llvm::Expected<KernelImage> image =
          steps.compile(result.outcomes[n].candidate.schedule);
      if (image)
        images[n] = std::make_unique<KernelImage>(std::move(*image));
      else
        refuse(n, image.takeError());
      steps.progress();
    });
  pool.wait();
}

void Tuner::attempt(size_t n) {
  if (!images[n])
    return;
  auto [same, isNew] = byPtx.try_emplace(images[n]->ptx, n);
  if (!isNew)
    return refuse(n, makeError("the kernel of candidate {}", same->second + 1));
  llvm::Expected<std::unique_ptr<Trial>> trial = steps.load(*images[n]);
  if (!trial)
    return refuse(n, trial.takeError());
  if (llvm::Error error = (*trial)->check()) {
    result.outcomes[n].isWrong = true;
    return refuse(n, std::move(error));
  }
  trials[n] = std::move(*trial);
  time(n);
}

void Tuner::time(size_t n) {
  llvm::Expected<double> ms = trials[n]->time();
  if (!ms)
    return refuse(n, ms.takeError());
  double &best = result.outcomes[n].milliseconds;
  best = std::fmin(best, *ms); // the number, where one is NaN
}

std::vector<size_t> Tuner::ranking() const {
  std::vector<size_t> order;
  for (size_t n = 0; n < result.outcomes.size(); ++n)
    if (!std::isnan(result.outcomes[n].milliseconds))
      order.push_back(n);
  // Of equal times, the one that the model likes better.
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::make_pair(result.outcomes[a].milliseconds, a) <
           std::make_pair(result.outcomes[b].milliseconds, b);
  });
  return order;
}

void Tuner::runFinals() {
  std::vector<size_t> finalists = ranking();
  finalists.resize(std::min(finalists.size(), kFinalists));
  for (int round = 0; round < kFinalRounds && finalists.size() > 1; ++round)
    for (size_t n : finalists)
      if (!std::isnan(result.outcomes[n].milliseconds))
        time(n);
  std::vector<size_t> order = ranking();
  if (!order.empty())
    result.best = int(order.front());
}
} // namespace

TuneResult flashc::tune(const std::vector<Candidate> &candidates,
                        const TuneSteps &steps) {
  return Tuner(candidates, steps).run();
}

std::string
flashc::tuneTable(const TuneResult &result, double flops,
                  llvm::function_ref<std::string(const Schedule &)> print) {
  std::vector<size_t> order;
  for (size_t n = 0; n < result.outcomes.size(); ++n)
    order.push_back(n);
  llvm::sort(order, [&](size_t a, size_t b) {
    auto rank = [&](size_t n) {
      double ms = result.outcomes[n].milliseconds;
      return std::make_tuple(std::isnan(ms), std::isnan(ms) ? 0 : ms, n);
    };
    return rank(a) < rank(b);
  });
  std::string text = "| candidate | cost | ms | TFLOP/s | schedule |\n"
                     "| --- | --- | --- | --- | --- |\n";
  for (size_t n : order) {
    const TuneOutcome &outcome = result.outcomes[n];
    double ms = outcome.milliseconds;
    std::string times =
        std::isnan(ms) ? fmt::format("- | {}", outcome.isWrong ? "wrong" : "-")
                       : fmt::format("{:.4f} | {:.1f}", ms, flops / ms / 1e9);
    text += fmt::format("| {} | {:.3f} | {} | `{}`{} |\n", n + 1,
                        outcome.candidate.cost, times,
                        print(outcome.candidate.schedule),
                        outcome.why.empty() ? "" : ": " + outcome.why);
  }
  return text;
}
