// What the kernels of one attn.backward have in common: their arguments by
// name, and a pair of blocks.
#ifndef FLASHC_LIB_CONVERSION_ATTNTOTILE_BACKWARDKERNEL_H
#define FLASHC_LIB_CONVERSION_ATTNTOTILE_BACKWARDKERNEL_H

#include "RegionCloner.h"

#include "flashc/Dialect/Tile/IR/BuildMap.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IntegerSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <string>

namespace flashc {

/// An array that kernels of the backward share, with the attributes of the
/// arguments that it is passed in.
struct Buffer {
  mlir::MemRefType type;
  mlir::DictionaryAttr attributes;
};

/// All arrays of one attn.backward: its operands (q, k, v, o, lse, do, dlse,
/// kv_lengths, capture0, ...), its results (dq, dk, dv, and the gradients of
/// captures as flat arrays: dcapture0, ...), and workspaces. A kernel's
/// argument carries the name as `tile.argument`; a workspace its sizes as
/// `tile.workspace`, each "batch", "heads", "kv_heads", "queries", "keys",
/// "queries up to N" (to a multiple of N), "capture N" (elements of that
/// captured tensor), "capture N unless queries D keys E one F" (0 where its
/// dimensions D and E are those and F is 1), "tiles Q K of capture N ..."
/// (Support/ProgramManifest.h) or a number, and `tile.zeroed` if
/// it holds zeros before the first kernel. A GPU's kernels may keep it in an
/// order of their own: with `tile.fragment_order` that of fragments (as
/// `warp.load_sums` has it), with `tile.packed` that of warp.send_sums, inside
/// each 64 rows. Workspaces:
///   delta     D of each row
///   dq_sum    the sum of dQ / scale
///   dq_turns  of kernels with roles whose sums are in order: what
///             tile.accumulate has as turns
///   dk_rows   of kernels with roles: the sum of each row of dK / scale
///   redo      of kernels with roles that write gradients of captures: not 0
///             where these are to be computed again
///   dcaptureN_sum  gradients of a capture, flat; their sum over the two
///             dimensions in front is its gradient
///   dcaptureN_tiles  of kernels with roles, of a capture that batches or heads
///             share: tiles of keys x q, those of a query block one below the
///             other
class BufferList {
public:
  BufferList(mlir::func::FuncOp func, attn::BackwardOp op,
             tile::ScheduleAttr schedule);
  /// The workspace dcaptureN_sum: [1][1][E], or with a part for each batch and
  /// key head. `elements` is the word for E.
  void addSums(int64_t capture, bool forEachHead, std::string elements);

  const Buffer &get(llvm::StringRef name) const {
    return list.find(name)->second;
  }
  bool has(llvm::StringRef name) const { return list.contains(name); }
  llvm::ArrayRef<std::string> getCaptures() const { return captures; }

  /// Adds the workspace dcaptureN_tiles: [batches or 1][heads or 1][rows][q].
  void addTiles(int64_t capture, llvm::StringRef batches, llvm::StringRef heads,
                std::string rows, int64_t q);
  /// Adds the workspace redo, and marks the capture's gradient as zeroed if not
  /// all blocks of pairs are visited.
  void addDirect(int64_t capture, bool isZeroed);
  static constexpr llvm::StringLiteral kRedo = "redo";
  static std::string gradientOf(int64_t capture);
  static std::string sumOf(int64_t capture);
  static std::string tilesOf(int64_t capture);

private:
  void add(std::string name, mlir::MemRefType type,
           mlir::DictionaryAttr attributes = {});
  void addWorkspace(std::string name, mlir::RankedTensorType type,
                    llvm::ArrayRef<std::string> sizes,
                    llvm::ArrayRef<llvm::StringRef> marks);
  llvm::MapVector<llvm::StringRef, Buffer> list;
  std::deque<std::string> names; // what the keys of `list` are in
  llvm::SmallVector<std::string> captures;
};

/// Rows of one query block, and of one key block.
struct QueryBlock {
  mlir::Value batch, head, firstRow, query, outputGradient, lse;
  /// Null where each pair loads it: late, as registers are short.
  mlir::Value delta;
};
struct KeyBlock {
  mlir::Value firstKey, key, value;
};
/// A pair of blocks; tiles have a row for each key and a column for each query,
/// or in the query form the other way round.
struct Pair {
  /// Raw scores, what the score function makes of them, probabilities, gradient
  /// of the raw scores over the scale.
  mlir::Value scores, newScores, probs, scoreGradient;
  /// The score function's derivative, where it is computed with the new scores.
  mlir::Value factors;
  /// What each attn.add_gradient adds, 0 where a pair is not visible.
  llvm::SmallVector<mlir::Value> additions;
};

/// One kernel while it is built.
class BackwardKernel {
public:
  using Value = mlir::Value;
  BackwardKernel(mlir::OpBuilder &builder, attn::BackwardOp op,
                 const BufferList &buffers, tile::ScheduleAttr schedule,
                 llvm::ArrayRef<mlir::IntegerSet> sets);

