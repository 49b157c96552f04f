// One run of a kernel's roles together, with the trip count of each loop given;
// for warp-verify-protocol.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_ROLERUN_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_ROLERUN_H

#include "RoleProgram.h"
#include "TripCounts.h"

namespace flashc::warp {

/// The producer (or reducer) and each consumer warpgroup are agents: one runs
/// until it has to wait, then the next one does. Whatever they wait for stays
/// true once it is, so the order in which they run changes no result. (A
/// warpgroup is one agent since its four warps run the same code.)
class RoleRun {
public:
  RoleRun(KernelOp kernel, const RoleProgram &producer,
          llvm::ArrayRef<RoleProgram> consumers, llvm::ArrayRef<RingOp> rings);

  /// Fails with an error at the op that breaks the protocol, and a note that
  /// says how often the loops run.
  mlir::LogicalResult run(const Trips &trips);

private:
  enum class Outcome { Done, Blocked, Failed };

  struct Ring {
    RingOp op;
    int64_t depth, parts;
    int64_t firstSlot;                  // among the slots of all rings
    llvm::SmallVector<int64_t, 4> sent; // blocks, of each part
    mlir::Operation *lastSend = nullptr;
    /// Who receives it.
    llvm::SmallPtrSet<const RoleProgram *, 4> readers = {};
  };
  /// A ring's slot as one warpgroup sees it.
  struct Slot {
    int64_t use = -1; // position in the ring of the block last received
    bool isHeld = false;
    int64_t releases = 0;
    int64_t product = -1; // the last one that reads it
    mlir::Operation *receive = nullptr, *release = nullptr, *writer = nullptr;
    bool isAcquired = false;  // to be written, and not to be read
    bool isReclaimed = false; // and not to be handed over
  };
  struct Agent {
    const RoleProgram *program;
    int64_t group; // -1 for the producer
    size_t pc = 0;
    std::vector<int64_t> registers = {};
    std::vector<int64_t> trips = {}, tripsLeft = {}; // of its loops
    // Of each ring, blocks received, and sent (or acquired to be).
    std::vector<int64_t> position = {}, sends = {};
    int64_t part = 0;             // of the send under way, its next copy
    std::vector<Slot> slots = {}; // of all rings
    std::vector<mlir::Operation *> products = {}; // in order of issue
    int64_t complete = 0;                         // how many of these are
    int64_t turnsAwaited = 0, turnsPassed = 0;
    mlir::Operation *turn = nullptr;            // the last op on a turn
    std::vector<mlir::Operation *> staged = {}; // what holds a staging slot
    int64_t sums = 0;                           // slots sent so far
    std::vector<int64_t> sentSums = {};         // the last of them, each slot

    bool isAtEnd() const { return pc == program->code.size(); }
    bool hasTurn() const { return turnsAwaited > turnsPassed; }
  };

  // Running (RoleRun.cpp).
  void start(const Trips &trips);
  void countTrips(Agent &agent);
  Outcome step(Agent &agent);
  void copy(Agent &agent, const Instruction &next);
  void compute(Agent &agent, const Instruction &next);
  void repeat(Agent &agent, const Instruction &next);
  mlir::LogicalResult reportDeadlock();
  std::string describeWait(const Agent &agent) const;
  std::string getName(const Agent &agent) const;
  mlir::InFlightDiagnostic fail(mlir::Operation *op);

  // Slots (RoleSlots.cpp).
  mlir::LogicalResult checkPosition(Agent &agent, const Instruction &next,
                                    int64_t use);
  Outcome send(Agent &agent, const Instruction &next);
  Outcome receive(Agent &agent, const Instruction &next);
  Outcome skip(Agent &agent, const Instruction &next);
  Outcome acquire(Agent &agent, const Instruction &next);
  Outcome reclaim(Agent &agent, const Instruction &next);
  mlir::LogicalResult commit(Agent &agent, const Instruction &next);
  mlir::LogicalResult release(Agent &agent, const Instruction &next);
  mlir::LogicalResult read(Agent &agent, mlir::Operation *op, int64_t buffer);
  mlir::LogicalResult write(Agent &agent, const Instruction &next);
  mlir::LogicalResult checkHeld(Agent &agent, mlir::Operation *op,
                                int64_t buffer, llvm::StringRef what);
  mlir::LogicalResult checkSlotsAtEnd();
  Outcome failTaken(mlir::Operation *op, const Slot &slot,
                    llvm::StringRef text);
  size_t getSlot(int64_t ring, int64_t use) const;
  /// Who has yet to release what the part's slot holds, or null.
  const Agent *getReaderOf(int64_t ring, int64_t use, int64_t part) const;
  bool reads(const Agent &agent, const Ring &ring, int64_t part) const;
  bool isReadByOthers(const Agent &agent, const Ring &ring) const;
  /// The part of a ring's slots that the group writes.
  int64_t getPart(const Agent &agent, const Ring &ring) const {
    return ring.parts > 1 ? agent.group : 0;
  }
  bool isFull(const Agent &agent, const Ring &ring, int64_t use) const;

  // Products and turns (RoleProducts.cpp).
  mlir::LogicalResult product(Agent &agent, const Instruction &next);
  mlir::LogicalResult settle(Agent &agent, const Instruction &next);
  mlir::LogicalResult checkSettled(Agent &agent, mlir::Operation *scope);
  Outcome awaitTurn(Agent &agent, const Instruction &next);
  mlir::LogicalResult passTurn(Agent &agent, const Instruction &next);
  mlir::LogicalResult checkTurnsAtEnd();
  mlir::LogicalResult stageSums(Agent &agent, const Instruction &next);
  mlir::LogicalResult sendSums(Agent &agent, const Instruction &next);
  mlir::LogicalResult checkSumsAtEnd();
  bool mayTakeTurn(const Agent &agent) const;
  int64_t getGroupBefore(int64_t group) const;

  KernelOp kernel;
  std::vector<Ring> rings;
  int64_t numSlots = 0;        // of all rings
  std::vector<Agent> agents;   // who loads, then the groups
  std::vector<int64_t> copied; // room for `copy`
  const Trips *trips = nullptr;
};

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_ROLERUN_H
