// The state of one kernel's lowering from `warp` to LLVM and NVVM ops.
//
// A `warp.kernel` is walked once, in program order. Every value of the level
// has a machine form here: a fragment is a list of registers, a view a pointer
// with sizes and strides, a buffer a shared-memory address. Scalar code and
// `scf` control flow are carried over, with fragments expanded to registers.
#ifndef FLASHC_CONVERSION_WARPTONVVM_KERNELEMITTER_H
#define FLASHC_CONVERSION_WARPTONVVM_KERNELEMITTER_H

#include "Layout.h"

#include "flashc/Dialect/Warp/IR/TensorMaps.h"
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>
#include <optional>

namespace flashc {

/// What the instruction set of the target offers.
struct MachineFeatures {
  std::string arch;
  bool hasCpAsync = true;          // sm_80 on
  bool hasMmaK16 = true;           // sm_80 on
  bool hasBF16 = true;             // sm_80 on
  bool hasDependentLaunch = false; // sm_90 on
  int64_t alignment = 0; // bytes that bases and strides of views are multiples
                         // of; 0: what the head dims allow (at most 16)
};

/// A global view: element address = ptr + sum(index * stride). Sizes are i32,
/// strides i64 in elements; static ones are constants.
struct View {
  mlir::Value ptr;
  mlir::SmallVector<mlir::Value, 4> sizes, strides;
  mlir::MemRefType type;
};

/// A ring of buffers: its first slot and what a put needs to know.
struct Channel {
  mlir::Value base; // shared address of slot 0
  warp::ChannelOp op;
  size_t id = 0;
};

/// Tiles that are on their way from the producer to the consumers.
constexpr int64_t kQueueSlots = 2;
/// Named barrier of the first group's four warps.
constexpr int64_t kGroupBarrier = 8;

/// Whether one TMA copy moves all segments of a row: the tensor map then has a
/// dimension for them.
inline bool isWholeBox(mlir::MemRefType view) {
  return view.getDimSize(3) % 64 == 0;
}

class KernelEmitter {
public:
  KernelEmitter(warp::KernelOp kernel, const MachineFeatures &features);

  /// Emits the llvm.func that replaces the kernel; on failure the kernel has an
  /// error attached.
  mlir::LogicalResult emit();

private:
  using Value = mlir::Value;
  using Registers = mlir::SmallVector<Value>;

  // WarpToNVVM.cpp: function and control flow.
  int32_t countResidentBlocks();
  mlir::LLVM::LLVMFuncOp createFunction();
  void bindArguments(mlir::LLVM::LLVMFuncOp func);
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emitOp(mlir::Operation *op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp op);
  mlir::LogicalResult emitIf(mlir::scf::IfOp op);
  bool isBesideReducer();
  void awaitKernelBefore();
  mlir::LogicalResult emitBody(mlir::Block &from, mlir::Block *to);
  void appendRegisters(Value value, Registers &out);
  void bindRegisters(mlir::ValueRange values, mlir::ValueRange registers);

  // Scalars.cpp: coordinates, sizes, arithmetic.
  Value emitIntrinsic(llvm::StringRef name, Value operand);
  mlir::LogicalResult emitScalar(mlir::Operation *op, mlir::IRMapping &map);
  void emitProgram(warp::ProgramOp op);
  Value freshSize(const View &view, unsigned dim);
  Value gridSize(unsigned place, unsigned dim);
  std::pair<Value, Value> takeAbreast(Value id, Value blocks, Value heads,
                                      int64_t bytes);
  mlir::LogicalResult remakeScalars(mlir::Operation *end);

