// warp-assign-stages: stage and phase of every send and receive of kernels with
// roles. In: roles whose rings are used in program order. Out: the same, with
// two i32 values for each ring carried through the loops and tiles that use it.
//
// Loops are rebuilt from the inside out with their rings' state appended to
// what they carry; a walk in program order then threads the state through.
#include "flashc/Dialect/Warp/IR/Warp.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPASSIGNSTAGES
#include "Warp/WarpPasses.h.inc"

namespace {

struct Stage {
  Value stage, phase;
};
/// A ring, and whether its slots are filled or read: a reducer may do both.
enum class Use : char { None, Fill, Read };
using Side = std::pair<Value, Use>;
using Stages = llvm::MapVector<Side, Stage>;

/// The ring that an op takes a slot of, or null.
Side getUsedRing(Operation *op) {
  if (auto send = dyn_cast<SendOp>(op))
    return {send.getRing(), Use::Fill};
  if (auto receive = dyn_cast<ReceiveOp>(op))
    return {receive.getRing(), Use::Read};
  if (auto skip = dyn_cast<SkipOp>(op))
    return {skip.getRing(), Use::Read};
  if (auto acquire = dyn_cast<AcquireOp>(op))
    return {acquire.getRing(), Use::Fill};
  return {Value(), Use::None};
}

llvm::SetVector<Side> getRings(Operation *root) {
  llvm::SetVector<Side> rings;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (Side ring = getUsedRing(op); ring.first)
      rings.insert(ring);
  });
  return rings;
}

SmallVector<Value> flatten(const Stages &stages, ArrayRef<Side> rings) {
  SmallVector<Value> values;
  for (Side ring : rings) {
    const Stage &stage = stages.find(ring)->second;
    values.append({stage.stage, stage.phase});
  }
  return values;
}

void setStages(Stages &stages, ArrayRef<Side> rings, ValueRange values) {
  for (auto [i, ring] : llvm::enumerate(rings))
    stages[ring] = {values[2 * i], values[2 * i + 1]};
}

class StageAssigner {
public:
  LogicalResult run(Block &block, Stages &stages);

private:
  LogicalResult runFor(scf::ForOp loop, Stages &stages);
  LogicalResult runTiles(TilesOp tiles, Stages &stages);
  void runUse(Operation *op, Side ring, Stages &stages, Operation *last);
  LogicalResult runIf(scf::IfOp branch, Stages &stages);
};

/// A use, whose ring goes on to the next slot behind `last`.
void StageAssigner::runUse(Operation *op, Side ring, Stages &stages,
                           Operation *last) {
  Stage &stage = stages[ring];
  llvm::TypeSwitch<Operation *>(op).Case<SendOp, ReceiveOp, SkipOp, AcquireOp>(
      [&](auto use) {
        use.getStageMutable().assign(stage.stage);
        use.getPhaseMutable().assign(stage.phase);
      });
  OpBuilder b(op);
  b.setInsertionPointAfter(last);
  auto next =
      AdvanceOp::create(b, op->getLoc(), stage.stage, stage.phase,
                        cast<RingType>(ring.first.getType()).getDepth());
  stage = {next.getNextStage(), next.getNextPhase()};
}

LogicalResult StageAssigner::runFor(scf::ForOp loop, Stages &stages) {
  llvm::SetVector<Side> used = getRings(loop);
  if (used.empty())
    return success();
  ArrayRef<Side> rings = used.getArrayRef();
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  LogicalResult inside = success();
  auto added = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, flatten(stages, rings), /*replaceInitOperandUses=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        Stages body = stages;
        setStages(body, rings,
                  SmallVector<Value>(arguments.begin(), arguments.end()));
        inside = run(*loop.getBody(), body);
        return flatten(body, rings);
      }));
  if (failed(inside))
    return failure();
  setStages(stages, rings, added.getResults().take_back(2 * rings.size()));
  return success();
}

LogicalResult StageAssigner::runTiles(TilesOp tiles, Stages &stages) {
  llvm::SetVector<Side> used = getRings(tiles);
  ArrayRef<Side> rings = used.getArrayRef();
  SmallVector<Value> inits(tiles.getInits());
  SmallVector<Value> added = flatten(stages, rings);
  inits.append(added);
  OpBuilder b(tiles);
  auto result = TilesOp::create(b, tiles.getLoc(), ValueRange(inits).getTypes(),
                                inits, tiles.getLongestFirst());
  result->setDiscardableAttrs(tiles->getDiscardableAttrDictionary());
  result.getBody().takeBody(tiles.getBody());
  Block &body = result.getBody().front();
  Stages inside = stages;
  SmallVector<Value> arguments;
  for (Value value : added)
    arguments.push_back(body.addArgument(value.getType(), tiles.getLoc()));
  setStages(inside, rings, arguments);
  if (failed(run(body, inside)))
    return failure();
  body.getTerminator()->insertOperands(body.getTerminator()->getNumOperands(),
                                       flatten(inside, rings));
  tiles->replaceAllUsesWith(
      result.getResults().take_front(tiles.getNumResults()));
  tiles.erase();
  setStages(stages, rings, result.getResults().take_back(2 * rings.size()));
  return success();
}

/// Sends of blocks that may not be there: behind the last one no slot is sent
/// any more, so it does not matter where the ring stands.
LogicalResult StageAssigner::runIf(scf::IfOp branch, Stages &stages) {
  bool sends = branch.getNumResults() == 0 && !branch.elseBlock() &&
               llvm::all_of(*branch.thenBlock(), [](Operation &op) {
                 return isa<SendOp>(op) ||
                        (!getUsedRing(&op).first && op.getNumRegions() == 0);
               });
  if (!sends)
    return branch.emitOpError(
        "takes slots of a ring in one of its branches, but the slots' order "
        "has to be the same whichever is taken; move the send or receive out "
        "of it");
  for (auto send : branch.thenBlock()->getOps<SendOp>())
    runUse(send, getUsedRing(send), stages, branch);
  return success();
}

LogicalResult StageAssigner::run(Block &block, Stages &stages) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (Side ring = getUsedRing(&op); ring.first) {
      runUse(&op, ring, stages, &op);
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(runFor(loop, stages)))
        return failure();
    } else if (auto tiles = dyn_cast<TilesOp>(op)) {
      if (failed(runTiles(tiles, stages)))
        return failure();
    } else if (auto branch = dyn_cast<scf::IfOp>(op);
               branch && !getRings(&op).empty()) {
      if (failed(runIf(branch, stages)))
        return failure();
    } else if (op.getNumRegions() && !getRings(&op).empty()) {
      return op.emitOpError("takes slots of a ring in one of its branches, but "
                            "the slots' order has to be the same whichever is "
                            "taken; move the send or receive out of it");
    }
  }
  return success();
}

struct WarpAssignStages : impl::WarpAssignStagesBase<WarpAssignStages> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<RoleOp> roles;
    getOperation()->walk([&](RoleOp role) { roles.push_back(role); });
    for (RoleOp role : roles) {
      Block &body = role.getBody().front();
      OpBuilder b = OpBuilder::atBlockBegin(&body);
      Stages stages;
      llvm::SetVector<Side> rings = getRings(role);
      if (rings.empty())
        continue;
      Value zero = arith::ConstantIntOp::create(b, role.getLoc(), 0, 32);
      for (Side ring : rings)
        stages[ring] = {zero, zero};
      if (failed(StageAssigner().run(body, stages)))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace flashc::warp
