//===- BackwardSchedule.cpp - Block sizes of gradients on a GPU -----------===//
//
// Used by chooseSchedule. The main kernel keeps a key block's K and V in shared
// memory and dK and dV in registers, and goes over query blocks. Rows of its
// tiles are keys, 16 or 32 for each warp; with fewer, warps share rows and
// split columns, and P passes through shared memory as dS always does.
//
//===----------------------------------------------------------------------===//
#include "BackwardSchedule.h"

#include "ScheduleSpace.h"

#include "flashc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

#include <tuple>

namespace flashc {
namespace {
/// Registers besides the tiles: addresses, fragments of A and B, loop counters.
constexpr int64_t kOthers = 44;
/// What a masked block needs on top, and a score function.
constexpr int64_t kScoreRegisters = 12;
/// Barriers and latencies of a pair of blocks, as bytes of shared memory that
/// could have been read meanwhile.
constexpr double kBlockBytes = 48 * 1024;
/// A block alone on its multiprocessor stops as a whole at its barriers.
constexpr double kAlonePenalty = 1.15;

class BackwardSpace {
public:
  BackwardSpace(const ScheduleRequest &request, const TargetInfo &target)
      : request(request), target(target) {}
  llvm::Expected<Schedule> choose() const;

private:
  std::optional<Schedule> complete(int64_t q, int64_t kv, int64_t stages,
                                   int64_t warps, int64_t warpRows) const;
  std::optional<Schedule> bestOf(int64_t q, int64_t kv) const;
  bool isDealable(const Schedule &s) const;
  int64_t sharedBytes(const Schedule &s) const;
  int64_t registers(const Schedule &s) const;
  double cost(const Schedule &s) const;

  /// Columns of K, and of V.
  int64_t columns(const Schedule &s) const {
    return getBackwardColumns(request.headDim, s);
  }
  int64_t valueColumns(const Schedule &s) const {
    return getBackwardColumns(request.valueHeadDim, s);
  }

