//===- Schedule.h - Tile sizes from a target's budgets ----------*- C++ -*-===//
//
// The one place where block sizes, ring depths and warps are chosen: a pure
// function of (request, target), so that equal requests give equal kernels.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_ANALYSIS_SCHEDULE_H
#define FLASHC_ANALYSIS_SCHEDULE_H

#include "flashc/Support/TargetInfo.h"

#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>
#include <string>

namespace flashc {

enum class ElementKind { F16, BF16, F32 };

/// What a schedule depends on, besides the target.
struct ScheduleRequest {
  int64_t headDim = 0;
  int64_t valueHeadDim = 0;
  ElementKind element = ElementKind::F16;
  /// Whether scalar code runs on every score.
  bool hasScore = false;
  /// Whether that code reads positions or captured arrays in another way than
  /// as a bias by distance (ALiBi): it needs registers of its own.
  bool isPositional = false;
  /// Whether it is such a bias: key blocks come nearest first, for all groups.
  bool isDistance = false;
  /// Whether some key blocks are masked: their code needs registers for it.
  bool isMasked = false;
  /// Whether gradients are computed, and if so the same bits in every run.
  bool isBackward = false;
  bool isDeterministic = false;
  /// Whether the visible pairs are one convex set, so that the key blocks which
  /// some query block sees are a run without a gap.
  bool isConvex = true;
  /// Of gradients with a score function: whether a score's is the new score's
  /// times a factor, and whether some capture's is summed up beside dK and dV.
  bool hasFactor = true;
  bool sumsCaptures = false;
  /// Whether each batch has its own number of keys.
  bool hasKeyLengths = false;
  /// The keys that row i sees, i - left to i + right, where the mask is a band;
  /// -1: no bound on that side. A mask with neither is taken to be causal, and
  /// so is every mask where `length` is 0: equal masks get equal kernels.
  int64_t left = -1;
  int64_t right = -1;
  /// "auto", "paper" or "QxK" (rows of a query block x rows of a key block).
  std::string tiles = "auto";
  /// Depth of the K and V rings, and warps of a block; 0: chosen.
  int64_t stages = 0;
  int64_t warps = 0;
  /// The fewest rows of a tile that a warp of a backward has; 0: chosen.
  int64_t warpRows = 0;
  /// Bytes that addresses and strides are multiples of; 0: 16.
  int64_t alignment = 0;
  /// Queries and keys of the problems that the choice is made for, 0: 4096. The
  /// kernel takes any.
  int64_t length = 0;
};

/// When the accumulator follows a new row maximum, as `#tile.roles` has it.
enum class RescaleKind { Lazy, Late, Always, Test };

/// `#tile.roles` as a plain struct.
struct RoleChoices {
  int64_t groups = 0;
  int64_t producerRegisters = 0;
  int64_t consumerRegisters = 0;
  bool overlap = true;
  bool turns = false;
  RescaleKind rescale = RescaleKind::Lazy;
  bool apart = false;
  bool ahead = false;
  bool skip = false;

  bool operator==(const RoleChoices &) const = default;
};

/// `#tile.schedule` as a plain struct, with what it was found to need.
struct Schedule {
  int64_t q = 0;
  int64_t kv = 0;
  int64_t stages = 1;
  int64_t warps = 1;
  bool qInRegisters = false;
  /// The budget in bytes that the choice was made under.
  int64_t sram = 0;
  /// The fewest rows of a tile that a warp has; where a tile has fewer for each
  /// warp, several share rows and split its columns (a backward only).
  int64_t warpRows = 16;
  /// Bytes of on-chip memory of one block, of which at most `sram`.
  int64_t sharedBytes = 0;
  /// 32-bit registers a thread needs by estimate; 0 on the CPU.
  int64_t registersEstimate = 0;
  /// Whether and how the block's warps have roles.
  std::optional<RoleChoices> roles = std::nullopt;
};

/// Columns of every tile are padded to this, the K of one tensor core step.
constexpr int64_t kTileColumnStep = 16;

/// Columns of tiles of a backward that are `dim` wide: padded so that they can
/// be dealt to the warps that have no rows of their own.
int64_t getBackwardColumns(int64_t dim, const Schedule &schedule);

/// Bytes of on-chip memory of a block with these tiles. On a GPU: Q (O leaves
/// through the same place) and the two rings. On the CPU: what one query block
/// keeps in a core's L2 (Q, one K and V block, S and O in f32), or what a pair
/// of blocks of the backward does (Q, dO, K, V, dQ, dK, dV, and S, P, dP, dS).
int64_t getSharedBytes(const ScheduleRequest &request, const Schedule &schedule,
                       bool isCPU);

/// 32-bit registers of one thread on the mma.sync path: the fragments of S, O
/// and, if kept, Q, and a fixed number for rows, addresses and B fragments. P
/// is not counted: it takes S's place as S is consumed.
int64_t estimateRegisters(const ScheduleRequest &request,
                          const Schedule &schedule);

/// The same with room for what ptxas keeps in flight: at or below the register
/// limit, ptxas 13.0 was seen to spill nothing. "auto" chooses by this one,
/// while "QxK" may spill a few bytes if it is asked to.
int64_t estimateRegistersWithoutSpill(const ScheduleRequest &request,
                                      const Schedule &schedule);

/// The schedule for `request` on `target`.
/// * "auto": of all candidates that fit both budgets, the cheapest by the cost
///   model in ScheduleCost.h; equal costs go to the smaller block.
/// * "paper": Bc = ceil(M / 4d) and Br = min(Bc, d) with M in elements and d
/// the
///   larger head dim (FlashAttention, Algorithm 1), rounded down to multiples
///   of 16, then Bc halved until everything fits.
/// * "QxK": as asked, or an error that names the bytes (or registers) over
///   budget and the nearest shape that fits.
/// Fails too on an element type the target lacks and where no tile at all fits.
llvm::Expected<Schedule> chooseSchedule(const ScheduleRequest &request,
                                        const TargetInfo &target);

} // namespace flashc

#endif // FLASHC_ANALYSIS_SCHEDULE_H
