// The protocol of one role as a flat list of instructions, so that it can be
// run many times; for warp-verify-protocol.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_ROLEPROGRAM_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_ROLEPROGRAM_H

#include "flashc/Dialect/Warp/IR/Warp.h"

#include "llvm/ADT/DenseMap.h"

#include <limits>
#include <optional>
#include <vector>

namespace flashc::warp {

/// A register whose value is not known here: no number, no received slot.
constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min();

struct Instruction {
  enum class Kind {
    Send,    // in: stage, phase; number: the ring
    Receive, // in: stage, phase; out: the buffer; number: the ring
    Skip,    // in: stage, phase; number: the ring
    Acquire, // in: stage, phase; out: the buffer; number: the ring
    Reclaim, // out: the buffer; number: the ring
    Commit,  // in: the buffer
    Release, // in: the buffer
    Read,    // in: buffers
    Write,   // in: the buffer
    Product, // in: buffers; out: the result
    Settle,  // in: results of products; number: how many stay under way
    Await,
    Pass,
    Stage,    // number: the slot of the staging room
    SendSums, // number: the slot
    Advance,  // in and out: stage, phase; number: the depth
    Compute,  // in: operands of an arith op; out: its result
    Branch,   // in: the condition; target: behind what it guards
    Copy,     // in to out, all at once
    Enter,    // number: the loop; target: behind the loop
    Repeat,   // number: the loop; target: its first instruction
    End
  };
  Kind kind;
  mlir::Operation *op;
  llvm::SmallVector<unsigned, 2> in, out;
  int64_t number = 0;
  size_t target = 0;
};

/// A loop or `warp.tiles` that holds ops of the protocol.
struct RoleLoop {
  mlir::Operation *op;
  /// How many of the role's loops it stands in.
  int64_t nesting;
  /// Does it send or receive, or hand out tiles? Then the other role has its
  /// like.
  bool isShared;
  /// Does it let blocks pass that other groups read? Then it stands for trips
  /// of the producer's other loops.
  bool skips;
  /// The trip count, where it is no choice.
  std::optional<int64_t> fixed;
  /// The loop whose choice it follows: itself, or its like.
  mlir::Operation *choice;
  /// Registers of the number of trips before this one, if it counts up from
  /// zero, and of its end.
  std::optional<unsigned> trip, end;
};

struct RoleProgram {
  RoleOp role;
  std::vector<Instruction> code;
  /// Initial values.
  std::vector<int64_t> registers;
  std::vector<RoleLoop> loops;
};

/// Numbers of the kernel's rings.
using RingNumbers = llvm::DenseMap<mlir::Operation *, int64_t>;

/// Tiles that a run hands out: a slot that is used once a tile is then used in
/// both phases and a second time in the first.
constexpr int64_t kTiles = 3;

/// Fails with an error where the protocol cannot be followed, or a product's
/// result is touched other than through a settle.
mlir::FailureOr<RoleProgram> getRoleProgram(RoleOp role,
                                            const RingNumbers &rings);

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_ROLEPROGRAM_H
