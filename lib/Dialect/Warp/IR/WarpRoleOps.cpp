// Verifiers of the `warp` ops of kernels whose warps have roles.
#include "flashc/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace flashc::warp;

/// Registers of a multiprocessor; each thread of a launched block gets a
/// multiple of 8 of them.
static constexpr int64_t kRegisterFile = 65536;

/// Groups that run the op, between which its tiles' rows are dealt; of an op
/// outside the roles, all that compute.
static int64_t groupsOf(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (role && role.getGroup())
    return 1;
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getGroups().value_or(0) : 0;
}

namespace flashc::warp {
ReceiveOp getReceive(Value buffer) {
  while (true) {
    if (auto receive = buffer.getDefiningOp<ReceiveOp>())
      return receive;
    if (auto alias = buffer.getDefiningOp<AliasOp>()) {
      buffer = alias.getBuffer();
    } else if (auto loop = buffer.getDefiningOp<scf::ForOp>()) {
      buffer = loop.getInitArgs()[cast<OpResult>(buffer).getResultNumber()];
    } else if (auto argument = dyn_cast<BlockArgument>(buffer)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
      if (!init)
        return {};
      buffer = init->get();
    } else {
      return {};
    }
  }
}

RoleOp getLoadingRole(KernelOp kernel) {
  for (auto role : kernel.getOps<RoleOp>())
    if (role.getKind() != RoleKind::Consumer)
      return role;
  return {};
}
} // namespace flashc::warp

static bool isInReducer(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  return role && role.getKind() == RoleKind::Reducer;
}

/// The role around an op of it; an error where there is none or the other.
/// With `mayReduce` the reducer does, too.
static LogicalResult verifyInRole(Operation *op, RoleKind kind,
                                  bool mayReduce = false) {
  auto role = op->getParentOfType<RoleOp>();
  if (role && role.getKind() == kind)
    return success();
  if (mayReduce && isInReducer(op))
    return success();
  return op->emitOpError("belongs into the ")
         << stringifyRoleKind(kind) << ", but it is in "
         << (role ? stringifyRoleKind(role.getKind()) : StringRef("no role"))
         << "; move it into a 'warp.role " << stringifyRoleKind(kind) << "'";
}

static LogicalResult verifyPart(Operation *op, int64_t parts) {
  int64_t groups = groupsOf(op);
  if (parts == 1 || parts == groups)
    return success();
  return op->emitOpError("has a part for each warpgroup that computes, but "
                         "there are ")
         << parts << " parts and " << groups << " groups; use 1 or " << groups
         << " parts";
}

/// One role of a kind, but for consumers that each are one group.
static LogicalResult verifyGroup(RoleOp role, KernelOp kernel) {
  int64_t groups = *kernel.getGroups();
  std::optional<int64_t> group = role.getGroup();
  bool isOfGroup = role.getKind() == RoleKind::Consumer &&
                   kernel.getGrid().has_value() && *group >= 0 &&
                   *group < groups;
  if (group && !isOfGroup)
    return role.emitOpError("is a consumer of one of ")
           << groups << " groups, in a kernel with a grid of its own, but it "
           << "is a " << stringifyRoleKind(role.getKind()) << " of group "
           << *group << "; number consumers from 0";
  for (auto other : kernel.getOps<RoleOp>()) {
    if (other == role || other.getKind() != role.getKind())
      continue;
    if (!group || !other.getGroup() || group == other.getGroup())
      return role.emitOpError("is the second ")
             << stringifyRoleKind(role.getKind())
             << " of its kernel, but there is one of each, or one consumer for "
                "each group; join them";
  }
  return success();
}

