// warp-place-settles: waits for products, and releases of received slots. In:
// the consumer's products, started in program order. Out: a settle before the
// first op that touches a result, and a release behind the last reader.
//
// A warpgroup's products end in the order they were started, so a settle that
// leaves n under way covers all but the n newest.
#include "flashc/Dialect/Warp/IR/Warp.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPPLACESETTLES
#include "Warp/WarpPasses.h.inc"

namespace {

/// The op of `block` that is `op` or holds it.
Operation *getAncestor(Operation *op, Block *block) {
  return block->findAncestorOpInBlock(*op);
}

/// Products that a group has under way at a time where a reducer takes part of
/// the work: with more, registers are short.
constexpr size_t kMostPending = 2;

class SettlePlacer {
public:
  /// With `eager`, products are settled one by one where there is time.
  explicit SettlePlacer(bool eager) : eager(eager) {}
  void run(Block &block);

private:
  void settleAll(Operation *before);
  void settleFor(Operation *user);
  void settle(Operation *before, size_t count);
  void release(Block &block);
  void releaseBehind(Value buffer, Block &block, Operation *last);

  bool eager;
  /// Products that are under way, oldest first.
  SmallVector<WgmmaOp> pending;
};

/// Before `before`: a settle of the `count` oldest products. Their uses from
/// there on are its results'.
void SettlePlacer::settle(Operation *before, size_t count) {
  SmallVector<Value> values;
  for (WgmmaOp product : ArrayRef(pending).take_front(count))
    values.push_back(product.getResult());
  OpBuilder b(before);
  auto settle =
      SettleOp::create(b, before->getLoc(), ValueRange(values).getTypes(),
                       values, pending.size() - count);
  for (auto [value, settled] : llvm::zip_equal(values, settle.getResults()))
    value.replaceUsesWithIf(
        settled, [&](OpOperand &use) { return use.getOwner() != settle; });
  pending.erase(pending.begin(), pending.begin() + count);
}

/// `user`, or a read in front of it that is for it alone: read behind the wait,
/// values take no registers beside what is under way.
Operation *getOwnRead(Operation *user) {
  Operation *read = user->getPrevNode();
  bool isForUser = read && isa<ReadValuesOp>(read) &&
                   llvm::all_of(read->getUsers(), [&](Operation *other) {
                     return other == user;
                   });
  return isForUser ? read : user;
}

/// Settles what `user`, or an op inside it, touches.
void SettlePlacer::settleFor(Operation *user) {
  size_t count = 0;
  for (auto [i, product] : llvm::enumerate(pending))
    for (Operation *toucher : product->getUsers())
      if (user->isAncestor(toucher))
        count = i + 1;
  Operation *before = count ? getOwnRead(user) : user;
  while (eager && count > 1) {
    settle(before, 1);
    --count;
  }
  if (count)
    settle(before, count);
}

/// Before `before`: settles of all products. One by one, what each one reads is
/// given back while the others run.
void SettlePlacer::settleAll(Operation *before) {
  while (eager && pending.size() > 1)
    settle(before, 1);
  if (!pending.empty())
    settle(before, pending.size());
}

void SettlePlacer::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    bool isLoop = isa<scf::ForOp, TilesOp>(op);
    bool isEnd = isLoop || op.hasTrait<OpTrait::IsTerminator>();
    if (isEnd && eager)
      settleAll(&op);
    settleFor(&op);
    if (auto product = dyn_cast<WgmmaOp>(op)) {
      if (eager && pending.size() == kMostPending)
        settle(&op, 1);
      pending.push_back(product);
      continue;
    }
    if (isEnd)
      settleAll(&op);
    if (isLoop) {
      run(op.getRegion(0).front());
      assert(pending.empty() && "settled at the body's end");
    }
  }
  release(block);
}

/// The op at which `reader` has read: for a product, the settle that names its
/// result.
Operation *getEnd(Operation *reader) {
  if (isa<WgmmaOp>(reader))
    for (Operation *user : reader->getUsers())
      if (isa<SettleOp>(user))
        return user;
  return reader;
}

/// The last op of `block` at which the buffer is read, itself or through an
/// alias.
Operation *getLastReader(Value buffer, Block *block, Operation *last) {
  for (Operation *user : buffer.getUsers()) {
    if (Operation *op = getAncestor(user, block)) {
      op = getEnd(op);
      if (!last || last->isBeforeInBlock(op))
        last = op;
    }
    if (auto alias = dyn_cast<AliasOp>(user))
      last = getLastReader(alias.getResult(), block, last);
  }
  return last;
}

void SettlePlacer::releaseBehind(Value buffer, Block &block, Operation *last) {
  for (Operation *user : buffer.getUsers())
    if (isa<scf::YieldOp>(user) ||
        (isa<scf::ForOp>(user) && user->getBlock() == &block))
      return; // handed on
  last = getLastReader(buffer, &block, last);
  OpBuilder b = last ? OpBuilder(last) : OpBuilder::atBlockBegin(&block);
  if (last)
    b.setInsertionPointAfter(last);
  ReleaseOp::create(b, buffer.getLoc(), buffer);
}

/// Slots that are received here, that the loop around carries, and that a loop
/// leaves behind.
void SettlePlacer::release(Block &block) {
  for (BlockArgument argument : block.getArguments())
    if (isa<BufferType>(argument.getType()))
      releaseBehind(argument, block, /*last=*/nullptr);
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isa<ReceiveOp, scf::ForOp>(op))
      for (Value result : op.getResults())
        if (isa<BufferType>(result.getType()))
          releaseBehind(result, block, &op);
}

struct WarpPlaceSettles : impl::WarpPlaceSettlesBase<WarpPlaceSettles> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](RoleOp role) {
      auto kernel = role->getParentOfType<KernelOp>();
      RoleOp loading = getLoadingRole(kernel);
      bool reduces = loading && loading.getKind() == RoleKind::Reducer;
      if (role.getKind() != RoleKind::Producer)
        SettlePlacer(reduces).run(role.getBody().front());
    });
  }
};
} // namespace
} // namespace flashc::warp
