//===- Check.cpp - Compare a result with the oracle -----------------------===//
//
// In: a problem and what a kernel made of it. Out: a report that says whether
// the rule of Check.h holds, and where it is broken if it is.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Check.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace flashc;
using namespace flashc::reference;

namespace {
/// Collects the first failure.
class Checker {
public:
  Checker(const AttentionProblem &problem, const HostTensor &o,
          const float *lse, ErrorReport &report)
      : p(problem), o(o), lse(lse), report(report) {}

  template <typename... Args>
  void fail(Row row, fmt::format_string<Args...> text, Args &&...args) {
    if (!report.ok)
      return;
    report.ok = false;
    report.why = fmt::format("{}: batch {} head {} row {}: {}", p.describe(),
                             row.b, row.h, row.i,
                             fmt::format(text, std::forward<Args>(args)...));
  }

  float lseAt(Row row) const {
    return lse[(row.b * p.heads() + row.h) * p.sq() + row.i];
  }

  /// Holds for every row: no NaN but where the formula has one, and nothing
  /// where no key is visible.
  void everyRow() {
    for (int64_t b = 0; b < p.batch(); ++b)
      for (int64_t i = 0; i < p.sq(); ++i) {
        bool empty = isEmpty(b, i);
        for (int64_t h = 0; h < p.heads(); ++h)
          plausible({b, h, i}, empty);
      }
  }

  void numbers(const RowValues &reference, const RowValues &unfused) {
    double u = unitRoundoff(p.dtype());
    Sums sums;
    for (size_t at = 0; at < reference.rows.size() && report.ok; ++at) {
      Row row = reference.rows[at];
      if (std::isnan(reference.lse[at])) {
        if (!std::isnan(o.get(row.b, row.h, row.i, 0)))
          fail(row, "o[0] is {}, but the formula gives NaN",
               o.get(row.b, row.h, row.i, 0));
        continue;
      }
      double r = 0x1p-22 * (1 + reference.scoreSize[at]);
      checkO(row, reference, unfused, at, u, r, sums);
      if (lse)
        checkLse(row, reference.lse[at], unfused.lse[at], r);
    }
    sums.finish(report, p);
  }

private:
  struct Sums {
    double count = 0, error = 0, unfused = 0, reference = 0, rounding = 0;
    void finish(ErrorReport &report, const AttentionProblem &p) const {
      double size = std::sqrt(reference);
      if (count == 0 || size == 0 || !report.ok)
        return;
      report.rmsError = std::sqrt(error) / size;
      report.rmsUnfused = std::sqrt(unfused) / size;
      double bound = 2 * report.rmsUnfused + std::sqrt(rounding) / size;
      if (report.rmsError <= bound)
        return;
      report.ok = false;
      report.why =
          fmt::format("{}: relative rms error is {:.3e}, but twice "
                      "the unfused {:.3e} plus rounding is {:.3e}",
                      p.describe(), report.rmsError, report.rmsUnfused, bound);
    }
  };

  bool isEmpty(int64_t b, int64_t i) const {
    if (p.score) // a score may hide a key; the sampled rows check that
      return false;
    for (int64_t j = 0; j < p.keys(b); ++j)
      if (p.visible(b, i, j))
        return false;
    return true;
  }

  /// Whether the formula itself gives NaN: visible NaN in the inputs, or a
  /// score function outside its domain.
  bool isUndefined(Row row) const {
    RowValues reference = referenceAttention(p, {row});
    return std::isnan(reference.lse[0]) ||
           llvm::any_of(reference.o, [](double x) { return std::isnan(x); });
  }

  void plausible(Row row, bool empty) {
    for (int64_t d = 0; d < p.valueHeadDim(); ++d) {
      float value = o.get(row.b, row.h, row.i, d);
      if (std::isnan(value) && !empty && isUndefined(row))
        return;
      if (std::isnan(value) || (empty && value != 0))
        return fail(row, "o[{}] is {}, but the row {}", d, value,
                    empty ? "sees no key, so it is 0" : "is a number");
    }
    if (!lse)
      return;
    float value = lseAt(row);
    if (std::isnan(value) ||
        (empty && value != -std::numeric_limits<float>::infinity()))
      fail(row, "lse is {}, but the row {}", value,
           empty ? "sees no key, so it is -inf" : "is a number");
  }

  void checkO(Row row, const RowValues &reference, const RowValues &unfused,
              size_t at, double u, double r, Sums &sums) {
    int64_t dv = p.valueHeadDim();
    double error = 0, unfusedError = 0, size = 0;
    for (int64_t d = 0; d < dv; ++d) {
      double want = reference.o[at * dv + d];
      double mine = std::fabs(o.get(row.b, row.h, row.i, d) - want);
      double theirs = std::fabs(unfused.o[at * dv + d] - want);
      error = std::max(error, mine);
      unfusedError = std::max(unfusedError, theirs);
      size = std::max(size, std::fabs(want));
      sums.error += mine * mine;
      sums.unfused += theirs * theirs;
      sums.reference += want * want;
    }
    double rounding =
        2 * u * (size + reference.norm2[at]) + r * reference.norm1[at];
    sums.count += dv;
    sums.rounding += dv * rounding * rounding;
    report.maxError = std::max(report.maxError, error);
    report.maxUnfused = std::max(report.maxUnfused, unfusedError);
    if (!(error <= 2 * unfusedError + rounding))
      fail(row,
           "o is off by {:.3e}, but twice the unfused {:.3e} plus "
           "rounding {:.3e} is allowed",
           error, unfusedError, rounding);
  }

  void checkLse(Row row, double want, double unfused, double r) {
    double got = lseAt(row);
    if (std::isinf(want) || std::isinf(got)) {
      if (got != want)
        fail(row, "lse is {}, but should be {}", got, want);
      return;
    }
    double error = std::fabs(got - want);
    double unfusedError = std::fabs(unfused - want);
    report.lseError = std::max(report.lseError, error);
    report.lseUnfused = std::max(report.lseUnfused, unfusedError);
    double rounding = 0x1p-23 * std::fabs(want) + r;
    if (!(error <= 2 * unfusedError + rounding))
      fail(row,
           "lse {} should be {}: off by {:.3e}, but twice the unfused "
           "{:.3e} plus rounding {:.3e} is allowed",
           got, want, error, unfusedError, rounding);
  }

  const AttentionProblem &p;
  const HostTensor &o;
  const float *lse;
  ErrorReport &report;
};
} // namespace

std::string ErrorReport::summary() const {
  return fmt::format("{} rows, o max {:.2e} (unfused {:.2e}), rms {:.2e} "
                     "({:.2e}), lse {:.2e} ({:.2e})",
                     rowsChecked, maxError, maxUnfused, rmsError, rmsUnfused,
                     lseError, lseUnfused);
}

ErrorReport reference::checkError(const AttentionProblem &problem,
                                  const HostTensor &o, const float *lse,
                                  int64_t maxWork) {
  ErrorReport report;
  Checker checker(problem, o, lse, report);
  checker.everyRow();
  if (!report.ok)
    return report;
  std::vector<Row> rows = sampleRows(problem, maxWork);
  report.rowsChecked = rows.size();
  checker.numbers(referenceAttention(problem, rows),
                  unfusedAttention(problem, rows));
  return report;
}
