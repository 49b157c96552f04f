//===- Float16.h - f16 and bf16 on the host ---------------------*- C++ -*-===//
//
// The only conversions between f32 and the two 16-bit types. To 16 bits they
// round to nearest, ties to even; past the largest finite value gives
// infinity, NaN stays NaN (quiet, upper payload bits kept), and denormals are
// exact. Source: IEEE 754-2019, section 4.3.1.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_SUPPORT_FLOAT16_H
#define FLASHC_SUPPORT_FLOAT16_H

#include <bit>
#include <cstdint>

namespace flashc {

inline uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) // NaN
    return sign | 0x7e00 | ((magnitude >> 13) & 0x3ff);
  if (magnitude >= 0x477ff000) // 65520, half way past the largest finite half
    return sign | 0x7c00;
  if (magnitude < 0x38800000) { // below 2^-14: a denormal half
    // In [0.5, 1) one ulp of f32 is 2^-24, the unit of denormal halves: the
    // addition rounds.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  magnitude += 0xfff + ((magnitude >> 13) & 1);
  return sign | ((magnitude - (112u << 23)) >> 13);
}

inline float halfToFloat(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude < 0x0400) { // zero, denormal
    float value = float(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
}

inline uint16_t floatToBFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) // NaN
    return (bits >> 16) | 0x40;
  return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}

inline float bfloatToFloat(uint16_t bfloat) {
  return std::bit_cast<float>(uint32_t(bfloat) << 16);
}

} // namespace flashc

#endif // FLASHC_SUPPORT_FLOAT16_H
