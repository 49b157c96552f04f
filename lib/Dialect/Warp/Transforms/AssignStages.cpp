// warp-assign-stages: stage and phase of every send and receive of kernels with
// roles. In: roles whose rings are used in program order. Out: the same, with
// two i32 values for each ring carried through the loops and tiles that use it.
//
// Loops are rebuilt from the inside out with their rings' state appended to
// what they carry; a walk in program order then threads the state through. Two
// rings of one depth of which a loop takes a slot each in each iteration go
// round together, so one carries the state of both.
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
  /// Slots taken before, where that is known.
  std::optional<int64_t> count = std::nullopt;
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

bool takesOne(scf::ForOp loop, Side ring) {
  int64_t inside = 0, nested = 0;
  loop.walk([&](Operation *op) {
    if (getUsedRing(op) != ring)
      return;
    Operation *parent = op->getParentOp();
    bool isInBranch = isa<scf::IfOp>(parent) && parent->getParentOp() == loop;
    (parent == loop || isInBranch ? inside : nested) += 1;
  });
  return inside == 1 && nested == 0;
}

int64_t getDepth(Side ring) {
  return cast<RingType>(ring.first.getType()).getDepth();
}

/// A ring that goes round with another, `ahead` slots ahead of it.
struct Follower {
  Side ring, leader;
  int64_t ahead;
};

/// The rings that a loop carries the state of, and those that follow one of
/// them: at the same slot, or where a few exclusive ors say how much ahead.
struct Carried {
  SmallVector<Side> leaders;
  SmallVector<Follower> followers;
  Carried(scf::ForOp loop, const Stages &stages);
};

Carried::Carried(scf::ForOp loop, const Stages &stages) {
  auto follow = [&](Side ring) {
    std::optional<int64_t> own = stages.find(ring)->second.count;
    int64_t depth = getDepth(ring);
    for (Side leader : leaders) {
      std::optional<int64_t> other = stages.find(leader)->second.count;
      if (!own || !other || getDepth(leader) != depth ||
          !takesOne(loop, ring) || !takesOne(loop, leader))
        continue;
      int64_t ahead = llvm::mod(*own - *other, 2 * depth);
      if (ahead && depth > 2)
        continue;
      followers.push_back({ring, leader, ahead});
      return true;
    }
    return false;
  };
  for (Side ring : getRings(loop))
    if (!follow(ring))
      leaders.push_back(ring);
}

void setFollowers(OpBuilder &b, Location loc, Stages &stages,
                  ArrayRef<Follower> followers) {
  for (const Follower &follower : followers) {
    Stage stage = stages[follower.leader];
    for (int64_t i = 0; i < follower.ahead; ++i) {
      auto next = AdvanceOp::create(b, loc, stage.stage, stage.phase,
                                    getDepth(follower.ring));
      stage = {next.getNextStage(), next.getNextPhase()};
    }
    stages[follower.ring] = stage;
  }
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
  auto next = AdvanceOp::create(b, op->getLoc(), stage.stage, stage.phase,
                                getDepth(ring));
  if (stage.count)
    ++*stage.count;
  stage.stage = next.getNextStage();
  stage.phase = next.getNextPhase();
}

LogicalResult StageAssigner::runFor(scf::ForOp loop, Stages &stages) {
  Carried carried(loop, stages);
  ArrayRef<Side> rings = carried.leaders;
  if (rings.empty())
    return success();
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  LogicalResult inside = success();
  auto added = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, flatten(stages, rings), /*replaceInitOperandUses=*/false,
      [&](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
        Stages body = stages;
        setStages(body, rings,
                  SmallVector<Value>(arguments.begin(), arguments.end()));
        OpBuilder atStart = OpBuilder::atBlockBegin(loop.getBody());
        setFollowers(atStart, loc, body, carried.followers);
        inside = run(*loop.getBody(), body);
        return flatten(body, rings);
      }));
  if (failed(inside))
    return failure();
  setStages(stages, rings, added.getResults().take_back(2 * rings.size()));
  OpBuilder behind(added->getContext());
  behind.setInsertionPointAfter(added);
  setFollowers(behind, loc, stages, carried.followers);
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
        stages[ring] = {zero, zero, 0};
      if (failed(StageAssigner().run(body, stages)))
        return signalPassFailure();
    }
  }
};
} // namespace
} // namespace flashc::warp
