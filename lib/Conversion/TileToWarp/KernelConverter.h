// One tile kernel to one warp kernel; used by convert-tile-to-warp only.
#ifndef FLASHC_LIB_CONVERSION_TILETOWARP_KERNELCONVERTER_H
#define FLASHC_LIB_CONVERSION_TILETOWARP_KERNELCONVERTER_H

#include "PartialRows.h"

#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace flashc {

/// Rebuilds a kernel op by op in program order. A walk and not a set of
/// patterns: whether a value is partial, and whether a tile is read from shared
/// memory or from registers, follows from all its uses and not from its type.
class KernelConverter {
public:
  KernelConverter(tile::KernelOp kernel, PartialRows partial)
      : kernel(kernel), partial(std::move(partial)),
        builder(kernel.getContext()) {}

  virtual ~KernelConverter() = default;

  /// Puts the warp kernel before the tile kernel; on failure what was built so
  /// far is left for the caller's module to be thrown away.
  virtual mlir::LogicalResult convert();

protected:
  /// The warp kernel, empty but for its arguments, which stand for the tile
  /// kernel's; the builder is at its end.
  warp::KernelOp createKernel(std::optional<int64_t> groups = {},
                              bool turns = false);
  mlir::LogicalResult convertBlock(mlir::Block &block);
  virtual mlir::LogicalResult convertOp(mlir::Operation *op);
  mlir::LogicalResult cloneScalar(mlir::Operation *op);
  virtual mlir::LogicalResult convertProgram(tile::ProgramOp op);
  virtual mlir::LogicalResult convertOwnRows(tile::OwnRowsOp op);
  /// Says in `mapping` that the op's rows are the `rows` from `first` on.
  void mapRows(tile::OwnRowsOp op, mlir::Value first, int64_t rows,
               mlir::IRMapping &mapping);
  virtual mlir::LogicalResult convertReturn(tile::ReturnOp op);
  // Control flow.
  virtual mlir::LogicalResult convertFor(mlir::scf::ForOp op);
  mlir::LogicalResult convertIf(mlir::scf::IfOp op);
  virtual mlir::LogicalResult convertYield(mlir::scf::YieldOp op);
  // Memory.
  virtual mlir::LogicalResult convertLoad(tile::LoadOp op);
  void awaitLoads(mlir::Operation *user);
  virtual mlir::LogicalResult convertStream(tile::StreamOp op);
  virtual mlir::LogicalResult convertNext(tile::NextOp op);
  virtual mlir::LogicalResult convertStore(tile::StoreOp op);
  // Of tiles that are computed again (ConvertRedo.cpp).
  mlir::LogicalResult convertFetch(tile::LoadOp op);
  mlir::LogicalResult convertRedoDot(tile::DotOp op);
  // Computing.
  mlir::LogicalResult convertConstant(mlir::arith::ConstantOp op);
  virtual mlir::LogicalResult convertDot(tile::DotOp op);
  /// `to` gets one block: the scalar code of `from` with converted arguments.
  void cloneElements(mlir::Block &from, mlir::Region &to);
  mlir::LogicalResult convertMap(tile::MapOp op);
  mlir::LogicalResult convertReduce(tile::ReduceOp op);
  mlir::LogicalResult convertCollect(tile::CollectOp op);
  mlir::LogicalResult convertAny(tile::AnyOp op);
  mlir::LogicalResult convertAnyNotFinite(tile::AnyNotFiniteOp op);
  mlir::LogicalResult convertAnyAbove(tile::AnyAboveOp op);
  // Between global memory and registers (ConvertSums.cpp).
  bool isPacked(mlir::Value view);
  mlir::LogicalResult convertLoadToFragment(tile::LoadOp op);
  virtual mlir::LogicalResult convertAccumulate(tile::AccumulateOp op);
  void addPackedRows(tile::AccumulateOp op);
  mlir::LogicalResult convertScatter(tile::ScatterOp op);

  /// The types of fragments and buffers for a tile; null, with an error at
  /// `op`, where the tile has no such form.
  warp::FragmentType fragmentType(mlir::Operation *op, mlir::Type tile,
                                  bool isPartial);
  warp::BufferType bufferType(mlir::Operation *op, mlir::Value tile);
  int64_t segmentOf(mlir::Value tile);
  /// The converted type of any value: tiles to fragments, scalars as they are.
  mlir::Type convertType(mlir::Value value);
  mlir::LogicalResult convertTypes(mlir::ValueRange values,
                                   llvm::SmallVectorImpl<mlir::Type> &types);

  /// The fragment (or scalar) that stands for `value`; a constant gives the
  /// fragment that is partial or plain as asked.
  mlir::Value lookup(mlir::Value value, bool isPartial = false);
  mlir::SmallVector<mlir::Value> lookupAll(mlir::ValueRange values);
  /// Does some use need this loaded tile in registers?
  bool isReadAsFragment(mlir::Value tile);
  /// Has a warp fewer than 16 of the tile's rows, and so not all columns?
  bool isDealtByColumns(mlir::Value tile);
  /// Does a product read this computed tile from shared memory? So it does if
  /// it reads it transposed, and if a warp has fewer than 16 rows of it.
  bool isReadFromShared(mlir::Value tile);
  mlir::Value getStoreBuffer(mlir::Operation *op, warp::BufferType type);
  /// Puts such a tile there; a product waits for it.
  virtual mlir::LogicalResult storeForProducts(mlir::Operation *op,
                                               mlir::Value tile);

  tile::KernelOp kernel;
  PartialRows partial;
  mlir::OpBuilder builder;
  mlir::IRMapping values;
  /// Tiles in shared memory, by their tile-level value.
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;
  /// Of these, tiles that were stored and that no barrier has shown to all.
  llvm::SmallPtrSet<mlir::Value, 4> stored;
  llvm::DenseMap<std::pair<mlir::Block *, mlir::Type>, int64_t> storeCounts;
  llvm::DenseMap<std::pair<mlir::Type, int64_t>, mlir::Value> storeBuffers;
  /// Rows of the tiles that column values belong to.
  int64_t columnsOf = 0;
  /// Loads whose copy is started and not yet waited for.
  llvm::SmallVector<tile::LoadOp> started;
};

/// The rows of the tiles that have the kernel's column values, of which there
/// is one number; 0 for none.
mlir::FailureOr<int64_t> findColumnsOf(tile::KernelOp kernel);

/// The largest segment of a buffer whose rows have `columns` elements, dealt to
/// `parts` groups of warps that have whole segments or share one.
int64_t getSegment(int64_t columns, int64_t parts = 1);

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_TILETOWARP_KERNELCONVERTER_H
