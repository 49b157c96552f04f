//===- ScheduleCost.cpp - What a schedule costs, by a model ---------------===//
//
// Used by chooseSchedule to rank what fits. The unit is cycles of one
// multiprocessor for each score. Four pipes work at once: tensor cores, shared
// memory, scalar units and the L2; the busiest sets the pace, and of the others
// the more stays hidden the more independent work is resident. On top come a
// fixed time for each key block (barriers, the vote on the maxima) and the
// scores computed for nothing at the diagonal and the tails.
//
// The constants are those of the sm_80 whitepaper where it gives them; the rest
// is set so that the shapes measured best on an H200 (128x128 or, masked,
// 128x96 at d = 64; 128x64 at 96; 128x48 at 128, the largest without a spill)
// and FlashAttention-2's on A100 (128x64 with 8 warps beyond) come out first.
// The unit test holds them in place.
//
//===----------------------------------------------------------------------===//
#include "ScheduleCost.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace flashc {
namespace {
constexpr double kSharedBytesPerCycle = 128;
constexpr double kL2BytesPerCycle = 48; // of one multiprocessor's share
/// max, fma, add, half a conversion and moves on 128 lanes; exp2 on 16.
constexpr double kScalarCyclesPerScore = 6.0 / 128 + 1.0 / 16;
/// Shuffles, subtraction, compare and vote of one row, spread over its scores.
constexpr double kScalarCyclesPerRow = 2.4;
/// Barriers and latencies of one key block; a second resident block fills part.
constexpr double kBlockCyclesAlone = 160, kBlockCyclesShared = 100;
/// Half a block of the typical length is computed and masked away.
constexpr double kKeysOfWaste = 2048, kRowsOfWaste = 4096;
/// A block alone stops as a whole at its barriers.
constexpr double kAlonePenalty = 1.25;
constexpr int64_t kSchedulers = 4, kRegisterGranule = 8;

/// Multiply-adds of the tensor cores of one multiprocessor in one cycle.
double tensorRate(const TargetInfo &target) {
  return target.sm == 80 || target.sm >= 90 ? 1024 : 512;
}
} // namespace

int64_t getResidentBlocks(const Schedule &schedule, const TargetInfo &target) {
  int64_t registers =
      llvm::alignTo(schedule.registersEstimate, kRegisterGranule) * 32 *
      schedule.warps;
  int64_t shared = schedule.sharedBytes + target.sharedBytesReservedPerBlock;
  return std::min({target.registersPerSM / registers,
                   target.sharedBytesPerSM / shared,
                   target.maxWarpsPerSM / schedule.warps});
}

double getCost(const ScheduleRequest &request, const Schedule &schedule,
               const TargetInfo &target) {
  double d = double(llvm::alignTo(request.headDim, kTileColumnStep));
  double dv = double(llvm::alignTo(request.valueHeadDim, kTileColumnStep));
  double q = double(schedule.q), kv = double(schedule.kv);
  double rowsPerWarp = q / double(schedule.warps);
  double elementBytes = 2;
  double keyBytes = (d + dv) * elementBytes; // of one key and its value

  double tensor = (d + dv) / tensorRate(target);
  // K and V are read once a warp, Q once a key block unless it stays; and the
  // copies write K and V once a block.
  double queryBytes = schedule.qInRegisters ? 0 : d * elementBytes / kv;
  double shared = (keyBytes / rowsPerWarp + queryBytes + keyBytes / q) /
                  kSharedBytesPerCycle;
  double scalar = kScalarCyclesPerScore + kScalarCyclesPerRow / kv;
  double l2 = keyBytes / q / kL2BytesPerCycle;

  double sum = tensor + shared + scalar + l2;
  double busiest = std::max({tensor, shared, scalar, l2});
  bool alone = getResidentBlocks(schedule, target) < 2;
  // Sixteen rows are one chain of dependent products.
  double chains =
      double(getResidentBlocks(schedule, target)) * q / 16 / kSchedulers;
  double exposed = std::min(1.0, (alone ? kAlonePenalty : 1.0) / chains);
  double cycles = busiest + exposed * (sum - busiest);
  double waste = 1 + kv / kKeysOfWaste + q / kRowsOfWaste;
  // Lengths are mostly multiples of a power of two.
  if (!llvm::isPowerOf2_64(schedule.kv))
    waste += kv / (2 * kKeysOfWaste);
  return cycles * waste +
         (alone ? kBlockCyclesAlone : kBlockCyclesShared) / (q * kv);
}
} // namespace flashc
