// The main kernel of a backward with roles in its schedule to a warp kernel
// with roles.
#ifndef FLASHC_LIB_CONVERSION_TILETOWARP_GRADIENTCONVERTER_H
#define FLASHC_LIB_CONVERSION_TILETOWARP_GRADIENTCONVERTER_H

#include "KernelConverter.h"

namespace flashc {

/// Two roles (docs/decisions/022). The consumer is what dK and dV need of the
/// kernel: each load becomes a receive, and dS goes to a ring that the other
/// role reads. The reducer multiplies dS^T K and adds it up in memory; its
/// first thread sends what the consumer receives, some iterations ahead.
///
/// Where groups share the results (docs/decisions/025), there is a consumer for
/// each: what dV needs, and what dK does. The latter receives the probabilities
/// that the former has, as `weights`.
class GradientConverter : public KernelConverter {
public:
  using KernelConverter::KernelConverter;
  mlir::LogicalResult convert() override;

private:
  /// TMA and wgmma with the 128-byte swizzle: 64 elements of 16 bits.
  static constexpr int64_t kSegment = 64;
  /// Of groups that share the results: the one that has dV, and that of dK.
  static constexpr int64_t kValueGroup = 0, kKeyGroup = 1;
  mlir::LogicalResult findParts();
  void findWeights();
  void createRings();
  mlir::Value createRing(mlir::Location loc, mlir::RankedTensorType tile,
                         int64_t depth, int64_t parts, int64_t values = 0);
  tile::LoadOp findValues(tile::LoadOp load);
  bool isPadded(mlir::Value view);
  void beginRole(warp::RoleKind kind, int64_t registers,
                 std::optional<int64_t> group = {});
  tile::RolesAttr roles() { return kernel.getSchedule().getRoles(); }
  bool isStreamed(tile::LoadOp load);
  bool isCarriedBuffer(mlir::Value tile) {
    return buffers.contains(tile) && !values.contains(tile);
  }

  // The consumers (GradientSlices.cpp: what each one needs).
  mlir::LogicalResult consume(std::optional<int64_t> group);
  bool isShared() { return kernel.getSchedule().isSharedByResults(); }
  bool areSumsStaged();
  int64_t getParts() { return isShared() ? 1 : roles().getGroups(); }
  bool isValueGradient(tile::StoreOp store);
  void findNeeded();
  void needOp(mlir::Operation *op);
  void needValue(mlir::Value value);
  bool isCarried(mlir::BlockArgument argument) {
    return carried.contains(argument) && !isLate(argument);
  }
  bool isLate(tile::LoadOp load);
  bool isLate(mlir::BlockArgument argument);
  mlir::Value receive(mlir::Location loc, mlir::Value ring);
  mlir::LogicalResult convertOp(mlir::Operation *op) override;
  void sendWeights();
  void receiveWeights();
  mlir::LogicalResult convertReturn(tile::ReturnOp op) override;
  mlir::LogicalResult convertFor(mlir::scf::ForOp op) override;
  mlir::LogicalResult convertYield(mlir::scf::YieldOp op) override;
  mlir::LogicalResult convertLoad(tile::LoadOp op) override;
  mlir::LogicalResult convertStore(tile::StoreOp op) override;
  mlir::LogicalResult convertDot(tile::DotOp op) override;
  mlir::LogicalResult storeForProducts(mlir::Operation *op,
                                       mlir::Value tile) override;
  void commitScores(mlir::Location loc);

  // The reducer (Reducer.cpp).
  /// A pair's place: what the loop carries of indices.
  using Coordinates = llvm::SmallVector<mlir::Value>;
  /// A ring that is filled in the loop: its load, and how many pairs ahead of
  /// the products that is.
  struct Ahead {
    tile::LoadOp load;
    int64_t pairs;
  };
  /// Where a pair's sums go.
  struct Target {
    mlir::Value head, row;
    mlir::Value follows; // null: additions are in any order
  };
  struct Part {
    int64_t row, column, columns;
  };
  mlir::LogicalResult reduce();
  void sendBlock(tile::LoadOp load, mlir::IRMapping &scalars);
  void sendIf(mlir::Value more, tile::LoadOp load, const Coordinates &at);
  mlir::Value cloneScalar(mlir::Value value, mlir::IRMapping &scalars);
  Coordinates advance(const Coordinates &at);
  Coordinates advance(Coordinates at, int64_t times);
  void mapCoordinates(const Coordinates &at, mlir::IRMapping &scalars);
  llvm::SmallVector<Ahead> findAhead();
  mlir::Value less(mlir::Value x, mlir::Value y);
  Target targetOf(const Coordinates &at);
  llvm::SmallVector<Part> splitSums();
  size_t getSendPart(tile::LoadOp load, size_t last);
  int64_t getPartColumns();
  int64_t getSumSlots();
  mlir::Value rowOf(const Part &part, const Target &target);
  void sendSums(const Part &part, int64_t slot, const Target &target);
  void addPacked(mlir::Value product, const Part &part, const Target &target);
  void beginSums(const Target &target);
  void endSums(const Target &target);
  void buildReducerLoop();

  mlir::scf::ForOp loop;
  tile::AccumulateOp accumulate;
  mlir::Value blockNumber; // of the program
  tile::DotOp ofQueries;
  /// Rings of loads, by the op.
  llvm::DenseMap<mlir::Operation *, mlir::Value> rings;
  /// A value for each of a streamed load's rows: the load of these that comes
  /// with it, and the other way round.
  llvm::DenseMap<mlir::Operation *, tile::LoadOp> valuesOf, rowsOf;
  /// Of a kernel whose groups share the results: the one that has a role now,
  /// and the 16-bit P, or multiple of it, that passes from the first one.
  std::optional<int64_t> groupNow;
  mlir::Value weights, weightRing;
  /// What the consumer now needs: ops, and arguments of the loop.
  llvm::DenseSet<mlir::Operation *> needed;
  llvm::DenseSet<mlir::Value> carried;
  llvm::SmallVector<mlir::Value> toVisit;
  mlir::Value keyRing, valueRing, scoreRing, staging;
  mlir::Value scoreBuffer; // what was stored of dS and is not committed
};

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_TILETOWARP_GRADIENTCONVERTER_H