/// setmaxnreg moves registers inside the pool that the block was launched with;
/// asking for more waits forever.
static LogicalResult verifyRegisters(RoleOp consumer, KernelOp kernel) {
  RoleOp loading = getLoadingRole(kernel);
  if (!loading)
    return success();
  int64_t groups = *kernel.getGroups();
  int64_t launch = kRegisterFile / (128 * (groups + 1)) / 8 * 8;
  int64_t pool = (groups + 1) * launch, asked = 0;
  std::string sum;
  for (auto role : kernel.getOps<RoleOp>()) {
    int64_t registers = role.getRegisters();
    bool isOfAll = role.getKind() == RoleKind::Consumer && !role.getGroup();
    asked += (isOfAll ? groups : 1) * registers;
    sum += sum.empty() ? "" : " + ";
    sum += isOfAll ? std::to_string(groups) + " * " : "";
    sum += std::to_string(registers);
  }
  if (asked <= pool)
    return success();
  return consumer.emitOpError("and the ")
         << (consumer.getGroup() ? StringRef("roles beside it")
                                 : stringifyRoleKind(loading.getKind()))
         << " ask for " << sum << " = " << asked
         << " registers, but a block of " << groups + 1
         << " warpgroups is launched with " << groups + 1 << " * " << launch
         << " = " << pool << "; lower one of them";
}

LogicalResult RoleOp::verify() {
  auto kernel = getOperation()->getParentOfType<KernelOp>();
  if (!kernel.getGroups())
    return emitOpError("divides the warps of a kernel with 'groups', but the "
                       "kernel has none; give it the number of warpgroups that "
                       "compute");
  int64_t registers = getRegisters();
  if (registers < 24 || registers > 256 || registers % 8)
    return emitOpError("has 24 to 256 registers a thread in steps of 8, but "
                       "this one has ")
           << registers << "; round it";
  auto outside = [&](Value value) {
    return !getBody().isAncestor(value.getParentRegion());
  };
  WalkResult result = getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      bool isShared = isa<BlockArgument>(operand) ||
                      isa_and_nonnull<RingOp, AllocOp, StagingOp>(def) ||
                      (def && def->hasTrait<OpTrait::ConstantLike>());
      if (outside(operand) && !isShared) {
        op->emitOpError("uses a value of other warps' registers, ")
            << operand.getType()
            << ", but a role has its own; compute it inside the role";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (failed(verifyGroup(*this, kernel)))
    return failure();
  if (getKind() == RoleKind::Reducer)
    for (auto other : kernel.getOps<RoleOp>())
      if (other.getKind() == RoleKind::Producer)
        return emitOpError("loads what its kernel's groups read, but there is "
                           "a producer, too; leave out one");
  if (getKind() != RoleKind::Consumer)
    return success();
  return verifyRegisters(*this, kernel);
}

LogicalResult GroupOp::verify() {
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult TilesOp::verify() {
  Block &block = getBody().front();
  size_t carried = getInits().size();
  if (block.getNumArguments() != 3 + carried)
    return emitOpError("hands its body batch, head, query block and ")
           << carried << " carried values, but the body takes "
           << block.getNumArguments() << "; add or drop arguments";
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) {
    Type want = i < 3 ? Type(IndexType::get(getContext()))
                      : getInits()[i - 3].getType();
    if (argument.getType() != want)
      return emitOpError("hands its body ")
             << want << " as argument " << i << ", but that is "
             << argument.getType() << "; use the value's type";
  }
  auto end = cast<EndTileOp>(block.getTerminator());
  if (end.getValues().getTypes() != getInits().getTypes())
    return emitOpError("carries ")
           << carried << " values of its inits' types, but the body ends with "
           << end.getValues().size() << " values; carry one for each";
  return success();
}

LogicalResult RingOp::verify() {
  if (!groupsOf(*this))
    return emitOpError("goes from role to role, but the kernel has no "
                       "'groups'; use 'warp.channel'");
  for (auto [what, offset, unit] :
       {std::tuple{"slots", getOffset(), int64_t(1024)},
        {"barriers", getBarriers(), int64_t(8)}})
    if (offset && (int64_t(*offset) < 0 || int64_t(*offset) % unit))
      return emitOpError("has its ")
             << what << " at a multiple of " << unit << " bytes, but at "
             << int64_t(*offset) << "; run 'warp-allocate-shared'";
  return verifyPart(*this, getRing().getType().getParts());
}

static LogicalResult verifyStage(Operation *op, Value stage, Value phase) {
  if (bool(stage) == bool(phase))
    return success();
  return op->emitOpError("has stage and phase or neither, but only one is "
                         "there; run 'warp-assign-stages'");
}

/// A tensor map is made of each argument that is copied.
static LogicalResult verifyMapped(Operation *op, Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  if (argument && isa_and_nonnull<KernelOp>(argument.getOwner()->getParentOp()))
    return success();
  return op->emitOpError("copies from or to a tensor of the kernel (TMA), but "
                         "its view is no argument of the kernel; pass it");
}

LogicalResult SendOp::verify() {
  RingType ring = getRing().getType();
  auto view = cast<MemRefType>(getView().getType());
  if (view.getElementType() != ring.getElementType())
    return emitOpError("copies elements as they are, but the view holds ")
           << view.getElementType() << " and the ring " << ring.getElementType()
           << "; give both one element type";
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim) || headDim > ring.getShape()[1])
    return emitOpError("moves whole rows, but the view is ")
           << view << " and a slot has " << ring.getShape()[1]
           << " columns; pad the ring to a multiple of 64 at or above a static "
              "head dim";
  if (bool(getValues()) != (ring.getValues() > 0))
    return emitOpError("brings the values that its ring has room for, but ")
           << (getValues() ? "there is no room" : "there are none")
           << "; give the ring 'values' or leave them out";
  if (failed(verifyMapped(*this, getView())) ||
      failed(verifyStage(*this, getStage(), getPhase())))
    return failure();
  return verifyInRole(*this, RoleKind::Producer, /*mayReduce=*/true);
}

