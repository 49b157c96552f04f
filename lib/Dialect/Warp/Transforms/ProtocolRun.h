// One run of a kernel's copies, barriers and readers, with the trip count of
// each loop given; for warp-verify-protocol.
#ifndef FLASHC_LIB_DIALECT_WARP_TRANSFORMS_PROTOCOLRUN_H
#define FLASHC_LIB_DIALECT_WARP_TRANSFORMS_PROTOCOLRUN_H

#include "TripCounts.h"
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace flashc::warp {

/// An op of the protocol, or a loop or branch that holds some.
struct Step {
  mlir::Operation *op;
  /// Body of a loop or first arm of a branch, and the second arm.
  std::vector<Step> body, orElse;
};

/// The steps of a kernel in program order, without what does not matter.
std::vector<Step> getSteps(mlir::Block &block);

class ProtocolRun {
public:
  ProtocolRun(KernelOp kernel, llvm::ArrayRef<Step> steps, const Trips &trips);

  /// Fails with an error at the op that breaks the protocol, and a note that
  /// says how often the loops run. Trip counts that the loop bounds
  /// exclude succeed at once.
  mlir::LogicalResult run();

private:
  enum class State { Empty, UnderWay, Arrived, Visible };
  /// A slot of a channel, or a buffer.
  struct Cell {
    mlir::Operation *owner;
    std::optional<int64_t> begin; // in bytes, once offsets are set
    int64_t bytes;
    State state = State::Empty;
    std::optional<int64_t> block = std::nullopt; // held; 0 for a buffer
    size_t group = 0;                            // of the last copy to it
    bool wasGot = false;
    mlir::Operation *reader = nullptr; // since the last barrier
  };
  /// What a buffer value names: a cell, and the block it held when named.
  struct Named {
    size_t cell;
    int64_t block;
  };

  // Block numbers.
  bool bindBounds(llvm::ArrayRef<Step> steps);
  void bindChannels();
  std::optional<int64_t> evaluate(mlir::Value value) const;
  int64_t bind(mlir::Value value, int64_t number);

  // Running.
  mlir::LogicalResult runSteps(llvm::ArrayRef<Step> steps);
  mlir::LogicalResult runStep(const Step &step);
  mlir::LogicalResult open(ChannelOp op);
  mlir::LogicalResult put(PutOp op);
  mlir::LogicalResult get(GetOp op);
  mlir::LogicalResult wait(WaitOp op);
  mlir::LogicalResult copyIn(CopyInOp op);
  mlir::LogicalResult store(StoreOp op);
  mlir::LogicalResult read(mlir::Operation *op, mlir::Value buffer);

  // Cells.
  void addCells(KernelOp kernel);
  size_t getSlot(ChannelOp channel, int64_t block) const;
  mlir::LogicalResult startWrite(mlir::Operation *op, size_t cell);
  void completeGroups(int64_t pending);
  void meet();
  mlir::InFlightDiagnostic fail(mlir::Operation *op);

  KernelOp kernel;
  llvm::ArrayRef<Step> steps;
  const Trips &trips;
  llvm::SmallVector<Cell> cells;
  llvm::DenseMap<mlir::Operation *, size_t> firstCell;
  llvm::DenseMap<mlir::Value, Named> named;
  llvm::DenseMap<mlir::Value, int64_t> numbers;
  /// Block numbers of the loops bound so far end here.
  int64_t position = 0;
  /// The cell of each committed group, if it is not empty.
  llvm::SmallVector<std::optional<size_t>> groups;
  size_t complete = 0;
};

} // namespace flashc::warp

#endif // FLASHC_LIB_DIALECT_WARP_TRANSFORMS_PROTOCOLRUN_H
