// Verifiers of kernels, schedules and stream types of the `tile` dialect.
#include "TileVerifiers.h"

#include "flashc/Dialect/Tile/IR/Redo.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace flashc::tile;

namespace {
constexpr StringLiteral kOutputAttr = "tile.output";
constexpr int64_t kStep = 16;      // rows and columns of one tensor core step
constexpr int64_t kGroupRows = 64; // of a warpgroup
constexpr int64_t kMaxStages = 64, kMaxWarps = 32; // a block has 1024 threads

int64_t getBytes(ArrayRef<int64_t> shape, Type element) {
  return ShapedType::getNumElements(shape) * element.getIntOrFloatBitWidth() /
         8;
}

bool hasUnitLastStride(MemRefType view) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(view.getStridesAndOffset(strides, offset)) &&
         (strides.empty() || strides.back() == 1);
}

LogicalResult checkArgument(KernelOp kernel, unsigned i, Type type) {
  auto view = dyn_cast<MemRefType>(type);
  if (!view)
    return kernel.emitOpError()
           << "argument #" << i << " has type " << type
           << ", but arguments are memref views; pass a view";
  if (!hasUnitLastStride(view))
    return kernel.emitOpError() << "argument #" << i << " has type " << view
                                << ", but the last stride of a view is 1; copy "
                                   "the tensor or say so in its layout";
  bool isTensor = view.getRank() == 4 && isa<FloatType>(view.getElementType());
  if (i == 0 && !isTensor && !kernel.getGrid())
    return kernel.emitOpError()
           << "argument #0 has type " << view
           << ", but it is Q, which gives the grid: a 4-D view (batch, "
              "head, length, head dim) of f16, bf16 or f32";
  bool isRows = view.getRank() == 3 && (view.getElementType().isF32() ||
                                        view.getElementType().isInteger(32));
  bool isFlat = view.getRank() == 1 && isa<FloatType>(view.getElementType());
  if (kernel.getArgAttr(i, kOutputAttr) && !isTensor && !isRows && !isFlat)
    return kernel.emitOpError() << "output #" << i << " has type " << view
                                << ", but an output is a 4-D view, a 3-D view "
                                   "of f32 or i32 or a 1-D view of floats";
  return success();
}

/// Whether a loop carries the block, and then those that it loads in its place:
/// they share the slots.
bool isFirstOfMany(LoadOp load) {
  return llvm::any_of(load->getUses(), [](OpOperand &use) {
    auto loop = dyn_cast<scf::ForOp>(use.getOwner());
    OpOperand *next =
        loop ? loop.getTiedLoopYieldedValue(loop.getTiedLoopRegionIterArg(&use))
             : nullptr;
    return next && next->get().getDefiningOp<LoadOp>();
  });
}

/// Bytes of the blocks that `kernel` loads: those outside of loops once, those
/// of the loop that loads most and all streams once a stage. Of kernels with
/// roles, what is computed again (in a branch) goes to registers at once.
int64_t getLoadedBytes(KernelOp kernel) {
  int64_t fixed = 0, stream = 0;
  llvm::DenseMap<Operation *, int64_t> loops;
  kernel.walk([&](Operation *op) {
    if (isInRedo(op))
      return;
    if (auto load = dyn_cast<LoadOp>(op)) {
      auto type = cast<RankedTensorType>(load.getTile().getType());
      int64_t bytes = getBytes(type.getShape(), type.getElementType());
      if (auto loop = load->getParentOfType<scf::ForOp>())
        loops[loop] += bytes;
      else if (!isFirstOfMany(load))
        fixed += bytes;
    } else if (auto streamOp = dyn_cast<StreamOp>(op)) {
      StreamType type = streamOp.getStream().getType();
      stream += getBytes(type.getShape(), type.getElementType());
    }
  });
  int64_t most = 0;
  for (auto [loop, bytes] : loops)
    most = std::max(most, bytes);
  return fixed + kernel.getSchedule().getStages() * (stream + most);
}
} // namespace

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t q, int64_t kv, int64_t stages,
                                   int64_t warps, bool qInRegisters,
                                   int64_t sram, int64_t warpRows,
                                   RolesAttr roles) {
  if (stages < 1 || stages > kMaxStages || warps < 1 || warps > kMaxWarps ||
      sram < 1)
    return emitError() << "expects 1 to " << kMaxStages << " stages, 1 to "
                       << kMaxWarps << " warps and an sram of at least 1, but "
                       << "got " << stages << ", " << warps << " and " << sram
                       << "; leave them to chooseSchedule";
  if (warpRows != kStep && (warpRows != 2 * kStep || roles))
    return emitError() << "expects warps of 16 or, without roles, 32 rows at "
                          "least, but got "
                       << warpRows << "; leave warp_rows out";
  // In a backward query blocks are columns of most tiles, and may be shorter.
  bool isDealt = q > 0 && q % kStep == 0 &&
                 (q % (kStep * warps) == 0 || kStep * warps % q == 0);
  if (!isDealt || q > kMaxTileSize)
    return emitError() << "expects q to be a multiple of 16 rows for each "
                          "warp, but got q = "
                       << q << " and warps = " << warps
                       << "; change one of them";
  // A forward's rows are queries, a backward's are keys, of which groups that
  // share results have one group's.
  bool hasRows = q == 16 * warps || kv == 16 * warps ||
                 (q < 16 * warps && kv == kGroupRows);
  if (roles && (warps != 4 * roles.getGroups() || !hasRows))
    return emitError() << "expects four warps for each of " << roles.getGroups()
                       << " groups and 16 rows for each warp, but got warps = "
                       << warps << " and q = " << q << "; make them "
                       << 4 * roles.getGroups() << " and "
                       << 64 * roles.getGroups();
  if (kv < 1 || kv > kMaxTileSize || kv % kStep != 0)
    return emitError() << "expects kv to be a multiple of 16, but got " << kv
                       << "; round it up";
  return success();
}

