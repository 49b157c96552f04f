// Elementwise code on vectors: exponentials to 2 ulp with their edge cases,
// 16-bit rounding bit for bit, and functions that only libm has.
#include "flashc/Dialect/Tile/Transforms/Passes.h"
#include "unittests/Catch.h"
#include "unittests/TargetCPU/CompileTile.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>
#include <limits>

using namespace flashc;
using namespace flashc::reference;
using flashc::test::argument;

namespace {
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A kernel that maps `body` (from %x: f32 to %y: `type`) over f32 rows of 20.
std::string mapKernel(const std::string &body,
                      const std::string &type = "f32") {
  return fmt::format(R"(
!in = memref<?x?x?x20xf32, strided<[?, ?, ?, 1], offset: ?>>
!out = memref<?x?x?x20x{1}, strided<[?, ?, ?, 1], offset: ?>>
tile.kernel @map(%in: !in, %out: !out {{tile.output}}) attributes {{schedule = #tile.schedule<
    q = 16, kv = 16, stages = 1, warps = 1, q_in_registers = false, sram = 1048576>}} {{
  %c16 = arith.constant 16 : index
  %b, %h, %i = tile.program
  %row = arith.muli %i, %c16 : index
  %t = tile.load %in[%b, %h, %row] : !in -> tensor<16x32xf32>
  %r = tile.map ins(%t : tensor<16x32xf32>) -> tensor<16x32x{1}> {{
  ^bb0(%x: f32):
    {0}
    tile.yield %y : {1}
  }}
  tile.store %r, %out[%b, %h, %row] : tensor<16x32x{1}>, !out
  tile.return
}}
)",
                     body, type);
}

using Passes = std::vector<std::unique_ptr<mlir::Pass>>;

/// The kernel's value for each of `x`.
std::vector<float> apply(const std::string &text, std::vector<float> x,
                         Element type = Element::F32, int64_t bits = 0,
                         Passes passes = {}) {
  size_t count = x.size();
  int64_t rows = (int64_t(count) + 19) / 20;
  x.resize(rows * 20);
  HostTensor in =
      HostTensor::dense(Element::F32, {1, 1, rows, 20}, Layout::BHSD);
  HostTensor out = HostTensor::dense(type, {1, 1, rows, 20}, Layout::BHSD);
  for (size_t n = 0; n < x.size(); ++n)
    in.set(0, 0, n / 20, n % 20, x[n]);
  auto kernel =
      test::compileTile(text, bits, /*fromAttn=*/false, std::move(passes));
  auto error = kernel->run({argument(in), argument(out)});
  if (error)
    throw std::runtime_error(llvm::toString(std::move(error)));
  for (size_t n = 0; n < x.size(); ++n)
    x[n] = out.get(0, 0, n / 20, n % 20);
  x.resize(count);
  return x;
}

/// Numbers of every exponent between `lo` and `hi`, of both signs, and the
/// edges.
std::vector<float> sample(float lo, float hi) {
  std::vector<float> x{0.f,  -0.f, kInf,  -kInf, kNaN,  1.f,
                       -1.f, 0.5f, -0.5f, 3e38f, -3e38f};
  // In double, since a subnormal float times 1.0007 is itself.
  for (double v = lo; v < hi; v *= 1.0007) {
    x.push_back(float(v));
    x.push_back(float(-v));
  }
  return x;
}

/// Distance in units of the last place of `right`, which is rounded from
/// double.
double ulps(float value, double right) {
  float near = float(right);
  if (std::isnan(right) || std::isinf(near) || near == 0)
    return std::bit_cast<uint32_t>(value) == std::bit_cast<uint32_t>(near) ||
                   (std::isnan(value) && std::isnan(near)) ||
                   (value == 0 && near == 0)
               ? 0
               : 1e9;
  double ulp =
      std::max(double(std::nextafter(std::fabs(near), kInf)) - std::fabs(near),
               0x1p-149);
  return std::fabs(value - right) / ulp;
}