  // Fragments.cpp: values in registers.
  void emitFill(warp::FillOp op);
  mlir::LogicalResult emitMap(warp::MapOp op);
  void emitReduce(warp::ReduceOp op);
  void emitCollect(warp::CollectOp op);
  void emitAny(warp::AnyOp op);
  mlir::Value emitAnyBelow(llvm::ArrayRef<mlir::Value> in,
                           mlir::FloatAttr floor);
  void emitAnyAbove(warp::AnyAboveOp op);
  void emitAnyNotFinite(warp::AnyNotFiniteOp op);
  Value voteAny(mlir::ArrayRef<Value> conditions);
  mlir::LogicalResult emitMapElements(warp::MapOp op,
                                      mlir::ArrayRef<Value> origin,
                                      mlir::ArrayRef<ElementPosition> group,
                                      mlir::MutableArrayRef<Registers> out);
  /// Number of the warp among those that rows are dealt to, and of its part of
  /// the columns.
  Value warpGroup(int64_t parts);
  Value columnPart(int64_t parts);
  /// i32: global row, or column, of this lane's first element of a map.
  Value rowOrigin(Value origin, warp::FragmentType type);
  Value columnOrigin(Value origin, warp::FragmentType type);
  void forEachElements(
      warp::FragmentType type,
      llvm::function_ref<void(mlir::ArrayRef<ElementPosition>)> body);
  Value mapInput(Value input, const ElementPosition &at);
  Value quadReduce(warp::ReduceKind kind, Value value);
  Value combine(warp::ReduceKind kind, Value a, Value b);

  // Positions.cpp: coordinates as floats.
  bool convertPosition(mlir::Operation *op, mlir::ArrayRef<Value> origin,
                       mlir::IRMapping &map);

  // Matrix.cpp: ldmatrix, mma, fragment to shared memory.
  void emitLoad(warp::LoadOp op);
  void emitMma(warp::MmaOp op);
  void emitStore(warp::StoreOp op);

  // NotFinite.cpp: NaN and infinity in a B operand.
  void emitScan(warp::ScanOp op);
  Value notFinite(Value pair, mlir::Type element);
  Value scanPiece(Value some, Value address, mlir::Type element);
  Value hasSign(Value some);
  Value badSigns(Value pair, mlir::Type element);
  Value clearSigned(Value pair, Value signs);
  Registers ofAllColumns(const Registers &bad);
  Registers loadPiece(Value address);
  void cleanOperandB(Registers &bs, mlir::Type element, Registers &bad);
  Value orLanes(Value value, mlir::ArrayRef<int64_t> distances);
  void markRows(mlir::ArrayRef<Registers> a, const Registers &bad,
                Registers &rows, bool areSigned = false);
  void poisonRows(const FragmentLayout &layout, const Registers &rows,
                  Registers &acc);

  // Scrub.cpp: the same in shared memory.
  void emitScrub(warp::ScrubOp op);
  Value readAgain(mlir::StringRef name);
  mlir::scf::ForOp loopOverPieces(Value from, int64_t end, int64_t step,
                                  mlir::ValueRange carried);
  Registers findBadRows(Value buffer, warp::BufferType type);
  void clearBuffer(Value buffer, warp::BufferType type);
  Value signsOfRows(mlir::ArrayRef<Value> badRows, int64_t row);

  Registers loadOperandA(Value buffer, warp::BufferType type, int64_t rowTile,
                         int64_t k, int64_t parts = 1);
  Registers loadOperandATrans(Value buffer, warp::BufferType type,
                              int64_t rowTile, int64_t k);
  Registers loadOperandB(Value buffer, warp::BufferType type, int64_t n,
                         int64_t k, bool transposeB, int64_t parts = 1);
  Registers loadMatrix(Value address, bool transposed);
  void multiply(Value *acc, mlir::ArrayRef<Value> a, mlir::ArrayRef<Value> b,
                mlir::Type element);
  /// Byte offset of this lane in a 16 x 16 block at piece `step` of a slab;
  /// with `rows`, of the block in this warp's rows (columns, for
  /// OperandATrans). `columns` are the buffer's and the number of groups that
  /// they are dealt to.
  Value laneOffset(LaneRole role, warp::BufferType type, int64_t step,
                   const Deal *rows,
                   std::pair<int64_t, int64_t> columns = {0, 1});
  Value addColumnPart(Value offset, int64_t columns, int64_t parts,
                      warp::BufferType type);
  Value addDealtColumns(Value offset, const Deal &deal, warp::BufferType type);

