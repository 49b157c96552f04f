// One tile.kernel on its way to a func.func: the state that the files of
// convert-tile-to-cpu share.
#ifndef FLASHC_LIB_CONVERSION_TILETOCPU_EMITTER_H
#define FLASHC_LIB_CONVERSION_TILETOCPU_EMITTER_H

#include "Buffers.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace flashc::cpu {

/// Columns of the right factor of a product are kept in panels of
/// `vectors * lanes` columns, K rows each; `rows` x `vectors` accumulators stay
/// in registers while the inner loop runs over K.
struct Blocking {
  int64_t rows, vectors;
};

/// The shape with the most products a load among those that divide the result
/// (m x n, multiples of 16) and fit the registers.
Blocking chooseBlocking(int64_t m, int64_t n, int64_t lanes);

class Emitter {
public:
  Emitter(tile::KernelOp kernel, int64_t vectorBits);
  /// The function, put before the kernel, which stays. Fails after an error at
  /// the op that has no form on the CPU.
  mlir::FailureOr<mlir::func::FuncOp> emit();

private:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Operation = mlir::Operation;
  template <typename T> using ArrayRef = llvm::ArrayRef<T>;
  using Result = mlir::LogicalResult;

  // Emitter.cpp: the function and its control flow.
  Result emitBlock(mlir::Block &block);
  Result emitOp(Operation *op);
  Result emitFor(mlir::scf::ForOp op);
  Result emitIf(mlir::scf::IfOp op);
  llvm::SmallVector<Buffer *> chooseTargets(mlir::scf::IfOp op);
  void emitYield(Operation *yield, ArrayRef<Buffer *> targets);
  void bindResults(Operation *from, Operation *to, ArrayRef<Buffer *> targets);
  void emitProgram(tile::ProgramOp op);
  void addGrid(llvm::SmallVectorImpl<mlir::NamedAttribute> &facts);
  void emitOwnRows(tile::OwnRowsOp op);
  Result cloneScalarOp(Operation *op);

  // Places.cpp: tiles and their buffers.
  mlir::MemRefType bufferType(mlir::RankedTensorType tile);
  Buffer *claim(mlir::MemRefType type, Operation *at);
  void releaseClaims();
  void settle(Value tile, Buffer *buffer);
  Buffer *home(Value tile) { return homes.lookup(tile); }
  std::optional<mlir::TypedAttr> splat(Value tile);
  /// A buffer that holds `tile`, kept or copied, and may be overwritten by
  /// `op`.
  Buffer *takeOver(Value tile, Operation *op);
  /// The buffer of a tile for reading; a constant gets one.
  Buffer *readable(Value tile, Operation *op);
  struct Move {
    Value tile;
    Buffer *to;
  };
  void emitMoves(llvm::SmallVector<Move> moves, Operation *at);
  void emitMove(Value tile, Buffer *to);
  void emitFill(Value memref, mlir::TypedAttr value);

  // Memory.cpp: global memory.
  Result emitLoad(tile::LoadOp op);
  Result emitNext(tile::NextOp op);
  Result emitStore(tile::StoreOp op);
  struct Source {
    Value view, batch, head, row, limit;
  };
  using StoreRow =
      llvm::function_ref<void(Value row, int64_t column, Value vector)>;
  void emitFetch(const Source &from, Value tile, Operation *op);
  void emitRows(const Source &from, int64_t rows, int64_t columns,
                StoreRow store);
  void emitStoreRows(Buffer *from, tile::StoreOp op, Value count);
  void emitStoreScalars(Buffer *from, tile::StoreOp op, Value count);
  void emitAccumulate(tile::AccumulateOp op);
  void emitRowValues(tile::LoadOp op);
  Value clampedRows(Value view, Value row, Value limit, int64_t rows);

  // Dot.cpp: products.
  Result emitDot(tile::DotOp op);
  /// acc (or 0) + a * packed, buffers all, or with `transposed` the transpose
  /// of a; with `skipZeros` a zero of `a` adds nothing, whatever it meets.
  struct Product {
    Value a, packed, acc;
    bool fromZero, skipZeros, transposed;
  };
  void emitProduct(const Product &product, Blocking blocking);
  llvm::SmallVector<Value> emitDepth(const Product &product, Blocking blocking,
                                     Value panel, Value row,
                                     ArrayRef<Value> sums);
  Value addProduct(Value left, Value right, Value sum, Value isZero);
  Value anyNotFinite(Value packed);
  mlir::MemRefType packedType(tile::DotOp op);
  /// The dot whose packed right factor `tile` is and nothing else, or null.
  tile::DotOp onlyPackedFor(Value tile);
  void emitPack(Value plain, Value packed);
  void emitPackTransposed(Value plain, Value packed);
  llvm::SmallVector<Value> transpose(llvm::SmallVector<Value> rows);

  // Map.cpp, Reduce.cpp
  Result emitMap(tile::MapOp op);
  Result emitScatter(tile::ScatterOp op);
  void emitReduce(tile::ReduceOp op);
  void emitAny(tile::AnyOp op);
  void emitAnyAbove(tile::AnyAboveOp op);
  void emitAnyNotFinite(tile::AnyNotFiniteOp op);
  /// Whether `test` (row, vector -> vector of i1) holds anywhere in a tile.
  mlir::Value
  emitAnyOf(mlir::Value tile,
            llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> test);
  Value foldLanes(Value vector, tile::ReduceKind kind);
  Value combine(Value a, Value b, tile::ReduceKind kind);

  // Values.cpp: what every file needs.
  Value index(int64_t value);
  Value add(Value a, Value b);
  mlir::VectorType vectorOf(Type element, int64_t count = 0);
  Value loadVector(Value memref, mlir::ValueRange indices, Type element = {});
  void storeVector(Value vector, Value memref, mlir::ValueRange indices);
  /// for %i = 0 to count step step
  void loop(Value count, int64_t step, llvm::function_ref<void(Value)> body);
  void loop(int64_t count, int64_t step, llvm::function_ref<void(Value)> body);

  friend class MapEmitter;

  tile::KernelOp kernel;
  mlir::ImplicitLocOpBuilder b;
  mlir::func::FuncOp func;
  int64_t lanes;
  mlir::IRMapping scalars;
  llvm::DenseMap<Value, Buffer *> homes;
  llvm::SmallVector<Buffer *> claims;
  std::optional<BufferPool> pool;
};

// HalfFloats.cpp: a 16-bit float is held as the f32 of the same value. All take
// scalars and vectors.

/// f16 or bf16, alone or the elements of a vector.
bool isHalfFloat(mlir::Type type);
/// f32 for a 16-bit float, else the type itself.
mlir::Type heldType(mlir::Type type);
/// From a value as memory has it.
mlir::Value hold(mlir::ImplicitLocOpBuilder &b, mlir::Value value);
/// To memory's type; `held` is a value of it.
mlir::Value unhold(mlir::ImplicitLocOpBuilder &b, mlir::Value held,
                   mlir::Type element);
/// The nearest value of the 16-bit type `element` (ties to even), held; f32 is
/// returned as it is.
mlir::Value roundTo(mlir::ImplicitLocOpBuilder &b, mlir::Value value,
                    mlir::Type element);

} // namespace flashc::cpu

#endif // FLASHC_LIB_CONVERSION_TILETOCPU_EMITTER_H