/// A slot of `ring`, named by an op of `role`.
static LogicalResult verifySlot(Operation *op, RingType ring,
                                BufferType buffer) {
  BufferType slot = ring.getBufferType();
  if (slot == buffer)
    return success();
  return op->emitOpError("names a slot of its ring, but a slot is ")
         << slot << " and the result is " << buffer << "; use the slot's type";
}

LogicalResult ReceiveOp::verify() {
  if (failed(verifySlot(*this, getRing().getType(), getBuffer().getType())) ||
      failed(verifyStage(*this, getStage(), getPhase())))
    return failure();
  return verifyInRole(*this, RoleKind::Consumer, /*mayReduce=*/true);
}

LogicalResult ReadValuesOp::verify() {
  ReceiveOp receive = getReceive(getBuffer());
  FragmentType type = getFragment().getType();
  int64_t values = receive ? receive.getRing().getType().getValues() : 0;
  if (values && type.isColumns() && type.getElementType().isF32() &&
      type.getShape()[1] == values)
    return verifyInRole(*this, RoleKind::Consumer);
  return emitOpError("reads the values beside a received slot as column "
                     "values, but there are ")
         << values << " and the result is " << type
         << "; receive the slot from a ring with as many 'values'";
}

LogicalResult AcquireOp::verify() {
  RingType ring = getRing().getType();
  if (failed(verifySlot(*this, ring, getBuffer().getType())) ||
      failed(verifyStage(*this, getStage(), getPhase())))
    return failure();
  if (ring.getParts() != groupsOf(*this))
    return emitOpError(
               "names the group's own part of a slot, but the ring has ")
           << ring.getParts() << " parts for " << groupsOf(*this)
           << " groups; give it a part for each";
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult ReclaimOp::verify() {
  RingType ring = getRing().getType();
  if (failed(verifySlot(*this, ring, getBuffer().getType())))
    return failure();
  auto role = getOperation()->getParentOfType<RoleOp>();
  if (ring.getDepth() == 1 && ring.getParts() == 1 && role && role.getGroup())
    return success();
  return emitOpError("takes back the one slot of a ring without parts for the "
                     "group whose role it is in, but the ring is ")
         << ring << " and the role is "
         << (role && role.getGroup() ? "a group's" : "no group's own")
         << "; use a ring that is sent once";
}

LogicalResult CommitOp::verify() {
  if (!getBuffer().getDefiningOp<AcquireOp>())
    return emitOpError("hands over what 'warp.acquire' named, but the buffer "
                       "comes from elsewhere; commit an acquired one");
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult SkipOp::verify() {
  if (failed(verifyStage(*this, getStage(), getPhase())))
    return failure();
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult ReleaseOp::verify() {
  if (!getReceive(getBuffer()) || getBuffer().getDefiningOp<AliasOp>())
    return emitOpError("gives back what 'warp.receive' named, but the buffer "
                       "comes from elsewhere; release a received one");
  return verifyInRole(*this, RoleKind::Consumer, /*mayReduce=*/true);
}

LogicalResult ClearRowsOp::verify() {
  if (!getBuffer().getDefiningOp<ReceiveOp>() ||
      getBuffer().getType().getParts() != 1)
    return emitOpError("clears rows of a slot that all groups read, but the "
                       "buffer is ")
           << getBuffer().getType()
           << (getBuffer().getDefiningOp<ReceiveOp>() ? ""
                                                      : " and not received")
           << "; receive it from a ring of one part";
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult WgmmaOp::verify() {
  BufferType rhs = getRhs().getType();
  FragmentType result = getResult().getType();
  bool reduces = isInReducer(*this);
  int64_t groups = reduces ? 1 : groupsOf(*this), depth = getDepth();
  if (result.getRank() != 2 || !result.getElementType().isF32() ||
      result.getShape()[0] != 64 * groups || result.getShape()[1] > 256)
    return emitOpError("gives 64 rows of f32 a group and at most 256 columns, "
                       "but the result is ")
           << result << " and there are " << groups
           << " groups; choose other tiles";
  if (getAcc() && getAcc().getType() != result)
    return emitOpError("adds to a fragment of the result's type, but that is ")
           << result << " and acc is " << getAcc().getType()
           << "; use one type";
  auto buffer = dyn_cast<BufferType>(getLhs().getType());
  auto fragment = dyn_cast<FragmentType>(getLhs().getType());
  bool transposeA = getTransposeA();
  if ((transposeA || getOrigin()) &&
      (!reduces || !transposeA || !buffer || getTransposeB()))
    return emitOpError(
        "transposes A, and has a part of the product as its "
        "result, in the reducer, with A in shared memory and B "
        "as it is; leave out transpose_a, origin or transpose_b");
  SmallVector<int64_t> origin(2, 0);
  if (auto at = getOrigin())
    origin.assign(at->begin(), at->end());
  int64_t columns = result.getShape()[1];
  bool isInSegment = origin.size() == 2 && origin[1] >= 0 &&
                     origin[1] % 8 == 0 &&
                     (origin[1] % 64 == 0 || origin[1] % 64 + columns <= 64);
  if (!isInSegment || origin[0] % 64 || origin[0] < 0)
    return emitOpError(
               "begins at a row that is a multiple of 64 and in one "
               "segment of 64 columns, or at its first, but origin is [")
           << origin << "] and there are " << columns
           << " columns; use (0, 64) or the like";
  ArrayRef<int64_t> lhs = buffer ? buffer.getShape() : fragment.getShape();
  Type element = buffer ? buffer.getElementType() : fragment.getElementType();
  int64_t k = rhs.getShape()[getTransposeB() ? 1 : 0];
  int64_t n = rhs.getShape()[getTransposeB() ? 0 : 1] - origin[1];
  bool fits = lhs.size() == 2;
  if (fits) {
    int64_t m = lhs[transposeA ? 1 : 0] - origin[0];
    int64_t most = lhs[transposeA ? 0 : 1];
    fits = transposeA ? m >= result.getShape()[0] : m == result.getShape()[0];
    fits &= depth <= most;
  }
  if (!fits || depth < 16 || depth % 16 || depth > k ||
      result.getShape()[1] > n || element != rhs.getElementType())
    return emitOpError("multiplies M x K by K x N into M x N in steps of 16, "
                       "but the operands are ")
           << getLhs().getType() << " and " << rhs << ", depth is " << depth
           << " and the result " << result << "; make M, K and N agree";
  if (rhs.getSegment() != 64 || (buffer && buffer.getSegment() != 64))
    return emitOpError("reads tiles with segments of 64 (128-byte swizzle), "
                       "but the operands are ")
           << getLhs().getType() << " and " << rhs << "; use segments of 64";
  return verifyInRole(*this, RoleKind::Consumer, /*mayReduce=*/true);
}

LogicalResult SettleOp::verify() {
  if (int64_t(getPending()) < 0 || getInputs().empty())
    return emitOpError("waits for some fragments and leaves 0 or more products "
                       "under way, but there are ")
           << getInputs().size() << " fragments and 'pending' is "
           << int64_t(getPending()) << "; run 'warp-place-settles'";
  return verifyInRole(*this, RoleKind::Consumer, /*mayReduce=*/true);
}

LogicalResult StagingOp::verify() {
  if (!groupsOf(*this))
    return emitOpError("belongs to a reducer, but the kernel has no 'groups'; "
                       "use 'warp.add_sums'");
  if (auto offset = getOffset();
      offset && (int64_t(*offset) < 0 || int64_t(*offset) % 128))
    return emitOpError("has its slots at a multiple of 128 bytes, but at ")
           << int64_t(*offset) << "; run 'warp-allocate-shared'";
  return success();
}

static LogicalResult verifyStaged(Operation *op, StagingType staging,
                                  int64_t slot, int64_t columns) {
  if (slot < 0 || slot >= staging.getDepth() || columns < 8 || columns % 8 ||
      columns > staging.getShape()[1])
    return op->emitOpError("moves columns in groups of 8 through a slot, but "
                           "the room is ")
           << staging << ", the slot " << slot << " and there are " << columns
           << " columns; use a wider slot that is there";
  return verifyInRole(op, RoleKind::Reducer);
}

LogicalResult StageSumsOp::verify() {
  FragmentType fragment = getFragment().getType();
  if (fragment.getRank() != 2 || fragment.getShape()[0] != 64 ||
      !fragment.getElementType().isF32())
    return emitOpError("stages 64 rows of f32, but the fragment is ")
           << fragment << "; stage a product of the reducer";
  return verifyStaged(*this, getStaging().getType(), getSlot(),
                      fragment.getShape()[1]);
}

LogicalResult SendSumsOp::verify() {
  auto view = cast<MemRefType>(getView().getType());
  int64_t first = getFirst(), count = getCount();
  if (!view.getElementType().isF32() ||
      ShapedType::isDynamic(view.getDimSize(3)) || first < 0 || first % 8 ||
      first + count > view.getDimSize(3))
    return emitOpError("adds to whole groups of 8 columns of f32 sums, but the "
                       "view is ")
           << view << " and the columns are " << first << " to "
           << first + count - 1 << "; choose columns that are there";
  return verifyStaged(*this, getStaging().getType(), getSlot(), count);
}

LogicalResult AddPackedOp::verify() {
  FragmentType fragment = getFragment().getType();
  auto view = cast<MemRefType>(getView().getType());
  int64_t first = getFirst();
  bool fits = fragment.getRank() == 2 && fragment.getShape()[0] == 64 &&
              fragment.getElementType().isF32() &&
              view.getElementType().isF32() && first >= 0 && first % 8 == 0 &&
              !ShapedType::isDynamic(view.getDimSize(3)) &&
              first + fragment.getShape()[1] <= view.getDimSize(3);
  if (fits)
    return verifyInRole(*this, RoleKind::Reducer);
  return emitOpError(
             "adds 64 rows of f32 to whole groups of 8 columns, but the "
             "fragment is ")
         << fragment << ", the view " << view << " and the first column "
         << first << "; choose columns that are there";
}

LogicalResult EmitOp::verify() {
  FragmentType fragment = getFragment().getType();
  BufferType buffer = getBuffer().getType();
  auto view = cast<MemRefType>(getView().getType());
  if (fragment.getRank() != 2 ||
      fragment.getShape()[0] != buffer.getShape()[0] ||
      fragment.getShape()[1] > buffer.getShape()[1] ||
      fragment.getElementType() != buffer.getElementType() ||
      view.getElementType() != buffer.getElementType() ||
      buffer.getParts() != groupsOf(*this))
    return emitOpError("moves a tile through a buffer with a part for each "
                       "group, but the fragment is ")
           << fragment << ", the buffer " << buffer << " and the view " << view
           << "; give them the same rows and element type";
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim) || headDim > fragment.getShape()[1])
    return emitOpError("writes whole rows, but the view is ")
           << view << " and the fragment has " << fragment.getShape()[1]
           << " columns; pad the fragment to the head dim";
  if (failed(verifyMapped(*this, getView())))
    return failure();
  return verifyInRole(*this, RoleKind::Consumer);
}

LogicalResult AliasOp::verify() {
  BufferType from = getBuffer().getType(), to = getResult().getType();
  if (to.getBytes() <= from.getBytes() && to.getParts() == from.getParts() &&
      to.getBytes() / to.getParts() <= from.getBytes() / from.getParts())
    return success();
  return emitOpError("names bytes that are there, but the buffer is ")
         << from << " and the result " << to
         << "; use a shape that is not larger, with as many parts";
}

/// Whole rows of a view, two elements at a time.
static LogicalResult verifyFetch(Operation *op, MemRefType view, Type element,
                                 int64_t columns) {
  int64_t headDim = view.getDimSize(3);
  if (ShapedType::isDynamic(headDim) || headDim % 2 || headDim > columns ||
      view.getElementType() != element)
    return op->emitOpError("reads rows of a static, even head dim of at most "
                           "the tile's columns, but the view is ")
           << view << " and the tile has " << columns << " columns of "
           << element << "; pad the tile";
  return success();
}

LogicalResult FetchOp::verify() {
  FragmentType type = getFragment().getType();
  if (type.getRank() != 2 || type.getElementType().isF32())
    return emitOpError("fetches a tile of 16-bit elements, but the result is ")
           << type << "; use a rank-2 fragment of the view's element type";
  return verifyFetch(*this, cast<MemRefType>(getView().getType()),
                     type.getElementType(), type.getShape()[1]);
}

LogicalResult MmaFetchOp::verify() {
  FragmentType lhs = getLhs().getType(), acc = getAcc().getType();
  if (lhs.getRank() != 2 || acc.getRank() != 2 ||
      lhs.getShape()[0] != acc.getShape()[0] || lhs.getShape()[1] % 16 ||
      acc.getShape()[1] % 16 || !acc.getElementType().isF32())
    return emitOpError("multiplies M x K by K x N into M x N f32 in steps of "
                       "16, but the left tile is ")
           << lhs << " and the accumulator " << acc << "; pad them";
  if (getGuarded() && getTransposeB())
    return emitOpError("is guarded by weights and a plain B, but it has both "
                       "guarded and transpose_b; leave out one");
  return verifyFetch(*this, cast<MemRefType>(getView().getType()),
                     lhs.getElementType(),
                     getTransposeB() ? lhs.getShape()[1] : acc.getShape()[1]);
}
