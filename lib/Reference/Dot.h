// Dot products of the fp64 oracles and of their unfused counterparts.
#ifndef FLASHC_LIB_REFERENCE_DOT_H
#define FLASHC_LIB_REFERENCE_DOT_H

#include <cmath>
#include <cstdint>

namespace flashc::reference {

/// sum a_d b_d in type T, in eight chains (so that it can be vectorised; the
/// order is as good as any other).
template <typename T> T dot(const float *a, const float *b, int64_t n) {
  T sum[8] = {};
  int64_t d = 0;
  for (; d + 8 <= n; d += 8)
    for (int64_t lane = 0; lane < 8; ++lane)
      sum[lane] += T(a[d + lane]) * T(b[d + lane]);
  for (; d < n; ++d)
    sum[0] += T(a[d]) * T(b[d]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
         ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

/// sum |a_d b_d|, likewise.
inline double absDot(const float *a, const float *b, int64_t n) {
  double sum[8] = {};
  int64_t d = 0;
  for (; d + 8 <= n; d += 8)
    for (int64_t lane = 0; lane < 8; ++lane)
      sum[lane] += std::fabs(double(a[d + lane]) * b[d + lane]);
  for (; d < n; ++d)
    sum[0] += std::fabs(double(a[d]) * b[d]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) +
         ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

} // namespace flashc::reference

#endif // FLASHC_LIB_REFERENCE_DOT_H
