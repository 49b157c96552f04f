// The oracle against attention worked out by hand.
#include "unittests/Catch.h"

#include "flashc/Reference/Attention.h"

#include <cmath>
#include <limits>

using namespace flashc::reference;

namespace {
/// One head, D = Dv = 1: q_i, k_j and v_j as given.
AttentionProblem scalars(std::vector<float> q, std::vector<float> k,
                         std::vector<float> v) {
  AttentionProblem p;
  auto fill = [](HostTensor &t, const std::vector<float> &values) {
    t = HostTensor::dense(Element::F32, {1, 1, int64_t(values.size()), 1},
                          Layout::BSHD);
    for (size_t s = 0; s < values.size(); ++s)
      t.set(0, 0, s, 0, values[s]);
  };
  fill(p.q, q);
  fill(p.k, k);
  fill(p.v, v);
  return p;
}

RowValues reference(const AttentionProblem &p) {
  return referenceAttention(p, sampleRows(p, 1 << 20));
}
} // namespace

TEST_CASE("oracle: two keys by hand") {
  AttentionProblem p = scalars({2}, {1, 3}, {10, 20});
  p.scale = 0.5;
  RowValues out = reference(p);
  double w = 1 / (1 + std::exp(1.0 - 3.0)); // weight of the second key
  CHECK(out.o[0] == Approx(10 * (1 - w) + 20 * w));
  CHECK(out.lse[0] == Approx(std::log(std::exp(1.0) + std::exp(3.0))));
  p.score = [](double x, int64_t, int64_t, int64_t, int64_t j) {
    return x + (j ? -2 : 0);
  };
  CHECK(reference(p).o[0] == Approx(15));
}

TEST_CASE("oracle: rows without a key, and keys that are not read") {
  AttentionProblem p = scalars({1, 1, 1}, {0, 0, NAN}, {1, 2, INFINITY});
  p.kvLengths = {2};
  p.mask = MaskExpr::causal(); // bottom-right of three rows over two keys
  for (RowValues out :
       {reference(p), unfusedAttention(p, sampleRows(p, 1 << 20))}) {
    CHECK(out.o == std::vector<double>{0, 1, 1.5});
    CHECK(out.lse[0] == -std::numeric_limits<double>::infinity());
    CHECK(out.lse[1] == 0);
  }
}

TEST_CASE("oracle: query heads share key heads in order") {
  AttentionProblem p;
  p.q = HostTensor::dense(Element::F16, {1, 6, 1, 8}, Layout::BHSD);
  p.k = HostTensor::dense(Element::F16, {1, 2, 1, 8}, Layout::BHSD);
  p.v = HostTensor::dense(Element::F16, {1, 2, 1, 8}, Layout::BHSD);
  for (int64_t d = 0; d < 8; ++d)
    p.v.set(0, 1, 0, d, 1);
  RowValues out = reference(p);
  for (int64_t h = 0; h < 6; ++h)
    CHECK(out.o[h * 8] == (h < 3 ? 0 : 1));
}

TEST_CASE("masks: where each leaf's edge lies") {
  auto row = [](const MaskExpr &mask, int64_t i, int64_t sq, int64_t keys) {
    std::string seen;
    for (int64_t j = 0; j < keys; ++j)
      seen += mask.visible(i, j, sq, keys) ? 'x' : '.';
    return seen;
  };
  CHECK(row(MaskExpr::causal(), 0, 3, 5) == "xxx..");
  CHECK(row(MaskExpr::causalTopLeft(), 0, 3, 5) == "x....");
  CHECK(row(MaskExpr::window(1, 0), 1, 3, 5) == "..xx.");
  CHECK(row(MaskExpr::window(-1, 1), 0, 3, 5) == "xxxx.");
  CHECK(row(MaskExpr::window(0, -1), 2, 3, 5) == "....x");
  CHECK(row(MaskExpr::prefix(2), 0, 3, 5) == "xx...");
  CHECK(row(MaskExpr::inverse(MaskExpr::prefix(2)), 0, 3, 5) == "..xxx");
  CHECK(row(MaskExpr::either(MaskExpr::prefix(1), MaskExpr::window(0, 0)), 2, 3,
            5) == "x...x");
  CHECK(MaskExpr::both(
            MaskExpr::either(MaskExpr::prefix(1), MaskExpr::window(3, 0)),
            MaskExpr::inverse(MaskExpr::causal()))
            .text() == "((prefix(1) | window(3,0)) & !causal)");
}

TEST_CASE("rows: all of a small problem, edges of a large one") {
  AttentionProblem p = scalars(std::vector<float>(300), std::vector<float>(300),
                               std::vector<float>(300));
  CHECK(sampleRows(p, 1 << 20).size() == 300);
  std::vector<Row> some = sampleRows(p, 600 * 40);
  CHECK(some.size() == 42);
  CHECK(some.back().i == 299);
}
