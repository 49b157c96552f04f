// FlashAttention-2's loop in plain C++, written so that the compiler vectorises
// every inner loop: blocks of 64 x 64, K transposed once a block, the
// exponential a polynomial (libm's is not inlined and would cost more than the
// products).
#include "Baseline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

namespace {
constexpr int64_t kBlock = 64;
constexpr int64_t kMaxDim = 128;

inline float exp2Fast(float x) {
  x = std::max(x, -126.0f);
  float shifted = x + 12582912.0f;
  float f = x - (shifted - 12582912.0f);
  float p = 0.000154531634f;
  for (float c : {0.00133908633f, 0.00961808302f, 0.0555035695f, 0.240226507f,
                  0.693147182f, 1.0f})
    p = p * f + c;
  return p *
         std::bit_cast<float>((std::bit_cast<int32_t>(shifted) + 127) << 23);
}

struct Scratch {
  float q[kBlock][kMaxDim], keys[kMaxDim][kBlock], values[kBlock][kMaxDim],
      s[kBlock][kBlock], acc[kBlock][kMaxDim], max[kBlock], sum[kBlock];
};

template <int64_t D> void scores(Scratch &t) {
  for (int64_t i = 0; i < kBlock; ++i) {
    float row[kBlock] = {};
    for (int64_t d = 0; d < D; ++d)
      for (int64_t j = 0; j < kBlock; ++j)
        row[j] += t.q[i][d] * t.keys[d][j];
    for (int64_t j = 0; j < kBlock; ++j)
      t.s[i][j] = row[j];
  }
}

template <typename T, int64_t D> void softmax(Scratch &t, float scale) {
  for (int64_t i = 0; i < kBlock; ++i) {
    float max = t.max[i];
    for (int64_t j = 0; j < kBlock; ++j)
      max = std::max(max, t.s[i][j]);
    float base = max == -std::numeric_limits<float>::infinity() ? 0 : max;
    float alpha = exp2Fast((t.max[i] - base) * scale), sum = 0;
    for (int64_t j = 0; j < kBlock; ++j)
      t.s[i][j] = exp2Fast((t.s[i][j] - base) * scale);
    for (int64_t j = 0; j < kBlock; ++j)
      sum += t.s[i][j];
    for (int64_t j = 0; j < kBlock; ++j)
      t.s[i][j] = float(T(t.s[i][j]));
    for (int64_t d = 0; d < D; ++d)
      t.acc[i][d] *= alpha;
    t.max[i] = max;
    t.sum[i] = t.sum[i] * alpha + sum;
  }
}

template <int64_t D> void addValues(Scratch &t) {
  for (int64_t i = 0; i < kBlock; ++i) {
    float row[D];
    for (int64_t d = 0; d < D; ++d)
      row[d] = t.acc[i][d];
    for (int64_t j = 0; j < kBlock; ++j)
      for (int64_t d = 0; d < D; ++d)
        row[d] += t.s[i][j] * t.values[j][d];
    for (int64_t d = 0; d < D; ++d)
      t.acc[i][d] = row[d];
  }
}

template <typename T, int64_t D>
void run(const T *q, const T *k, const T *v, T *o, int64_t sq, int64_t sk,
         bool causal, int64_t block) {
  auto memory = std::make_unique<Scratch>();
  Scratch &t = *memory;
  const float scale = 1.44269504f / std::sqrt(float(D));
  int64_t first = block * kBlock, rows = std::min(kBlock, sq - first);
  for (int64_t i = 0; i < kBlock; ++i) {
    t.max[i] = -std::numeric_limits<float>::infinity();
    for (int64_t d = 0; d < D; ++d)
      t.q[i][d] = i < rows ? float(q[(first + i) * D + d]) : 0;
  }
  int64_t end = causal ? std::min(sk, first + rows + sk - sq) : sk;
  for (int64_t j0 = 0; j0 < end; j0 += kBlock) {
    int64_t keys = std::min(kBlock, sk - j0);
    for (int64_t j = 0; j < kBlock; ++j)
      for (int64_t d = 0; d < D; ++d) {
        t.keys[d][j] = j < keys ? float(k[(j0 + j) * D + d]) : 0;
        t.values[j][d] = j < keys ? float(v[(j0 + j) * D + d]) : 0;
      }
    scores<D>(t);
    if (keys < kBlock || (causal && j0 + kBlock > first + 1 + sk - sq))
      for (int64_t i = 0; i < kBlock; ++i)
        for (int64_t j = 0; j < kBlock; ++j)
          if (j >= keys || (causal && j0 + j > first + i + sk - sq))
            t.s[i][j] = -std::numeric_limits<float>::infinity();
    softmax<T, D>(t, scale);
    addValues<D>(t);
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t d = 0; d < D; ++d)
      o[(first + i) * D + d] = T(t.sum[i] > 0 ? t.acc[i][d] / t.sum[i] : 0);
}
} // namespace

template <typename T>
void baselineBlock(const T *q, const T *k, const T *v, T *o, int64_t sq,
                   int64_t sk, int64_t d, bool causal, int64_t block) {
  if (d == 64)
    run<T, 64>(q, k, v, o, sq, sk, causal, block);
  else
    run<T, 128>(q, k, v, o, sq, sk, causal, block);
}

template void baselineBlock(const float *, const float *, const float *,
                            float *, int64_t, int64_t, int64_t, bool, int64_t);
template void baselineBlock(const _Float16 *, const _Float16 *,
                            const _Float16 *, _Float16 *, int64_t, int64_t,
                            int64_t, bool, int64_t);