bool ScheduleAttr::isSharedByResults() const {
  int64_t rows = kStep * getWarps();
  return getRoles() && getQ() < rows && getKv() < rows;
}

int64_t ScheduleAttr::getRowWarps() const {
  return isSharedByResults() ? kGroupRows / kStep : getWarps();
}

LogicalResult RolesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t groups, int64_t producer,
                                int64_t consumer, bool overlap, bool turns,
                                Rescale rescale, bool apart, bool ahead,
                                bool skip) {
  if (groups < 1 || groups > 3)
    return emitError() << "expects 1 to 3 groups that compute, but got "
                       << groups << "; a block has at most 16 warps here";
  for (int64_t registers : {producer, consumer})
    if (registers < 24 || registers > 256 || registers % 8)
      return emitError() << "expects registers of a thread from 24 to 256 in "
                            "steps of 8, but got "
                         << registers << "; round it";
  return success();
}

LogicalResult GridAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> batch, ArrayRef<int64_t> heads,
                               ArrayRef<int64_t> blocks, int64_t rows) {
  for (ArrayRef<int64_t> place : {batch, heads, blocks})
    if (!place.empty() && (place.size() != 2 || place[0] < 0 || place[1] < 0))
      return emitError() << "expects a place to be [argument, dimension] or "
                            "[], but got ["
                         << place
                         << "]; write [1, 2] for dimension 2 of "
                            "argument 1";
  if (rows < 1 || rows > kMaxTileSize)
    return emitError() << "expects 1 to " << kMaxTileSize
                       << " rows of a block, but got " << rows;
  return success();
}

LogicalResult StreamType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type elementType) {
  auto isSize = [](int64_t size) { return size >= 1 && size <= kMaxTileSize; };
  if (shape.size() != 2 || !llvm::all_of(shape, isSize))
    return emitError() << "expects a stream of blocks of 1 to " << kMaxTileSize
                       << " rows and columns, but got [" << shape
                       << "]; write !tile.stream<64x128xf16>";
  if (!elementType.isF16() && !elementType.isBF16() && !elementType.isF32())
    return emitError() << "expects f16, bf16 or f32 elements, but got "
                       << elementType;
  return success();
}

GridAttr KernelOp::getGridOrDefault() {
  if (GridAttr grid = getGridAttr())
    return grid;
  return GridAttr::get(getContext(), {0, 0}, {0, 1}, {0, 2},
                       getSchedule().getQ());
}

static LogicalResult checkGrid(KernelOp kernel) {
  GridAttr grid = kernel.getGridOrDefault();
  ArrayRef<Type> types = kernel.getArgumentTypes();
  for (ArrayRef<int64_t> place :
       {grid.getBatch(), grid.getHeads(), grid.getBlocks()}) {
    if (place.empty())
      continue;
    bool exists = place[0] < int64_t(types.size()) &&
                  place[1] < cast<MemRefType>(types[place[0]]).getRank();
    if (!exists)
      return kernel.emitOpError()
             << "has the grid " << grid << ", but there is no dimension "
             << place[1] << " of an argument #" << place[0]
             << "; name one that is there";
  }
  return success();
}

LogicalResult KernelOp::verify() {
  if (!getResultTypes().empty())
    return emitOpError()
           << "returns " << getResultTypes().size()
           << " values, but a kernel writes its results through arguments with "
              "tile.output; return none";
  if (getArgumentTypes().empty())
    return emitOpError(
        "has no argument, but argument 0 is Q, which gives the grid; add it");
  for (auto [i, type] : llvm::enumerate(getArgumentTypes()))
    if (failed(checkArgument(*this, i, type)))
      return failure();
  return checkGrid(*this);
}

/// The view that `op` writes; null: none.
static Value getWritten(Operation *op) {
  if (auto store = dyn_cast<StoreOp>(op))
    return store.getView();
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return accumulate.getView();
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return scatter.getMemory();
  return {};
}

LogicalResult KernelOp::verifyRegions() {
  auto check = [&](Operation *op) {
    auto argument = dyn_cast_if_present<BlockArgument>(getWritten(op));
    bool isArgument = argument && argument.getOwner() == &getBody().front();
    if (!isArgument || getArgAttr(argument.getArgNumber(), kOutputAttr))
      return WalkResult::advance();
    InFlightDiagnostic diagnostic =
        emitOpError() << "argument #" << argument.getArgNumber()
                      << " is written but has no tile.output; add it";
    diagnostic.attachNote(op->getLoc()) << "written here";
    return WalkResult::interrupt();
  };
  if (walk(check).wasInterrupted())
    return failure();
  int64_t bytes = getLoadedBytes(*this), sram = getSchedule().getSram();
  if (bytes > sram)
    return emitOpError()
           << "loads blocks of " << bytes << " bytes, " << bytes - sram
           << " more than the sram = " << sram
           << " of its schedule; use smaller blocks or fewer stages";
  return success();
}
