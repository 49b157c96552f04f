// The error rule: what passes, and that small mistakes do not.
#include "unittests/Catch.h"

#include "flashc/Reference/Cases.h"
#include "flashc/Reference/Check.h"

#include <cmath>
#include <limits>

using namespace flashc::reference;

namespace {
struct Result {
  HostTensor o;
  std::vector<float> lse;
};

/// The unfused computation as if a kernel had made it.
Result unfused(const AttentionProblem &p) {
  RowValues values = unfusedAttention(p, sampleRows(p, int64_t(1) << 40));
  Result r{HostTensor::dense(p.dtype(),
                             {p.batch(), p.heads(), p.sq(), p.valueHeadDim()},
                             p.layout),
           std::vector<float>(p.batch() * p.heads() * p.sq())};
  for (size_t at = 0; at < values.rows.size(); ++at) {
    Row row = values.rows[at];
    for (int64_t d = 0; d < p.valueHeadDim(); ++d)
      r.o.set(row.b, row.h, row.i, d, values.o[at * p.valueHeadDim() + d]);
    r.lse[(row.b * p.heads() + row.h) * p.sq() + row.i] = values.lse[at];
  }
  return r;
}

AttentionProblem example(Element element, MaskExpr mask = MaskExpr::causal()) {
  AttentionProblem p;
  p.q = HostTensor::dense(element, {1, 2, 200, 64}, Layout::BSHD);
  p.k = HostTensor::dense(element, {1, 2, 300, 64}, Layout::BSHD);
  p.v = HostTensor::dense(element, {1, 2, 300, 64}, Layout::BSHD);
  p.scale = 0.125;
  p.mask = mask;
  Random random(3);
  for (HostTensor *t : {&p.q, &p.k, &p.v})
    fillNormal(*t, random);
  return p;
}
} // namespace

TEST_CASE("rule: the unfused result passes in every type") {
  for (Element element : {Element::F16, Element::BF16, Element::F32}) {
    AttentionProblem p = example(element);
    Result r = unfused(p);
    ErrorReport report = checkError(p, r.o, r.lse.data());
    INFO(report.why);
    CHECK(report.ok);
    CHECK(report.maxError == report.maxUnfused);
  }
}

TEST_CASE("rule: one key too few or too many among 100 to 300 is an error") {
  for (Element element : {Element::F16, Element::F32})
    for (int64_t off : {-1, 1}) {
      AttentionProblem right = example(element, MaskExpr::prefix(299));
      AttentionProblem wrong = example(element, MaskExpr::prefix(299 + off));
      Result r = unfused(wrong);
      CHECK_FALSE(checkError(right, r.o, r.lse.data()).ok);
      CHECK_FALSE(checkError(right, r.o, nullptr).ok);
    }
}

TEST_CASE("rule: a wrong scale, a wrong element, a wrong lse") {
  AttentionProblem p = example(Element::BF16);
  AttentionProblem other = p;
  other.scale *= 1.02;
  Result scaled = unfused(other);
  CHECK_FALSE(checkError(p, scaled.o, scaled.lse.data()).ok);
  Result r = unfused(p);
  r.o.set(0, 1, 150, 3, r.o.get(0, 1, 150, 3) + 0.05f);
  ErrorReport report = checkError(p, r.o, r.lse.data());
  CHECK_THAT(report.why,
             Catch::Contains("batch 0 head 1 row 150: o is off by"));
  r = unfused(p);
  r.lse[7] += 1e-4f;
  CHECK_THAT(checkError(p, r.o, r.lse.data()).why,
             Catch::Contains("row 7: lse"));
}

TEST_CASE(
    "rule: NaN anywhere and rows without keys are looked at in every row") {
  AttentionProblem p = example(
      Element::F16, MaskExpr::both(MaskExpr::causal(), MaskExpr::prefix(300)));
  p.kvLengths = {150}; // the first 50 rows see nothing
  Result good = unfused(p);
  CHECK(checkError(p, good.o, good.lse.data(), 1).ok);
  Result r = good;
  r.o.set(0, 0, 111, 63, std::nanf(""));
  CHECK_THAT(checkError(p, r.o, r.lse.data(), 1).why,
             Catch::Contains("row 111: o[63] is nan"));
  r = good;
  r.o.set(0, 1, 49, 0, 1e-7f);
  CHECK_THAT(checkError(p, r.o, r.lse.data(), 1).why,
             Catch::Contains("sees no key, so it is 0"));
  r = good;
  r.lse[49] = -1e30f;
  CHECK_THAT(checkError(p, r.o, r.lse.data(), 1).why,
             Catch::Contains("sees no key, so it is -inf"));
}