  // Sums.cpp: between global memory and registers.
  void emitLoadValues(warp::LoadValuesOp op);
  void emitLoadSums(warp::LoadSumsOp op);
  void emitAddSums(warp::AddSumsOp op);
  mlir::LogicalResult emitScatter(warp::ScatterOp op);
  void addInMemory(Value address, int64_t offset, Value value);
  struct SumRow {
    Value address, inside; // of the lane's first column; i1
    Value column;          // that column's number, i32
    int64_t rowTile, half;
  };
  void forEachRow(const View &view, warp::FragmentType type, Value batch,
                  Value head, Value row, int64_t rowTile,
                  llvm::function_ref<void(const SumRow &)> each);
  void loadRows(const View &view, warp::LoadSumsOp op, int64_t rowTile,
                llvm::MutableArrayRef<Value> out);
  void addRows(const View &view, warp::AddSumsOp op, int64_t rowTile);
  struct SumTiles {
    Value address, isWhole; // of the lane's part of tile 0; i1
    Value firstTile;        // its number, i32
  };
  SumTiles findTiles(const View &view, warp::FragmentType type, Value batch,
                     Value head, Value row, int64_t rowTile);
  Value isTileInside(const View &view, const SumTiles &tiles,
                     const FragmentLayout &layout, int64_t tile);

  // Copies.cpp: between global and shared memory.
  void emitAlloc(warp::AllocOp op);
  void emitChannel(warp::ChannelOp op);
  void emitPut(warp::PutOp op);
  Value channelAddress(warp::PutOp put, const Channel &channel);
  void emitGet(warp::GetOp op);
  void emitCopyIn(warp::CopyInOp op);
  void emitCopyOut(warp::CopyOutOp op);
  void emitStoreRows(warp::StoreRowsOp op);
  Value isRowWriter(warp::FragmentType type);
  void waitForCopies(int64_t pending);
  void commitCopies();
  void copyTileIn(const View &view, Value headStart, Value own, Value row,
                  Value limit, Value buffer, warp::BufferType type);
  Value headAddress(const View &view, Value batch, Value head);
  Value threadAddress(const View &view, Value headStart, warp::BufferType type);
  Value opaqueProduct(Value stride, int64_t factor);
  void copyPieceIn(Value to, Value from, Value valid, Value safe,
                   int64_t bytes);
  Value insideColumns(Value inside, Value column, int64_t offset, int64_t end,
                      int64_t columns);
  /// What a thread copies of a buffer: its first row and column, how far its
  /// next row is, and its place in a slab.
  struct CopyPlan {
    Swizzle swizzle;
    int64_t rowsPerStep;
    Value row, column, lane;
  };
  CopyPlan planCopy(warp::BufferType type);
  void forEachPiece(
      const View &view, Value own, Value row, Value limit, Value buffer,
      warp::BufferType type,
      llvm::function_ref<void(Value, Value, Value, Value, int64_t)> piece);
  Value slot(const Channel &channel, Value block);
  /// Bytes that one copy instruction moves, at most 16.
  int64_t copyBytes(mlir::MemRefType view) const;

  // Roles.cpp: kernels whose warps have roles.
  mlir::LogicalResult emitRoles();
  void initBarriers();
  mlir::LogicalResult emitProducer(warp::RoleOp role, mlir::Block *block);
  mlir::LogicalResult emitConsumer(warp::RoleOp role, mlir::Block *block,
                                   Value warp);
  mlir::LogicalResult emitReducer(warp::RoleOp role, mlir::Block *block,
                                  Value warp);

