//===- Draw.cpp - The random sweep ----------------------------------------===//
//
// In: a seed. Out: a problem. What decides the kernel is drawn first, from
// `seed mod kernels`, so that draws can share kernels; the rest from the seed.
//
//===----------------------------------------------------------------------===//
#include "flashc/Reference/Cases.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>

using namespace flashc;
using namespace flashc::reference;

uint64_t Random::next() { // splitmix64
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::normal() { // Box and Muller
  if (hasSpare) {
    hasSpare = false;
    return spare;
  }
  double radius =
      std::sqrt(-2 * std::log((double(next() >> 11) + 1) * 0x1p-53));
  double angle = 2 * std::numbers::pi * double(next() >> 11) * 0x1p-53;
  spare = radius * std::sin(angle);
  hasSpare = true;
  return radius * std::cos(angle);
}

void reference::fillNormal(HostTensor &tensor, Random &random,
                           double deviation) {
  for (int64_t b = 0; b < tensor.shape[0]; ++b)
    for (int64_t h = 0; h < tensor.shape[1]; ++h)
      for (int64_t s = 0; s < tensor.shape[2]; ++s)
        for (int64_t d = 0; d < tensor.shape[3]; ++d)
          tensor.set(b, h, s, d, deviation * random.normal());
}

namespace {
/// What decides the kernel.
struct KernelClass {
  Element element;
  Layout layout;
  int64_t headDim, valueHeadDim, heads, kvHeads;
  bool staticHeads, withLse, kvLengths;
  MaskExpr mask;
  std::string tiles;
};

int64_t drawHeadDim(Random &random) {
  static constexpr int64_t usual[] = {8,  16, 24, 32,  40,  48,  56,  64,  72,
                                      80, 88, 96, 112, 128, 160, 192, 224, 256};
  static constexpr int64_t odd[] = {9,   10,  11,  15,  17,  20, 31, 33,
                                    47,  50,  63,  65,  77,  95, 97, 100,
                                    127, 129, 150, 191, 193, 255};
  int64_t dim = random.chance(70) ? random.pick(usual) : random.pick(odd);
  // Large dims cost the most and show the least: fewer of them.
  return dim > 128 && random.chance(40) ? random.pick(usual) : dim;
}

MaskExpr drawLeaf(Random &random, bool kvLengths) {
  switch (random.range(0, kvLengths ? 5 : 4)) {
  case 0:
    return MaskExpr::causal();
  case 1:
    return MaskExpr::causalTopLeft();
  case 2:
  case 3:
    return MaskExpr::window(random.chance(25) ? -1 : random.range(0, 150),
                            random.chance(25) ? -1 : random.range(0, 80));
  case 4:
    return MaskExpr::prefix(random.range(0, 400));
  default:
    return MaskExpr::keyLength();
  }
}

MaskExpr drawMask(Random &random, bool kvLengths) {
  int64_t kind = random.range(0, 99);
  if (kind < 22)
    return MaskExpr::none();
  if (kind < 42)
    return MaskExpr::causal();
  MaskExpr a = drawLeaf(random, kvLengths);
  if (kind < 72)
    return a;
  MaskExpr b = drawLeaf(random, kvLengths);
  if (kind < 76)
    return MaskExpr::inverse(a);
  if (kind < 87)
    return MaskExpr::both(a, b);
  if (kind < 96)
    return MaskExpr::either(a, b);
  return MaskExpr::both(MaskExpr::either(a, b), drawLeaf(random, kvLengths));
}

/// Tiles asked for by name must fit the smallest budget that the sweep runs
/// under: Q, and two slots each of K and V, in sm_80's 163 KiB.
std::string drawTiles(Random &random, int64_t dims, bool smallTiles) {
  int64_t kind = random.range(0, 99);
  if (kind < 50)
    return "auto";
  if (kind < 75)
    return "paper";
  static constexpr int64_t sizes[] = {16, 32, 48, 64, 96, 128};
  int64_t most = smallTiles || dims > 256 ? 64 : 128;
  int64_t q = std::min(random.pick(sizes), most);
  int64_t kv = std::min(random.pick(sizes), dims > 128 ? 64 : most);
  return fmt::format("{}x{}", q, kv);
}

KernelClass drawClass(Random &random, const DrawOptions &options) {
  KernelClass k;
  int64_t type = random.range(0, 2);
  k.element = type == 2 && options.withF32    ? Element::F32
              : type == 1 && options.withBF16 ? Element::BF16
                                              : Element::F16;
  k.layout = random.chance(50) ? Layout::BSHD : Layout::BHSD;
  k.headDim = drawHeadDim(random);
  k.valueHeadDim = random.chance(30) ? drawHeadDim(random) : k.headDim;
  static constexpr int64_t groups[] = {1, 1, 2, 3, 4, 8};
  k.kvHeads = random.range(1, 3);
  k.heads = k.kvHeads * random.pick(groups);
  k.staticHeads = random.chance(20);
  k.withLse = random.chance(80);
  k.kvLengths = random.chance(25);
  k.mask = drawMask(random, k.kvLengths);
  k.tiles = drawTiles(random, k.headDim + k.valueHeadDim, options.smallTiles);
  return k;
}

int64_t drawLength(Random &random) {
  static constexpr int64_t edges[] = {0,  1,  2,  15,  16,  17,  31,  63, 64,
                                      65, 79, 96, 127, 128, 129, 255, 257};
  return random.chance(35) ? random.pick(edges) : random.range(0, 700);
}

/// A dense array, or one with gaps between rows (and between heads, batches) of
/// a multiple of 8 elements, which keeps what alignment the rows have.
HostTensor drawArray(Random &random, Element element,
                     std::array<int64_t, 4> shape, Layout layout) {
  HostTensor tensor = HostTensor::dense(element, shape, layout);
  if (!random.chance(30))
    return tensor;
  int64_t inner = layout == Layout::BSHD ? 1 : 2, outer = 3 - inner;
  std::array<int64_t, 4> strides{0, 0, 0, 1};
  strides[inner] = shape[3] + 8 * random.range(0, 3);
  strides[outer] = strides[inner] * shape[inner] + 8 * random.range(0, 3);
  strides[0] = strides[outer] * shape[outer] + 8 * random.range(0, 3);
  tensor = HostTensor::strided(element, shape, strides, 8 * random.range(0, 2));
  tensor.fill(std::numeric_limits<float>::quiet_NaN());
  return tensor;
}

/// Key lengths, and NaN or infinity in the slots past them.
void drawKeyLengths(Random &random, AttentionProblem &p) {
  for (int64_t b = 0; b < p.batch(); ++b) {
    p.kvLengths.push_back(random.range(0, p.sk()));
    float junk = random.chance(50) ? std::numeric_limits<float>::quiet_NaN()
                                   : std::numeric_limits<float>::infinity();
    for (int64_t h = 0; h < p.kvHeads(); ++h)
      for (int64_t s = p.kvLengths[b]; s < p.sk(); ++s) {
        for (int64_t d = 0; d < p.headDim(); ++d)
          p.k.set(b, h, s, d, junk);
        for (int64_t d = 0; d < p.valueHeadDim(); ++d)
          p.v.set(b, h, s, d, junk);
      }
  }
}
} // namespace

TestCase reference::drawProblem(uint64_t seed, const DrawOptions &options) {
  Random classRandom(options.kernels ? seed % options.kernels : seed);
  KernelClass k = drawClass(classRandom, options);
  Random random(seed ^ 0x5eed'0000'0000);
  int64_t batch = random.range(1, 4), sq = drawLength(random),
          sk = drawLength(random);
  if (random.chance(50))
    sk = sq;
  auto work = [&] {
    return batch * k.heads * sq * sk * (k.headDim + k.valueHeadDim);
  };
  while (work() > options.maxWork && batch > 1)
    --batch;
  for (; work() > options.maxWork; sk = std::max<int64_t>(sk * 4 / 5, 1))
    sq = std::max<int64_t>(sq * 4 / 5, 1);

  TestCase test;
  AttentionProblem &p = test.problem;
  p.layout = k.layout;
  p.scale = 1 / std::sqrt(double(k.headDim));
  p.mask = k.mask;
  p.q = drawArray(random, k.element, {batch, k.heads, sq, k.headDim}, k.layout);
  p.k =
      drawArray(random, k.element, {batch, k.kvHeads, sk, k.headDim}, k.layout);
  p.v = drawArray(random, k.element, {batch, k.kvHeads, sk, k.valueHeadDim},
                  k.layout);
  fillNormal(p.q, random,
             random.chance(20) ? 6 : 1); // sometimes a peaked softmax
  fillNormal(p.k, random);
  fillNormal(p.v, random);
  if (k.kvLengths)
    drawKeyLengths(random, p);
  test.tiles = k.tiles;
  test.staticHeads = k.staticHeads;
  test.withLse = k.withLse;
  test.name =
      fmt::format("draw {}: {} tiles {}", seed, p.describe(), test.tiles);
  return test;
}
