// A small problem for the C++ API on the CPU, and attention written out.
#ifndef FLASHC_TEST_UNITTESTS_API_APIPROBLEM_H
#define FLASHC_TEST_UNITTESTS_API_APIPROBLEM_H

#include "flashc/flashc.hpp"

#include "unittests/Catch.h"

#include <cmath>
#include <limits>

namespace flashc::test {
constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline Context onCPU() {
  ContextOptions options;
  options.target = "cpu";
  options.cacheDir = "";
  auto context = Context::create(options);
  if (!context)
    FAIL(context.error().message());
  return *context;
}

inline Kernel compile(const Context &context, const AttentionSpec &spec) {
  auto kernel = context.compile(spec);
  if (!kernel)
    FAIL(kernel.error().message());
  return *kernel;
}

inline std::string errorOf(const Status &status) {
  return status ? status->message() : "";
}

/// Numbers from -1 to 1, the same everywhere.
inline std::vector<float> numbers(size_t count, uint64_t seed) {
  std::vector<float> out(count);
  for (float &x : out) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    x = float(double(seed >> 33) / double(1u << 30) - 1);
  }
  return out;
}

/// Q, K, V of batch, heads, length, head dim, contiguous; 2 query heads share a
/// key head.
struct Problem {
  int64_t batch = 2, heads = 4, kvHeads = 2, queries = 9, keys = 21, dim = 16;
  std::vector<float> q = numbers(batch * heads * queries * dim, 1),
                     k = numbers(batch * kvHeads * keys * dim, 2),
                     v = numbers(batch * kvHeads * keys * dim, 3),
                     o = std::vector<float>(q.size()),
                     lse = std::vector<float>(batch * heads * queries);

  Arguments arguments() {
    auto array = [&](std::vector<float> &data, int64_t h, int64_t length) {
      return Array::bhsd(data.data(), DType::F32, batch, h, length, dim);
    };
    Arguments a;
    a.query = array(q, heads, queries);
    a.key = array(k, kvHeads, keys);
    a.value = array(v, kvHeads, keys);
    a.output = array(o, heads, queries);
    a.lse = Array::dense(lse.data(), DType::F32, {batch, heads, queries});
    return a;
  }

  /// Compares O and LSE with what `score(s, b, h, i, j)` gives, -inf for a key
  /// that is not seen.
  template <typename F> void check(F score) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i)
          checkRow(b, h, i, score);
  }

private:
  template <typename F>
  void checkRow(int64_t b, int64_t h, int64_t i, F score) const {
    size_t row = (b * heads + h) * queries + i;
    size_t head = (b * kvHeads + h / (heads / kvHeads)) * keys;
    std::vector<double> sum(dim);
    double total = 0;
    for (int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (int64_t d = 0; d < dim; ++d)
        s += double(q[row * dim + d]) * k[(head + j) * dim + d];
      double p = std::exp(score(s / std::sqrt(double(dim)), b, h, i, j));
      total += p;
      for (int64_t d = 0; d < dim; ++d)
        sum[d] += p * v[(head + j) * dim + d];
    }
    for (int64_t d = 0; d < dim; ++d) {
      double want = total > 0 ? sum[d] / total : 0;
      if (std::abs(o[row * dim + d] - want) > 1e-5)
        FAIL_CHECK("O of batch " << b << ", head " << h << ", query " << i
                                 << ", dim " << d << " is " << o[row * dim + d]
                                 << ", not " << want);
    }
    if (total == 0)
      CHECK(lse[row] == -kInfinity);
    else
      CHECK(lse[row] == Approx(std::log(total)).margin(1e-5));
  }
};
} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_API_APIPROBLEM_H