  // Tiles.cpp: the loop over the tiles.
  struct TileCounts {
    /// Query blocks of a head; heads; batch * heads; all tiles; heads of one
    /// section.
    Value blocks, heads, batchHeads, tiles, section;
  };
  mlir::LogicalResult emitTiles(warp::TilesOp op);
  TileCounts countTiles();
  Registers decodeTile(warp::TilesOp op, Value tile, const TileCounts &counts);
  std::pair<Value, Value> queuePlace(Value count);
  void publishTile(mlir::ArrayRef<Value> coordinates, Value count);
  Registers readTile(Value count);
  void mapCoordinates(mlir::Block &body, mlir::ArrayRef<Value> coordinates);
  void remakeLane();
  mlir::LogicalResult remakeTile(mlir::Operation *loop);
  Value queueBarrier(Value slot, bool full);
  Value queueTile(Value slot);
  void resetCounter();

  // Rings.cpp: slots, filled by TMA.
  mlir::LogicalResult emitSend(warp::SendOp op);
  void startCopies(warp::SendOp op);
  mlir::LogicalResult emitReceive(warp::ReceiveOp op);
  mlir::LogicalResult emitAcquire(warp::AcquireOp op);
  void emitReclaim(warp::ReclaimOp op);
  void emitCommit(warp::CommitOp op);
  void copyValues(warp::SendOp op, Value barrier);
  void emitReadValues(warp::ReadValuesOp op);
  Value valuesAddress(warp::RingOp ring, Value stage);
  mlir::LogicalResult emitSkip(warp::SkipOp op);
  void emitRelease(warp::ReleaseOp op);
  void emitClearRows(warp::ClearRowsOp op);
  void copyBox(const View &view, Value map, Value target, Value barrier,
               mlir::ValueRange coordinates, int64_t segments,
               int64_t segmentBytes, uint64_t policy);
  Value partAddress(Value buffer);
  Value stageOf(Value buffer, warp::RingOp ring);

  // Barriers.cpp: shared addresses, mbarriers, turns.
  /// i32 addresses in shared memory; `buffers` of kernels with roles are such.
  Value sharedAt(int64_t offset);
  Value sharedAt(int64_t offset, Value more);
  Value shuffleFirst(Value value); // lane 0's
  Value ringBarrier(warp::RingOp ring, Value stage, Value part, bool full);
  void giveBack(warp::RingOp ring, Value stage, Value part); // a slot
  void awaitBarrier(Value barrier, Value parity);
  void arrive(Value barrier);     // by the threads that come here, each
  void arriveOnce(Value barrier); // by one lane of a warp
  void meetWarp();                // all its lanes
  void showToCopies();            // what was written to shared memory
  void emitAdvance(warp::AdvanceOp op);
  void emitAwaitTurn(warp::AwaitTurnOp op);
  void emitPassTurn(warp::PassTurnOp op);

  // Emit.cpp: the way out.
  void emitEmit(warp::EmitOp op);
  /// The named barrier of a group's four warps.
  Value groupBarrier();
  Value stagedLane();
  Value stagedStep(Value first, int64_t column, warp::BufferType buffer);
  void loadStaged(warp::LoadOp op);
  void stageFragment(Value fragment, warp::BufferType buffer, Value part);
  void awaitEmitted();

  // ReducedSums.cpp: sums of the reducer.
  void emitStageSums(warp::StageSumsOp op);
  void emitSendSums(warp::SendSumsOp op);
  void emitAddPacked(warp::AddPackedOp op);
  bool addsFromRegisters();
  void emitBeginSums(warp::BeginSumsOp op);
  void emitEndSums(warp::EndSumsOp op);
  template <typename OpTy> Value turnAddress(OpTy op);
  Value workspaceRow(const View &view, Value batch, Value head, Value row);
  void loadPackedSums(warp::LoadSumsOp op);
  void emitStoreSums(warp::StoreSumsOp op);
  Value packedAddress(Value view, Value batch, Value head, Value row);
  Value stagedPart(warp::StagingOp room, int64_t slot);
  void readLane();
  void readLaneAgain();

  // Wgmma.cpp: products of warpgroups.
  void emitWgmma(warp::WgmmaOp op);
  void emitSettle(warp::SettleOp op);
  Value descriptor(Value address, uint64_t leadingBytes);