template <typename F>
double worst(const std::string &op, F function, float lo, float hi,
             int64_t bits = 0) {
  std::vector<float> x = sample(lo, hi);
  std::vector<float> y =
      apply(mapKernel("%y = math." + op + " %x : f32"), x, Element::F32, bits);
  double most = 0;
  for (size_t n = 0; n < x.size(); ++n) {
    double error = ulps(y[n], function(double(x[n])));
    if (error > most)
      UNSCOPED_INFO(op << "(" << x[n] << ") = " << y[n] << ", but should be "
                       << function(double(x[n])));
    most = std::max(most, error);
  }
  return most;
}
} // namespace

TEST_CASE("cpu: exp2, exp and tanh are within 2 ulp, edges included") {
  for (int64_t bits : {128, 256, 512}) {
    if (bits > hostVectorBits())
      continue;
    CHECK(worst(
              "exp2", [](double x) { return std::exp2(x); }, 1e-8f, 200, bits) <
          1.5);
    CHECK(worst(
              "exp", [](double x) { return std::exp(x); }, 1e-8f, 150, bits) <
          1.5);
    CHECK(worst(
              "tanh", [](double x) { return std::tanh(x); }, 1e-8f, 50, bits) <
          2);
  }
}

// What tile-split-tanh and tile-expand-tanh make, beside the compare of the
// former: a GPU runs the same with a reciprocal in place of the division, which
// is one unit in the last place more.
TEST_CASE("tanh on the tile level is within 2^-21, edges included") {
  for (bool split : {false, true})
    for (float factor : {1.0f, 0.0041666667f, 1e-9f, -2.0f}) {
      Passes passes;
      if (split)
        passes.push_back(tile::createTileSplitTanh());
      passes.push_back(tile::createTileExpandTanh());
      std::vector<float> x =
          sample(1e-7f / std::fabs(factor), 20 / std::fabs(factor));
      std::vector<float> y =
          apply(mapKernel(fmt::format("%k = arith.constant {:e} : f32\n"
                                      "%z = arith.mulf %x, %k : f32\n"
                                      "%y = math.tanh %z : f32",
                                      factor)),
                x, Element::F32, 0, std::move(passes));
      double most = 0;
      for (size_t n = 0; n < x.size(); ++n) {
        double right = std::tanh(double(factor) * double(x[n]));
        CAPTURE(split, factor, x[n], y[n], right);
        if (std::isnan(right) || right == 0) {
          CHECK(std::isnan(y[n]) == std::isnan(right));
          CHECK((std::isnan(right) || y[n] == 0));
          continue;
        }
        most = std::max(most, std::fabs(y[n] / right - 1));
      }
      fmt::print("figure: tanh(x * {}){}: relative error 2^{:.2f}\n", factor,
                 split ? ", split" : "", std::log2(most));
      CHECK(most < 0x1p-21);
    }
}

TEST_CASE("cpu: functions of libm work on vectors") {
  CHECK(worst("erf", [](double x) { return std::erf(x); }, 1e-4f, 5) < 2);
  CHECK(worst(
            "log1p", [](double x) { return x < -1 ? kNaN : std::log1p(x); },
            1e-4f, 5) < 2);
  CHECK(worst("sin", [](double x) { return std::sin(x); }, 1e-3f, 50) < 2);
}

TEST_CASE("cpu: rounding to 16 bits is to the nearest even, with NaN, inf and "
          "subnormals") {
  std::vector<float> x = sample(1e-45f, 3e38f);
  for (uint32_t high = 0; high < 0x10000; high += 37)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      x.push_back(std::bit_cast<float>(high << 16 | low));
  for (Element type : {Element::F16, Element::BF16}) {
    std::string name = elementName(type).str();
    std::vector<float> y = apply(
        mapKernel("%y = arith.truncf %x : f32 to " + name, name), x, type);
    size_t wrong = 0;
    for (size_t n = 0; n < x.size(); ++n) {
      float right = roundTo(type, x[n]);
      bool same = std::isnan(right) ? std::isnan(y[n])
                                    : std::bit_cast<uint32_t>(right) ==
                                          std::bit_cast<uint32_t>(y[n]);
      if (!same && ++wrong < 5)
        UNSCOPED_INFO(name << " of " << x[n] << " is " << y[n]
                           << ", but should be " << right);
    }
    CHECK(wrong == 0);
  }
}