  const ScheduleRequest &request;
  const TargetInfo &target;
};

int64_t rowsOf(int64_t rows, const Schedule &s) {
  return std::max<int64_t>(rows / s.warps, s.warpRows);
}
/// Parts that a tile's columns are split into.
int64_t partsOf(int64_t rows, const Schedule &s) {
  return std::max<int64_t>(s.warpRows * s.warps / rows, 1);
}
bool isSplittable(int64_t columns, int64_t parts) {
  return parts == 1 || columns % (kRowStep * parts) == 0;
}

bool BackwardSpace::isDealable(const Schedule &s) const {
  auto isDealt = [&](int64_t rows) {
    int64_t all = s.warpRows * s.warps;
    return rows % all == 0 || (all % rows == 0 && rows % s.warpRows == 0);
  };
  return isDealt(s.q) && isDealt(s.kv) && isSplittable(s.q, partsOf(s.kv, s)) &&
         isSplittable(s.kv, partsOf(s.q, s)) &&
         // Rows of a transposed left factor are columns of dS.
         (rowsOf(s.q, s) <= 64 && llvm::isPowerOf2_64(rowsOf(s.q, s)));
}

int64_t BackwardSpace::sharedBytes(const Schedule &s) const {
  int64_t d = columns(s), dv = valueColumns(s);
  int64_t scores = s.kv * s.q * (partsOf(s.kv, s) > 1 ? 2 : 1);
  return 2 * (s.kv * (d + dv) + s.stages * s.q * (d + dv) + scores);
}

int64_t BackwardSpace::registers(const Schedule &s) const {
  int64_t d = columns(s), dv = valueColumns(s);
  int64_t parts = partsOf(s.kv, s), rows = rowsOf(s.kv, s);
  int64_t sums = rows * (d + dv) / 32 / parts;
  int64_t scores = rows * s.q / 32 / parts;
  int64_t queries = rowsOf(s.q, s) * d / 32 / partsOf(s.q, s);
  bool isSlow = request.hasScore;
  return sums + std::max(2 * scores, scores / 2 + queries) + kOthers +
         (isSlow ? kScoreRegisters : 0);
}

/// Bytes that pass between shared memory and registers for each pair of a query
/// and a key, or that would in the time of barriers.
double BackwardSpace::cost(const Schedule &s) const {
  int64_t d = columns(s), dv = valueColumns(s);
  double warps = double(s.warps), q = double(s.q), kv = double(s.kv);
  auto product = [&](int64_t rows, int64_t columns, int64_t depth,
                     bool isInRegisters) {
    double parts = double(partsOf(rows, s));
    double left = isInRegisters ? 0 : double(rowsOf(rows, s) * depth);
    return 2 * warps * (left + double(columns * depth) / parts);
  };
  bool isWhole = partsOf(s.kv, s) == 1;
  double bytes = product(s.kv, s.q, d, false) + product(s.kv, s.q, dv, false) +
                 product(s.kv, d, s.q, isWhole) +
                 product(s.kv, dv, s.q, isWhole) +
                 product(s.q, d, s.kv, false) + (isWhole ? 2 : 4) * q * kv;
  int64_t resident = std::min<int64_t>(
      target.registersPerSM / (32 * s.warps * llvm::alignTo(registers(s), 8)),
      target.sharedBytesPerSM /
          (s.sharedBytes + target.sharedBytesReservedPerBlock));
  double each =
      (bytes + kBlockBytes / double(std::min<int64_t>(resident, 2))) / (q * kv);
  // dQ's part is added up in memory once for each key block, at a tenth of the
  // pace of shared memory.
  each += 40.0 * double(d) / kv;
  return each * (resident < 2 ? kAlonePenalty : 1.0);
}

std::optional<Schedule> BackwardSpace::complete(int64_t q, int64_t kv,
                                                int64_t stages, int64_t warps,
                                                int64_t warpRows) const {
  Schedule s{q, kv, stages, warps, false, target.sharedBytesPerBlock, warpRows};
  if (!isDealable(s))
    return std::nullopt;
  s.sharedBytes = sharedBytes(s);
  s.registersEstimate = registers(s);
  int64_t most = std::min(target.maxRegistersPerThread,
                          target.registersPerSM / (32 * warps));
  if (s.sharedBytes > s.sram || s.registersEstimate > most)
    return std::nullopt;
  return s;
}

std::optional<Schedule> BackwardSpace::bestOf(int64_t q, int64_t kv) const {
  std::optional<Schedule> best;
  auto isAsked = [](int64_t asked, int64_t value) {
    return asked == 0 || asked == value;
  };
  for (int64_t warps : kWarpCounts)
    for (int64_t warpRows : kWarpRows) {
      if (!isAsked(request.warps, warps) ||
          !isAsked(request.warpRows, warpRows))
        continue;
      // Two slots where they fit: the next block is under way throughout.
      for (int64_t stages : {2, 1}) {
        std::optional<Schedule> s = complete(
            q, kv, request.stages ? request.stages : stages, warps, warpRows);
        if (!s)
          continue;
        if (!best || cost(*s) < cost(*best))
          best = s;
        break;
      }
    }
  return best;
}

llvm::Expected<Schedule> BackwardSpace::choose() const {
  if (request.tiles != "auto" && request.tiles != "paper") {
    int64_t q = 0, kv = 0;
    auto [first, second] = llvm::StringRef(request.tiles).split('x');
    if (first.getAsInteger(10, q) || second.getAsInteger(10, kv))
      return makeError("tiles '{}' are not understood; use auto or QxK such as "
                       "64x128",
                       request.tiles);
    if (q > 0 && kv > 0 && q % kRowStep == 0 && kv % kRowStep == 0)
      if (std::optional<Schedule> s = bestOf(q, kv))
        return *s;
    return makeError("tiles {} do not fit the gradients of head dims {} and {} "
                     "on {} with {} bytes of shared memory and {} registers a "
                     "thread; use auto",
                     request.tiles, request.headDim, request.valueHeadDim,
                     target.arch, target.sharedBytesPerBlock,
                     target.maxRegistersPerThread);
  }
  std::optional<Schedule> best;
  for (int64_t kv : {128, 64, 32, 16})
    for (int64_t q : {128, 64, 32, 16})
      if (std::optional<Schedule> s = bestOf(q, kv))
        if (!best || std::make_tuple(cost(*s), s->sharedBytes) <
                         std::make_tuple(cost(*best), best->sharedBytes))
          best = s;
  if (best)
    return *best;
  return makeError("no tile fits the gradients: with head dims {} and {} each "
                   "needs more than the {} bytes of shared memory of {} or its "
                   "{} registers of a thread; use a target with more{}",
                   request.headDim, request.valueHeadDim,
                   target.sharedBytesPerBlock, target.arch,
                   target.maxRegistersPerThread,
                   request.stages > 1 || request.warps > 0
                       ? ", or leave stages and warps to be chosen"
                       : ", or target cpu");
}
} // namespace

int64_t getBackwardColumns(int64_t dim, const Schedule &schedule) {
  if (schedule.roles) // each warp has rows of its own
    return llvm::alignTo(dim, kTileColumnStep);
  int64_t parts =
      std::max(partsOf(schedule.q, schedule), partsOf(schedule.kv, schedule));
  return llvm::alignTo(dim, kTileColumnStep * parts);
}

llvm::Expected<Schedule> chooseBackward(const ScheduleRequest &request,
                                        const TargetInfo &target) {
  // Warps with roles have blocks of their own.
  if (request.tiles == "auto" && request.warps == 0 && request.warpRows == 0)
    if (std::optional<Schedule> roles = chooseBackwardRoles(request, target))
      return *roles;
  return BackwardSpace(request, target).choose();
}
} // namespace flashc
