//===- GradientCheck.cpp - Compare gradients with the oracle --------------===//
//
// In: a backward and what a kernel made of it. Out: a report that says whether
// the rule of GradientCheck.h holds, and where it is broken if it is.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/GradientCheck.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace flashc;
using namespace flashc::reference;

namespace {
class GradientChecker {
public:
  GradientChecker(const GradientProblem &problem, GradientReport &report)
      : problem(problem), report(report) {}

  /// Gradient number `which` of dq, dk, dv.
  void tensor(int which, const HostTensor &result,
              const GradientArray &reference, const GradientArray &unfused);
  void capture(size_t which, const std::vector<float> &result,
               const GradientArray &reference, const GradientArray &unfused,
               double roundoff, size_t columns);

private:
  template <typename... Args>
  void fail(fmt::format_string<Args...> text, Args &&...args) {
    if (!report.ok)
      return;
    report.ok = false;
    report.why = problem.describe() + ": " +
                 fmt::format(text, std::forward<Args>(args)...);
  }
  const GradientProblem &problem;
  GradientReport &report;
};
} // namespace

void GradientChecker::tensor(int which, const HostTensor &result,
                             const GradientArray &reference,
                             const GradientArray &unfused) {
  static constexpr const char *names[] = {"dq", "dk", "dv"};
  auto [batches, heads, length, dims] = result.shape;
  double errors = 0, unfusedErrors = 0, sizes = 0, roundings = 0;
  for (int64_t row = 0; row < batches * heads * length && report.ok; ++row) {
    int64_t b = row / length / heads, h = row / length % heads,
            s = row % length;
    double error = 0, unfusedError = 0, rounding = reference.rounding[row];
    for (int64_t c = 0; c < dims; ++c) {
      double want = reference.values[row * dims + c];
      double got = result.get(b, h, s, c);
      if (std::isnan(want))
        continue;
      bool wrongZero = want == 0 && rounding == 0 && got != 0;
      if (std::isnan(got) || wrongZero)
        fail("{}[{},{},{},{}] is {}, but should be {}", names[which], b, h, s,
             c, got, want);
      double mine = std::fabs(got - want);
      double theirs = std::fabs(unfused.values[row * dims + c] - want);
      error = std::max(error, mine);
      unfusedError = std::max(unfusedError, theirs);
      errors += mine * mine;
      unfusedErrors += theirs * theirs;
      sizes += want * want;
    }
    roundings += double(dims) * rounding * rounding;
    if (!(error <= 2 * unfusedError + rounding))
      fail("{} of batch {} head {} row {} is off by {:.3e}, but twice the "
           "unfused {:.3e} plus rounding {:.3e} is allowed",
           names[which], b, h, s, error, unfusedError, rounding);
  }
  double size = std::sqrt(sizes);
  if (size == 0 || !report.ok)
    return;
  report.rmsError[which] = std::sqrt(errors) / size;
  report.rmsUnfused[which] = std::sqrt(unfusedErrors) / size;
  double bound = 2 * report.rmsUnfused[which] + std::sqrt(roundings) / size;
  if (!(report.rmsError[which] <= bound))
    fail(
        "relative rms error of {} is {:.3e}, but twice the unfused {:.3e} plus "
        "rounding is {:.3e}",
        names[which], report.rmsError[which], report.rmsUnfused[which], bound);
}

void GradientChecker::capture(size_t which, const std::vector<float> &result,
                              const GradientArray &reference,
                              const GradientArray &unfused, double roundoff,
                              size_t columns) {
  double unfusedError = 0;
  for (size_t e = 0; e < reference.values.size() && report.ok; ++e) {
    if (e % columns == 0) {
      unfusedError = 0;
      for (size_t other = e; other < e + columns; ++other)
        if (double error =
                std::fabs(unfused.values[other] - reference.values[other]);
            error > unfusedError) // not where one is NaN
          unfusedError = error;
    }
    double want = reference.values[e], got = result[e];
    if (std::isnan(want))
      continue;
    double rounding = reference.rounding[e] + 2 * roundoff * std::fabs(want);
    if (!(std::fabs(got - want) <= 2 * unfusedError + rounding))
      fail("gradient {} of captures is {} at {}, but should be {}; twice the "
           "unfused error {:.3e} plus rounding {:.3e} is allowed",
           which, got, e, want, unfusedError, rounding);
  }
}

std::string GradientReport::summary() const {
  return fmt::format("rms dq {:.2e} (unfused {:.2e}), dk {:.2e} ({:.2e}), dv "
                     "{:.2e} ({:.2e})",
                     rmsError[0], rmsUnfused[0], rmsError[1], rmsUnfused[1],
                     rmsError[2], rmsUnfused[2]);
}

GradientReport
reference::checkGradients(const GradientProblem &problem,
                          const Gradients &result,
                          llvm::ArrayRef<double> captureRoundoff) {
  GradientReport report;
  GradientChecker checker(problem, report);
  GradientValues want = referenceGradients(problem);
  GradientValues unfused = unfusedGradients(problem);
  checker.tensor(0, result.dq, want.dq, unfused.dq);
  checker.tensor(1, result.dk, want.dk, unfused.dk);
  checker.tensor(2, result.dv, want.dv, unfused.dv);
  for (size_t g = 0; g < want.captures.size(); ++g) {
    const Capture &capture = problem.forward.captures[problem.gradients[g]];
    bool isWide = capture.element == Element::F32;
    double roundoff = isWide ? 0 : unitRoundoff(capture.element);
    // What is rounded to 16 bits is so by chance, and the more by the largest
    // error of a row.
    size_t columns =
        isWide ? 1 : size_t(std::max<int64_t>(1, capture.shape.back()));
    checker.capture(
        g, result.captures[g], want.captures[g], unfused.captures[g],
        captureRoundoff.empty() ? roundoff : captureRoundoff[g], columns);
  }
  return report;
}