  // Fetch.cpp: tiles that are computed again.
  struct FetchSource;
  void emitFetch(warp::FetchOp op);
  void emitMmaFetch(warp::MmaFetchOp op);
  void emitScoresFetch(warp::FetchOp queries, warp::MmaFetchOp op);
  FetchSource fetchSource(Value view, Value batch, Value head, Value limit);
  struct FetchRow {
    Value start, inside; // address; i1
    int64_t columns;     // of the whole row
  };
  FetchRow fetchRow(const FetchSource &source, Value row, Value column);
  mlir::SmallVector<FetchRow> fetchRows(const FetchSource &source, Value first,
                                        int64_t count, bool transposeB);
  Value fetch(const FetchRow &row, int64_t column, mlir::Type type);
  Registers fetchOperandB(mlir::ArrayRef<FetchRow> rows, int64_t n, int64_t k,
                          bool transposeB);

  // Builders.cpp: small things.
  int64_t threads() { return 32 * kernel.getAllWarps(); }
  /// Warps that fragments are dealt to.
  int64_t warps() { return isAlone ? 4 : int64_t(kernel.getWarps()); }
  WarpGrid grid() { return {warps(), kernel.getLeastRows()}; }
  Value i32(int64_t value);
  Value i64(int64_t value);
  Value toI32(Value index);
  Value toIndex(Value i32);
  Value wide(Value i32); // sign extended to i64
  Value scalar(Value v) { return scalars.lookupOrDefault(v); }
  /// One instruction that LLVM neither moves nor merges.
  Value inlineAsm(mlir::Type type, const std::string &text,
                  llvm::StringRef constraints, mlir::ValueRange operands,
                  bool hasSideEffects = true);
  /// As inlineAsm, with no result and with several.
  void asmVoid(const std::string &text, llvm::StringRef constraints,
               mlir::ValueRange operands);
  Registers asmMany(mlir::ArrayRef<mlir::Type> types, const std::string &text,
                    llvm::StringRef constraints, mlir::ValueRange operands);
  Value gep(Value base, Value bytes);
  Value gep(Value base, int64_t bytes);
  Value elementAddress(const View &view, Value elements);
  Value addressOf(const View &view, llvm::ArrayRef<Value> indices);
  /// i64 element offset of row 0 of (batch, head).
  Value headOffset(const View &view, Value batch, Value head);
  Value headOffsetHere(const View &view, Value batch, Value head);
  void startSegment();
  void beginSegment();
  /// Runs `make` with the builder at the segment's start, once a key.
  Value atEntry(const std::string &key, llvm::function_ref<Value()> make);
  void callWithCondition(Value condition, llvm::function_ref<void()> then);

  warp::KernelOp kernel;
  MachineFeatures features;
  mlir::ImplicitLocOpBuilder b;
  mlir::IRMapping scalars;
  llvm::DenseMap<Value, Registers> fragments;
  llvm::DenseMap<Value, View> views;
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Value, Channel> channels;
  mlir::Operation *entryEnd = nullptr;
  std::map<std::string, Value> entryValues;
  Value shared, thread, lane, warpId;
  Value copyThread; // the id that a copy uses instead of `thread`, or null
  // Kernels with roles.
  mlir::SmallVector<warp::TensorMap> mapList;
  Registers tensorMaps; // generic pointers to the parameters
  Value counter;        // of tiles, in global memory
  /// Of a consumer warp: the group whose part of rows and rings it has, and the
  /// one whose role this is, if each has its own.
  Value group;
  std::optional<int64_t> roleGroup;
  Value tileCount; // tiles that this block had before
  bool isProducer = true;
  bool isReducer = false;
  bool isAlone = false; // a role of one warpgroup
  mlir::Block *exit = nullptr;
};

} // namespace flashc

#endif // FLASHC_CONVERSION_WARPTONVVM_KERNELEMITTER_H
