// Verifiers of the `warp` ops on rings between roles.
#include "RoleVerifiers.h"

using namespace mlir;
using namespace flashc::warp;

static LogicalResult verifyPart(Operation *op, int64_t parts) {
  int64_t groups = groupsOf(op);
  if (parts == 1 || parts == groups)
    return success();
  return op->emitOpError("has a part for each warpgroup that computes, but "
                         "there are ")
         << parts << " parts and " << groups << " groups; use 1 or " << groups
         << " parts";
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
  int64_t groups = groupsOf(*this);
  if (ring.getDepth() != 1 || ring.getParts() != groups)
    return emitOpError("takes back the group's own part of a ring's one slot, "
                       "but the ring is ")
           << ring << " for " << groups << (groups == 1 ? " group" : " groups")
           << "; use a ring that is sent once, with a part for each group";
  return verifyInRole(*this, RoleKind::Consumer);
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
