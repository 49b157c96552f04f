// Kernel syntax, and the verifiers of the `warp` ops that touch memory.
#include "flashc/Dialect/Warp/IR/Warp.h"

#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace flashc::warp;

/// Warpgroups that compute, at most: with the loading one they share 65536
/// registers, and a fourth would leave too few for a fragment.
static constexpr int64_t kMaxGroups = 3;

#define GET_OP_CLASSES
#include "Warp/WarpOps.cpp.inc"

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildFuncType =
      [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag,
         std::string &) { return builder.getFunctionType(args, results); };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildFuncType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void KernelOp::print(OpAsmPrinter &p) {
  function_interface_impl::printFunctionOp(
      p, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

/// Three places, [argument, dimension] each, or 1 where the argument is -1.
static LogicalResult verifyGrid(KernelOp op, ArrayRef<int64_t> grid) {
  if (grid.size() != 6)
    return op.emitOpError("has a grid of batches, heads and rows, an argument "
                          "and a dimension each, but it has ")
           << grid.size() << " numbers; give six";
  for (size_t i = 0; i < grid.size(); i += 2) {
    int64_t argument = grid[i], dim = grid[i + 1];
    if (argument == -1)
      continue;
    auto view =
        argument >= 0 && argument < int64_t(op.getArgumentTypes().size())
            ? dyn_cast<MemRefType>(op.getArgumentTypes()[argument])
            : MemRefType();
    if (!view || dim < 0 || dim >= view.getRank())
      return op.emitOpError(
                 "takes its grid from its arguments, but there is no "
                 "dimension ")
             << dim << " of an argument " << argument
             << "; name one that is there, or -1 for 1";
  }
  return success();
}

bool KernelOp::isPersistent() {
  return getGroups() && llvm::none_of(getOps<RoleOp>(), [](RoleOp role) {
           return role.getKind() == RoleKind::Reducer;
         });
}

LogicalResult KernelOp::verify() {
  if (!getResultTypes().empty())
    return emitOpError("writes its results to views, but it returns ")
           << getResultTypes().size()
           << " values; add arguments with 'tile.output'";
  if (getWarps() < 1 || getWarps() > 32)
    return emitOpError("runs 1 to 32 warps (1024 threads), but it asks for ")
           << getWarps() << "; choose fewer or more warps";
  int64_t least = getLeastRows();
  if (least != 16 && (least != 32 || getGroups()))
    return emitOpError("has warps of 16 or, without groups, 32 rows at least, "
                       "but of ")
           << least << "; leave warp_rows out";
  int64_t group = 16 * getWarps();
  bool isDealt =
      getQBlock() > 0 && getQBlock() % 16 == 0 &&
      (getQBlock() % group == 0 || (getGrid() && group % getQBlock() == 0));
  if (!isDealt)
    return emitOpError("deals its rows to the warps in groups of 16, but ")
           << getQBlock() << " rows do not make whole groups for " << getWarps()
           << " warps; use a multiple of " << group;
  if (getGrid() && failed(verifyGrid(*this, *getGrid())))
    return failure();
  // Groups with a role each share the rows, which are one group's.
  bool isShared = llvm::any_of(getOps<RoleOp>(), [](RoleOp role) {
    return role.getGroup().has_value();
  });
  if (auto groups = getGroups();
      groups && (int64_t(*groups) < 1 || int64_t(*groups) > kMaxGroups ||
                 getWarps() != 4 * *groups ||
                 getQBlock() != (isShared ? 64 : 64 * *groups)))
    return emitOpError("has 1 to ")
           << kMaxGroups << " groups of four warps and 64 rows each, but there "
           << "are " << int64_t(*groups) << " groups, " << getWarps()
           << " warps and " << getQBlock() << " rows; make them agree";
  ArrayRef<Type> arguments = getArgumentTypes();
  if (getGrid())
    return success();
  auto q =
      arguments.empty() ? MemRefType() : dyn_cast<MemRefType>(arguments[0]);
  if (q && q.getRank() == 4) {
    for (auto [index, type] : llvm::enumerate(arguments))
      if (!isa<MemRefType>(type) && !type.isIntOrIndexOrFloat())
        return emitOpError("takes views (memrefs) and scalars, but argument ")
               << index << " is " << type << "; pass a view of it";
    return success();
  }
  InFlightDiagnostic error =
      emitOpError("takes its grid from argument 0, a 4-D view (batch, head, "
                  "length, head dim), but ");
  if (arguments.empty())
    error << "it has no argument";
  else
    error << "argument 0 is " << arguments[0];
  return error << "; pass Q first";
}

/// The view holds the tile's elements and no more columns than it has.
static LogicalResult verifyView(Operation *op, MemRefType view, StringRef what,
                                ArrayRef<int64_t> shape, Type elementType) {
  if (view.getElementType() != elementType)
    return op->emitOpError("copies elements as they are, but the view holds ")
           << view.getElementType() << " and the " << what << " holds "
           << elementType << "; give both one element type";
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim))
    return op->emitOpError("needs the head dim of its view, but it is dynamic; "
                           "make dim 3 of the view static");
  if (shape[1] < headDim)
    return op->emitOpError("moves whole rows, but the view has head dim ")
           << headDim << " and the " << what << " has " << shape[1]
           << " columns; pad the " << what
           << " to a multiple of 16 at or above the head dim";
  return success();
}

