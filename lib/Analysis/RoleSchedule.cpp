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
// Cost of a score, in cycles of a multiprocessor for 64 rows: the products at
// 4096 flops a cycle; what of the softmax (exponentials at 16 a cycle, and
// about five other operations at 128) the other groups' products do not hide;
// and a fixed part of each block. Constants fitted to H200 runs of d 64, 128
// and 256 with one, two and three groups (docs/decisions/011).
//
//===----------------------------------------------------------------------===//
#include "RoleSchedule.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <tuple>

namespace flashc {
namespace {
constexpr int64_t kProducerRegisters = 32;
constexpr int64_t kOtherRegisters = 32;
/// A score function's addresses and temporaries, of several scores at a time:
/// ptxas takes up more of them the longer a row is.
int64_t scoreRegisters(int64_t kv) { return std::max<int64_t>(24, kv / 4); }
constexpr int64_t kSegment = 64;
constexpr int64_t kGroupRows = 64;
/// Barriers and the queue of tiles, generously.
constexpr int64_t kBarrierBytes = 512;
/// Queries and keys of a problem where the request does not say.
constexpr int64_t kTypicalLength = 4096;
/// Cycles of a tile's begin and end for each group; more where the next tile's
/// Q waits for the output to leave.
constexpr double kTileCycles = 1000, kSharedTileCycles = 1500;

int64_t padded(int64_t columns) {
  return llvm::alignTo(columns, kTileColumnStep);
}
int64_t inSegments(int64_t columns) { return llvm::alignTo(columns, kSegment); }

class RoleChooser {
public:
  RoleChooser(const ScheduleRequest &request, const TargetInfo &target)
      : request(request), target(target) {}
  std::optional<Schedule> choose() const;

private:
  bool isForTMA() const;
  std::optional<Schedule> complete(int64_t groups, int64_t kv) const;
  double cost(const Schedule &schedule) const;
  int64_t countBlocks(const Schedule &schedule, int64_t length) const;
  int64_t countEdges() const;
  /// Cycles of a score for 64 rows: products, softmax.
  double products() const {
    return kGroupRows * 2.0 *
           double(padded(request.headDim) + padded(request.valueHeadDim)) /
           4096;
  }
  double softmax() const {
    return kGroupRows * (1.0 / 16 + (request.hasScore ? 8.0 : 5.0) / 128);
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
  int64_t launch = target.registersPerSM / (128 * (groups + 1)) / 8 * 8;
  RoleChoices roles;
  roles.groups = groups;
  roles.producerRegisters = kProducerRegisters;
  roles.consumerRegisters = std::min<int64_t>(
      240, ((groups + 1) * launch - kProducerRegisters) / groups / 8 * 8);
  s.registersEstimate = kv / 2 + kv / 4 + padded(request.valueHeadDim) / 2 +
                        kOtherRegisters +
                        (request.hasScore ? scoreRegisters(kv) : 0);
  if (s.registersEstimate > roles.consumerRegisters || kv > 256)
    return std::nullopt;
  int64_t d = inSegments(request.headDim),
          dv = inSegments(request.valueHeadDim);
  int64_t query = 2 * s.q * d, output = 2 * s.q * dv;
  int64_t rings = 2 * s.stages * kv * (d + dv) + kBarrierBytes;
  roles.apart = query + output + rings <= s.sram;
  if (!roles.apart && dv > d)
    return std::nullopt; // the output leaves through Q's bytes
  s.sharedBytes = query + rings + (roles.apart ? output : 0);
  if (s.sharedBytes > s.sram)
    return std::nullopt;
  double exposed = softmax() / products();
  roles.turns = groups > 1 && exposed > 0.5;
  roles.rescale = exposed > 1     ? RescaleKind::Lazy
                  : exposed > 0.5 ? RescaleKind::Always
                                  : RescaleKind::Late;
  s.roles = roles;
  return s;
}

/// Key blocks that the tiles of one head see.
int64_t RoleChooser::countBlocks(const Schedule &s, int64_t length) const {
  bool isCausal = request.isMasked && request.left < 0 && request.right < 0;
  int64_t right = isCausal ? 0 : request.right, blocks = 0;
  for (int64_t first = 0; first < length; first += s.q) {
    int64_t last = std::min(first + s.q, length) - 1;
    int64_t end = right < 0 ? length : std::min(last + right + 1, length);
    int64_t begin =
        request.left < 0 ? 0 : std::max<int64_t>(first - request.left, 0);
    blocks += llvm::divideCeil(end, s.kv) - begin / s.kv;
  }
  return blocks;
}

/// Sides of a tile's keys that have a mask.
int64_t RoleChooser::countEdges() const {
  int64_t edges = (request.left >= 0) + (request.right >= 0);
  return request.isMasked ? std::max<int64_t>(edges, 1) : 0;
}

/// Cycles of one head.
double RoleChooser::cost(const Schedule &s) const {
  static constexpr double kHidden[] = {0, 0, 0.75, 1.38};
  double hidden = kHidden[s.roles->groups] * products();
  double score = products() + std::max(0.0, softmax() - hidden) + 192.0 / s.kv;
  int64_t length = request.length ? request.length : kTypicalLength;
  // Beyond some number of tiles, the mean tile says it all.
  length = std::min<int64_t>(length, 65536);
  int64_t tiles = llvm::divideCeil(length, s.q);
  double perTile = s.roles->apart ? kTileCycles : kSharedTileCycles;
  // Two operations a score near an edge.
  perTile += double(countEdges() * (s.q + s.kv));
  // A lone group has nobody to hide its begin and end behind.
  double groups = double(s.roles->groups);
  return groups * double(countBlocks(s, length) * s.kv) * score +
         std::max(groups, 2.0) * double(tiles) * perTile;
}

std::optional<Schedule> RoleChooser::choose() const {
  if (!isForTMA())
    return std::nullopt;
  int64_t askedQ = 0, askedKv = 0;
  auto [first, second] = llvm::StringRef(request.tiles).split('x');
  bool isExact =
      !first.getAsInteger(10, askedQ) && !second.getAsInteger(10, askedKv);
  std::optional<Schedule> best;
  for (int64_t groups = 1; groups <= 3; ++groups)
    for (int64_t kv = 16; kv <= 256; kv += 16) {
      if (isExact && (askedQ != kGroupRows * groups || askedKv != kv))
        continue;
      if (request.warps && request.warps != 4 * groups)
        continue;
      std::optional<Schedule> s = complete(groups, kv);
      if (s && (!best || cost(*s) < cost(*best)))
        best = s;
    }
  return best;
}
} // namespace

std::optional<Schedule> chooseRoles(const ScheduleRequest &request,
                                    const TargetInfo &target) {
  return RoleChooser(request, target).choose();
}
} // namespace flashc
