//===- RoleSchedule.cpp - Warpgroups, tiles and registers on Hopper -------===//
//
// Used by chooseSchedule. In: what is computed, on a target with wgmma. Out:
// groups, key block, registers, and how the softmax runs beside the products.
//
// Budgets. A block of g groups and the loading one is launched with 65536 /
// (128 (g + 1)) registers a thread, in eights, and setmaxnreg deals that pool
// out anew. A consumer's thread holds S (kv / 2), P (kv / 4) and O (Dv / 2) and
// about 32 more: with fewer, ptxas serialises the products (C7512).
//
// Cost of a score, in cycles of a multiprocessor for 64 rows. Three things take
// turns at being the slowest, and a norm with a high exponent is nearly their
// maximum: the products at 4096 flops a cycle; the softmax, its exponentials at
// 16 a cycle and what of its other operations is not hidden at 128; and a group
// by itself, which does one after the other and waits in between, of which as
// many go on at a time as there are groups. To each tile comes its begin and
// end. Constants fitted to H200 runs of d 64, 128 and 256 with two and three
// groups (docs/decisions/011).
//
//===----------------------------------------------------------------------===//
#include "RoleSchedule.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace flashc {
namespace {
constexpr int64_t kProducerRegisters = 32;
constexpr int64_t kOtherRegisters = 32;
/// A score function's addresses and temporaries, of several scores at a time:
/// ptxas takes up more of them the longer a row is.
int64_t scoreRegisters(int64_t kv) { return std::max<int64_t>(24, kv / 4); }
/// What a window's bounds take where Q is wider than a group's output: with
/// fewer, ptxas spills around computing a tile again.
constexpr int64_t kWindowRegisters = 24;
constexpr int64_t kSegment = 64;
constexpr int64_t kGroupRows = 64;
/// Barriers and the queue of tiles, generously.
constexpr int64_t kBarrierBytes = 512;
/// Queries and keys of a problem where the request does not say.
constexpr int64_t kTypicalLength = 4096;
/// Operations of a score that show beside its exponential, and with a function
/// on every score.
constexpr double kSoftmaxOps = 2.1, kScoreOps = 5.1;
/// Cycles that a group waits in each key block: barriers, latencies.
constexpr double kBlockCycles = 400;
/// Cycles of a block that a score function adds, for what its elements share.
constexpr double kScoreBlockCycles = 96;
constexpr double kNorm = 6.4;
/// Cycles of a tile's begin and end, for each column of its output and each key
/// of its first block; and where the next tile's Q waits for the output to
/// leave.
constexpr double kTileCyclesOfColumn = 12, kTileCyclesOfKey = 1.5,
                 kSharedTileCycles = 300;
/// Cycles of the masked block for each row and key.
constexpr double kMaskCycles = 0.66;

int64_t padded(int64_t columns) {
  return llvm::alignTo(columns, kTileColumnStep);
}
int64_t inSegments(int64_t columns) { return llvm::alignTo(columns, kSegment); }

class RoleChooser {
public:
  RoleChooser(const ScheduleRequest &request, const TargetInfo &target)
      : request(request), target(target) {}
  void forEach(llvm::function_ref<void(const Schedule &, double)> visit) const;

private:
  bool isForTMA() const;
  std::optional<Schedule> complete(int64_t groups, int64_t kv) const;
  double cost(const Schedule &schedule) const;
  int64_t countBlocks(const Schedule &schedule, int64_t length,
                      int64_t rows) const;
  std::pair<int64_t, int64_t> getBand(int64_t length) const;
  /// Cycles of a score for 64 rows: products, softmax.
  double products(int64_t kv) const {
    // Both operands of S come through shared memory at 128 bytes a cycle.
    double slower = std::max(1.0, 32.0 / double(kv) + 0.5);
    return kGroupRows * 2.0 *
           (slower * double(padded(request.headDim)) +
            double(padded(request.valueHeadDim))) /
           4096;
  }
  double softmax() const {
    double ops = request.hasScore ? kScoreOps : kSoftmaxOps;
    return kGroupRows * (1.0 / 16 + ops / 128);
  }

