// Verifiers of roles and tiles, and what those of the ops inside roles share.
#include "RoleVerifiers.h"

using namespace mlir;
using namespace flashc::warp;

/// Registers of a multiprocessor; each thread of a launched block gets a
/// multiple of 8 of them.
static constexpr int64_t kRegisterFile = 65536;

namespace flashc::warp {
int64_t groupsOf(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (role && role.getGroup())
    return 1;
  auto kernel = op->getParentOfType<KernelOp>();
  return kernel ? kernel.getGroups().value_or(0) : 0;
}

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

SmallVector<RoleOp> getConsumers(KernelOp kernel) {
  auto roles = llvm::filter_to_vector(kernel.getOps<RoleOp>(), [](RoleOp role) {
    return role.getKind() == RoleKind::Consumer;
  });
  llvm::sort(roles, [](RoleOp a, RoleOp b) {
    return a.getGroup().value_or(0) < b.getGroup().value_or(0);
  });
  return llvm::SmallVector<RoleOp>(roles);
}

bool isInReducer(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  return role && role.getKind() == RoleKind::Reducer;
}

LogicalResult verifyInRole(Operation *op, RoleKind kind, bool mayReduce) {
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

LogicalResult verifyMapped(Operation *op, Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  if (argument && isa_and_nonnull<KernelOp>(argument.getOwner()->getParentOp()))
    return success();
  return op->emitOpError("copies from or to a tensor of the kernel (TMA), but "
                         "its view is no argument of the kernel; pass it");
}

} // namespace flashc::warp

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