/// The last dimension of a view is contiguous.
static LogicalResult verifyUnitStride(Operation *op, MemRefType view) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(view.getStridesAndOffset(strides, offset)) || strides.back() != 1)
    return op->emitOpError("needs a view whose last stride is 1, but it has ")
           << view << "; copy the tensor or permute its dims";
  return success();
}

/// Shared memory is handed out in lines of 128 bytes, so that a swizzle's
/// eight rows of 16-byte pieces start on bank 0.
static LogicalResult verifyOffset(Operation *op,
                                  std::optional<int64_t> offset) {
  if (offset && (*offset < 0 || *offset % 128))
    return op->emitOpError("has an offset in shared memory that is a multiple "
                           "of 128 bytes, but it is ")
           << *offset << "; run 'warp-allocate-shared'";
  return success();
}

static LogicalResult verifyPending(Operation *op,
                                   std::optional<int64_t> pending) {
  if (pending && *pending < 0)
    return op->emitOpError("leaves 0 or more copy groups under way, but "
                           "'pending' is ")
           << *pending << "; run 'warp-count-groups'";
  return success();
}

LogicalResult AllocOp::verify() { return verifyOffset(*this, getOffset()); }

LogicalResult ChannelOp::verify() {
  ChannelType type = getChannel().getType();
  auto view = cast<MemRefType>(getView().getType());
  if (failed(verifyView(*this, view, "channel", type.getShape(),
                        type.getElementType())) ||
      failed(verifyUnitStride(*this, view)))
    return failure();
  return verifyOffset(*this, getOffset());
}

LogicalResult GetOp::verify() {
  BufferType slot = getChannel().getType().getBufferType();
  if (slot != getBuffer().getType())
    return emitOpError("names a slot of its channel, but a slot is ")
           << slot << " and the result is " << getBuffer().getType()
           << "; use the slot's type";
  return verifyPending(*this, getPending());
}

LogicalResult WaitOp::verify() { return verifyPending(*this, getPending()); }

LogicalResult CopyInOp::verify() {
  auto view = cast<MemRefType>(getView().getType());
  BufferType type = getBuffer().getType();
  if (failed(verifyView(*this, view, "buffer", type.getShape(),
                        type.getElementType())))
    return failure();
  return verifyUnitStride(*this, view);
}

LogicalResult CopyOutOp::verify() {
  auto view = cast<MemRefType>(getView().getType());
  BufferType type = getBuffer().getType();
  if (failed(verifyView(*this, view, "buffer", type.getShape(),
                        type.getElementType())))
    return failure();
  return verifyUnitStride(*this, view);
}

/// A fragment and a buffer that hold the same tile.
static LogicalResult verifySameTile(Operation *op, FragmentType fragment,
                                    BufferType buffer) {
  if (fragment.getShape() == buffer.getShape() &&
      fragment.getElementType() == buffer.getElementType())
    return success();
  return op->emitOpError("moves a whole tile, but the buffer is ")
         << buffer << " and the fragment is " << fragment
         << "; give both one shape and element type";
}

LogicalResult LoadOp::verify() {
  return verifySameTile(*this, getFragment().getType(), getBuffer().getType());
}

LogicalResult StoreOp::verify() {
  return verifySameTile(*this, getFragment().getType(), getBuffer().getType());
}

LogicalResult StoreRowsOp::verify() {
  FragmentType type = getFragment().getType();
  if (type.getRank() != 1 || !type.getElementType().isF32() ||
      type.getPartial())
    return emitOpError("stores one whole f32 a row, but the fragment is ")
           << type
           << (type.getPartial() ? "; collect its parts first"
                                 : "; use a rank-1 f32 fragment");
  return verifyUnitStride(*this, cast<MemRefType>(getView().getType()));
}