  /// Starts a kernel with the buffers of these names (and those of captures, if
  /// asked for) whose grid is over `grid`: [buffer name, dimension] each, an
  /// empty name for 1.
  struct Place {
    llvm::StringRef buffer;
    int64_t dim = 0;
  };
  void begin(llvm::StringRef name, llvm::ArrayRef<std::string> arguments,
             llvm::ArrayRef<std::string> outputs, Place batch, Place heads,
             Place blocks, int64_t rows, bool descending = false);
  /// From here on kernels multiply nothing: their blocks are of `getPlainRows`
  /// rows or multiples of that, with 16 for each warp at least.
  void setPlain(bool isPlain);
  /// From here on, until `setPlain(false)`, kernels multiply but stream
  /// nothing.
  void setSingleStage();
  int64_t getPlainRows() const;
  void end();

  /// From here on, or until it is set back, rows of a pair's tiles are queries,
  /// and block sizes are exchanged: what is kept on chip belongs to queries.
  void setQueryForm(bool isQueryForm);

  /// `results`, or what `body` gives where `any`, a tile.any_not_finite, says
  /// so: the same once more, with care, in small blocks of the side that is
  /// summed over (docs/decisions/022).
  llvm::SmallVector<Value>
  buildRedo(Value any, mlir::ValueRange results,
            llvm::function_ref<llvm::SmallVector<Value>()> body);
  /// Whether some element is NaN or infinity.
  Value anyNotFinite(Value tile) {
    return tile::AnyNotFiniteOp::create(b, b.getI1Type(), tile);
  }

  // Short names.
  Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }
  Value add(Value x, Value y) {
    return b.createOrFold<mlir::arith::AddIOp>(x, y);
  }
  Value sub(Value x, Value y) {
    return b.createOrFold<mlir::arith::SubIOp>(x, y);
  }
  Value mul(Value x, Value y) {
    return b.createOrFold<mlir::arith::MulIOp>(x, y);
  }
  Value min(Value x, Value y) {
    return b.createOrFold<mlir::arith::MinSIOp>(x, y);
  }
  Value view(llvm::StringRef name) const { return views.lookup(name); }
  Value dim(Value view, int64_t i) {
    return b.createOrFold<mlir::memref::DimOp>(view, index(i));
  }
  /// ceil(size / rows).
  Value blocksOf(Value size, int64_t rows);
  /// for i in lo to hi, by steps of 1 if `step` is null, with carried values.
  mlir::ResultRange
  loop(Value lo, Value hi, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<Value>(Value, mlir::ValueRange)>
           body,
       Value step = {});
  Value load(Value view, Value batch, Value head, Value row,
             llvm::ArrayRef<int64_t> shape, Value limit = {});
  /// `tile` in `type`, from f32 or to it.
  Value cast(Value tile, mlir::Type type);
  /// scale * tile.
  Value scaled(Value tile);

  // Of the problem; built by `begin` where the buffers are there.
  /// Query heads of a key head.
  Value buildGroup();
  /// Keys of `batch`, as an index and as a limit of loads (null: all).
  void buildKeyLength(Value batch);
  KeyBlock loadKeys(Value batch, Value keyHead, Value firstKey);
  QueryBlock loadQueries(Value batch, Value head, Value firstRow);
  /// Recomputes the block's softmax and its gradient.
  Pair buildPair(const QueryBlock &queries, const KeyBlock &keys);

  mlir::ImplicitLocOpBuilder b;
  attn::BackwardOp op;
  const BufferList &buffers;
  tile::ScheduleAttr schedule;
  llvm::ArrayRef<mlir::IntegerSet> sets;
  mlir::Type element;
  int64_t q, kv, headDim, valueDim; // block rows; padded dims
  Value batch, head, block;         // of the program
  Value sq, sk, keyLength, limit;
  std::optional<RegionCloner> cloner;
  /// Whether the blocks of a head of the next kernel start from the last one
  /// on, and those of several heads side by side.
  bool startsAtLast = false, isAbreast = false;
  /// Whether pairs are built with what is added to gradients of captures.
  bool wantsAdditions = false;

private:
  Value loadValues(llvm::StringRef name, Value batch, Value head, Value row);
  /// The query and the key of an element, from a row and a column.
  std::pair<Value, Value> coordinates(Value row, Value column) {
    return rowsAreQueries ? std::pair(row, column) : std::pair(column, row);
  }
  tile::ScheduleAttr whole; // of kernels that multiply
  bool rowsAreQueries = false, isRedo = false;
  /// LSE as what an exponent starts from, and D where the copies bring it.
  bool isPadded() const { return view("lse_rows") && !isRedo; }
  bool hasFactors();
  void buildScoreFunction(Pair &pair, const QueryBlock &queries,
                          Value firstKey);
  int64_t getSharedBytes() const;
  void buildScoreGradient(Pair &pair, const QueryBlock &queries,
                          Value firstKey);
  llvm::StringMap<Value> views;
};

/// The kernels of `op`, in the order in which they run.
void buildBackwardKernels(mlir::OpBuilder &builder, mlir::func::FuncOp func,
                          attn::BackwardOp op, tile::ScheduleAttr schedule,
                          llvm::ArrayRef<mlir::IntegerSet> sets);

} // namespace flashc

#endif // FLASHC_LIB_CONVERSION_ATTNTOTILE_BACKWARDKERNEL_H
