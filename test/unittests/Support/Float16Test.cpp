// Conversions between f32 and the 16-bit types, against their definition.
#include "unittests/Catch.h"

#include "flashc/Support/Float16.h"

#include <cmath>
#include <limits>

using namespace flashc;

namespace {
/// The value of finite 16-bit patterns, by the definition of the formats.
double valueOf(uint16_t bits, int mantissaBits, int bias) {
  int exponent = (bits & 0x7fff) >> mantissaBits;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double value = exponent ? std::ldexp(mantissa + (1 << mantissaBits),
                                       exponent - bias - mantissaBits)
                          : std::ldexp(mantissa, 1 - bias - mantissaBits);
  return bits & 0x8000 ? -value : value;
}

/// Every pattern comes back, and between two neighbours the nearer one (the
/// even one half way) is taken.
template <typename ToFloat, typename FromFloat>
void checkAll(int mantissaBits, int bias, uint16_t infinity, ToFloat toFloat,
              FromFloat fromFloat) {
  int wrong = 0;
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    float value = toFloat(bits);
    wrong += value != valueOf(bits, mantissaBits, bias);
    wrong += fromFloat(value) != bits || fromFloat(-value) != (bits | 0x8000);
    if (bits + 1u == infinity)
      break;
    double next = valueOf(bits + 1, mantissaBits, bias);
    float half = float((value + next) / 2);
    if (half == (value + next) / 2) {
      wrong += fromFloat(half) != bits + (bits & 1);
      wrong += fromFloat(std::nextafterf(half, 0)) != bits;
      wrong += fromFloat(std::nextafterf(half, INFINITY)) != bits + 1;
    }
  }
  CHECK(wrong == 0);
}
} // namespace

TEST_CASE("f16: every finite value, and rounding between neighbours") {
  checkAll(10, 15, 0x7c00, halfToFloat, floatToHalf);
}

TEST_CASE("bf16: every finite value, and rounding between neighbours") {
  checkAll(7, 127, 0x7f80, bfloatToFloat, floatToBFloat);
}

TEST_CASE("16-bit floats: infinity, overflow and NaN") {
  float inf = std::numeric_limits<float>::infinity();
  CHECK(floatToHalf(inf) == 0x7c00);
  CHECK(floatToHalf(-inf) == 0xfc00);
  CHECK(floatToHalf(65519.f) == 0x7bff);
  CHECK(floatToHalf(65520.f) == 0x7c00); // half way, to the even: infinity
  CHECK(floatToHalf(1e9f) == 0x7c00);
  CHECK(halfToFloat(0xfc00) == -inf);
  CHECK(floatToHalf(0x1p-25f) == 0); // half of the smallest: to the even
  CHECK(floatToHalf(0x1.000002p-25f) == 1);
  CHECK(floatToBFloat(inf) == 0x7f80);
  CHECK(floatToBFloat(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(bfloatToFloat(0xff80) == -inf);
  for (uint32_t bits : {0x7fc00000u, 0x7f800001u, 0xffffffffu}) {
    float nan = std::bit_cast<float>(bits);
    CHECK(std::isnan(halfToFloat(floatToHalf(nan))));
    CHECK(std::isnan(bfloatToFloat(floatToBFloat(nan))));
  }
  CHECK(std::isnan(halfToFloat(0x7c01)));
}
