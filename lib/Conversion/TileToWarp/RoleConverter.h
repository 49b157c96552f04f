// A tile kernel with roles in its schedule to a warp kernel with roles.
#ifndef FLASHC_LIB_CONVERSION_TILETOWARP_ROLECONVERTER_H
#define FLASHC_LIB_CONVERSION_TILETOWARP_ROLECONVERTER_H

#include "KernelConverter.h"

namespace flashc {

/// Each load and stream becomes a ring. The producer is the kernel's control
/// flow with a send for every load and `next`; the consumer is the kernel with
/// a receive in the same places, so that both go through a ring in one order.
class RoleConverter : public KernelConverter {
public:
  using KernelConverter::KernelConverter;
  mlir::LogicalResult convert() override;

private:
  // Rings.cpp
  mlir::LogicalResult createRings();
  mlir::LogicalResult createRing(mlir::Operation *op,
                                 llvm::ArrayRef<int64_t> shape,
                                 mlir::Type element, int64_t depth,
                                 int64_t parts);
  // Producer.cpp
  mlir::LogicalResult produce();
  mlir::LogicalResult produceBlock(mlir::Block &block);
  mlir::LogicalResult produceOp(mlir::Operation *op);
  // SkippedBlocks.cpp
  mlir::LogicalResult skipBefore(tile::StreamOp op);
  void skipBehind();
  mlir::Value ofAllGroups(mlir::Value value);
  void skipBlocks(mlir::Location loc, mlir::Value from, mlir::Value to);
  // RoleConverter.cpp: the consumer.
  mlir::LogicalResult consume();
  mlir::LogicalResult convertProgram(tile::ProgramOp op) override;
  mlir::LogicalResult convertOwnRows(tile::OwnRowsOp op) override;
  mlir::LogicalResult convertReturn(tile::ReturnOp op) override;
  mlir::LogicalResult convertLoad(tile::LoadOp op) override;
  mlir::LogicalResult convertStream(tile::StreamOp op) override;
  mlir::LogicalResult convertNext(tile::NextOp op) override;
  mlir::LogicalResult convertStore(tile::StoreOp op) override;
  mlir::LogicalResult convertDot(tile::DotOp op) override;
  mlir::Value receive(mlir::Operation *op, mlir::Value ring);

  tile::RolesAttr roles() { return kernel.getSchedule().getRoles(); }
  /// Begins a role whose tiles the builder is in afterwards.
  warp::TilesOp beginRole(warp::RoleKind kind, int64_t registers);

  /// Rings of loads and streams, by the op; the kernel's scalar values from
  /// before the roles are in `values`, which each role starts from.
  llvm::DenseMap<mlir::Operation *, mlir::Value> rings;
  /// The tile's streams of which each group takes blocks of its own, and the
  /// values that stand for all groups.
  llvm::SmallVector<tile::StreamOp, 2> shared;
  mlir::IRMapping whole;
  mlir::Value staging; // where the output leaves from, if it has its own bytes
  mlir::Value query;   // the received buffer of Q
  warp::TilesOp tiles; // of the role that is being built
};

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_TILETOWARP_ROLECONVERTER_H