  const ScheduleRequest &request;
  const TargetInfo &target;
};

bool RoleChooser::isForTMA() const {
  bool aligned = request.alignment == 0 || request.alignment == 16;
  return target.hasRoles && aligned && request.headDim % 8 == 0 &&
         request.valueHeadDim % 8 == 0 && request.tiles != "paper" &&
         request.element != ElementKind::F32;
}

std::optional<Schedule> RoleChooser::complete(int64_t groups,
                                              int64_t kv) const {
  Schedule s;
  s.q = kGroupRows * groups;
  s.kv = kv;
  s.stages = request.stages ? request.stages : 2;
  s.warps = 4 * groups;
  s.sram = target.sharedBytesPerBlock;
  int64_t launch = getLaunchRegisters(groups, target);
  RoleChoices roles;
  roles.groups = groups;
  roles.producerRegisters = kProducerRegisters;
  roles.consumerRegisters = std::min<int64_t>(
      240, ((groups + 1) * launch - kProducerRegisters) / groups / 8 * 8);
  s.registersEstimate = kv / 2 + kv / 4 + padded(request.valueHeadDim) / 2 +
                        kOtherRegisters +
                        (request.isPositional ? scoreRegisters(kv) : 0);
  if (request.left >= 0 && request.headDim > 128)
    s.registersEstimate += kWindowRegisters;
  if (s.registersEstimate > roles.consumerRegisters || kv > 256)
    return std::nullopt;
  int64_t d = inSegments(request.headDim),
          dv = inSegments(request.valueHeadDim);
  int64_t query = 2 * s.q * d, output = 2 * s.q * dv;
  int64_t rings = 2 * s.stages * kv * (d + dv) + kBarrierBytes;
  roles.apart = query + output + rings <= s.sram;
  if (!roles.apart && !outputFitsQuery(request))
    return std::nullopt;
  s.sharedBytes = query + rings + (roles.apart ? output : 0);
  roles.ahead = roles.apart && s.sharedBytes + query <= s.sram;
  s.sharedBytes += roles.ahead ? query : 0;
  if (s.sharedBytes > s.sram)
    return std::nullopt;
  double exposed = softmax() / products(kv);
  roles.turns = groups > 1 && exposed > 0.5;
  // Scores that depend on positions may well be below zero, where a test is in
  // vain.
  roles.rescale = !request.hasScore || !request.isPositional ? RescaleKind::Test
                  : exposed > 1 ? RescaleKind::Lazy
                                : RescaleKind::Always;
  // Some group's rows may see no key of a block that the tile's others see.
  auto [left, right] = getBand(request.length);
  bool isWindow = left >= 0 && right >= 0;
  roles.skip = request.isMasked && s.q - kGroupRows >= kv &&
               (isWindow || !request.isDistance);
  // Groups that skip are far apart at both ends of a window.
  roles.turns &= !(roles.skip && isWindow);
  s.roles = roles;
  return s;
}

/// The mask as a band of `length` keys; -1: no bound on that side. Bounds mean
/// something beside a length, so where none is said all masks are causal.
std::pair<int64_t, int64_t> RoleChooser::getBand(int64_t length) const {
  if (!request.isMasked)
    return {-1, -1};
  auto bound = [&](int64_t side) { return side < length - 1 ? side : -1; };
  int64_t left = bound(request.left), right = bound(request.right);
  if (!request.length || (left < 0 && right < 0))
    return {-1, 0};
  return {left, right};
}

/// Key blocks of one head for each warpgroup together, where `rows` of them go
/// through the same ones.
int64_t RoleChooser::countBlocks(const Schedule &s, int64_t length,
                                 int64_t rows) const {
  auto [left, right] = getBand(length);
  int64_t blocks = 0;
  for (int64_t first = 0; first < length; first += rows) {
    int64_t last = std::min(first + rows, length) - 1;
    int64_t end = right < 0 ? length : std::min(last + right + 1, length);
    int64_t begin = left < 0 ? 0 : std::max<int64_t>(first - left, 0);
    blocks += llvm::divideCeil(end, s.kv) - begin / s.kv;
  }
  return blocks * rows / kGroupRows;
}

/// Cycles of one head.
double RoleChooser::cost(const Schedule &s) const {
  double groups = double(s.roles->groups);
  double alone =
      (products(s.kv) + softmax() + kBlockCycles / double(s.kv)) / groups;
  double score =
      std::pow(std::pow(products(s.kv), kNorm) + std::pow(softmax(), kNorm) +
                   std::pow(alone, kNorm),
               1 / kNorm);
  if (request.hasScore)
    score += kScoreBlockCycles / double(s.kv);
  int64_t length = request.length ? request.length : kTypicalLength;
  // Beyond some number of tiles, the mean tile says it all.
  length = std::min<int64_t>(length, 65536);
  int64_t tiles = llvm::divideCeil(length, s.q);
  double perTile = kTileCyclesOfColumn * double(request.valueHeadDim) +
                   kTileCyclesOfKey * double(s.kv);
  if (!s.roles->apart)
    perTile += kSharedTileCycles;
  auto [left, right] = getBand(length);
  int64_t edges = (left >= 0) + (right >= 0);
  // Groups that skip have the tile's other groups to wait for.
  int64_t rows = s.roles->skip ? (kGroupRows + 2 * s.q) / 3 : s.q;
  perTile += kMaskCycles * double(edges * (rows + s.kv));
  double blocks = double(countBlocks(s, length, s.q));
  if (s.roles->skip)
    blocks = (2 * blocks + double(countBlocks(s, length, kGroupRows))) / 3;
  // A lone group has nobody to hide its begin and end behind.
  return blocks * double(s.kv) * score +
         std::max(groups, 2.0) * double(tiles) * perTile;
}

void RoleChooser::forEach(
    llvm::function_ref<void(const Schedule &, double)> visit) const {
  if (!isForTMA())
    return;
  int64_t askedQ = 0, askedKv = 0;
  auto [first, second] = llvm::StringRef(request.tiles).split('x');
  bool isExact =
      !first.getAsInteger(10, askedQ) && !second.getAsInteger(10, askedKv);
  for (int64_t groups = 1; groups <= 3; ++groups)
    for (int64_t kv = 16; kv <= 256; kv += 16) {
      if (isExact && (askedQ != kGroupRows * groups || askedKv != kv))
        continue;
      if (request.warps && request.warps != 4 * groups)
        continue;
      if (std::optional<Schedule> s = complete(groups, kv))
        visit(*s, cost(*s));
    }
}
} // namespace

bool outputFitsQuery(const ScheduleRequest &request) {
  return inSegments(request.valueHeadDim) <= inSegments(request.headDim);
}

int64_t getLaunchRegisters(int64_t groups, const TargetInfo &target) {
  return target.registersPerSM / (128 * (groups + 1)) / 8 * 8;
}

void forEachRoles(const ScheduleRequest &request, const TargetInfo &target,
                  llvm::function_ref<void(const Schedule &, double)> visit) {
  RoleChooser(request, target).forEach(visit);
}

std::optional<Schedule> chooseRoles(const ScheduleRequest &request,
                                    const TargetInfo &target) {
  std::optional<Schedule> best;
  double bestCost = 0;
  forEachRoles(request, target, [&](const Schedule &s, double cost) {
    if (best && cost >= bestCost)
      return;
    best = s;
    bestCost = cost;
  });
  return best;
}
} // namespace flashc
