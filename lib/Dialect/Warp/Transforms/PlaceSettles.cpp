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

class SettlePlacer {
public:
  void run(Block &block);

private:
  void settleFor(Operation *user);
  void settle(Operation *before, size_t count);
  void release(Block &block);

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

/// Settles what `user`, or an op inside it, touches.
void SettlePlacer::settleFor(Operation *user) {
  size_t count = 0;
  for (auto [i, product] : llvm::enumerate(pending))
    for (Operation *toucher : product->getUsers())
      if (user->isAncestor(toucher))
        count = i + 1;
  if (count)
    settle(user, count);
}

void SettlePlacer::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    settleFor(&op);
    if (auto product = dyn_cast<WgmmaOp>(op)) {
      pending.push_back(product);
      continue;
    }
    bool isLoop = isa<scf::ForOp, TilesOp>(op);
    if (!pending.empty() && (isLoop || op.hasTrait<OpTrait::IsTerminator>()))
      settle(&op, pending.size());
    if (isLoop) {
      run(op.getRegion(0).front());
      assert(pending.empty() && "settled at the body's end");
    }
  }
  release(block);
}

/// The last op of `block` that reads the buffer, itself or through an alias.
Operation *getLastReader(Value buffer, Block *block, Operation *last) {
  for (Operation *user : buffer.getUsers()) {
    Operation *op = getAncestor(user, block);
    if (op && last->isBeforeInBlock(op))
      last = op;
    if (auto alias = dyn_cast<AliasOp>(user))
      last = getLastReader(alias.getResult(), block, last);
  }
  return last;
}

/// Behind the settle that covers the last reader, which for a product is the
/// one that names its result.
void SettlePlacer::release(Block &block) {
  for (auto receive : llvm::make_early_inc_range(block.getOps<ReceiveOp>())) {
    Operation *last = getLastReader(receive.getBuffer(), &block, receive);
    if (auto product = dyn_cast<WgmmaOp>(last))
      for (Operation *user : product->getUsers())
        if (isa<SettleOp>(user))
          last = user;
    OpBuilder b(last);
    b.setInsertionPointAfter(last);
    ReleaseOp::create(b, receive.getLoc(), receive.getBuffer());
  }
}

struct WarpPlaceSettles : impl::WarpPlaceSettlesBase<WarpPlaceSettles> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([](RoleOp role) {
      if (role.getKind() == RoleKind::Consumer)
        SettlePlacer().run(role.getBody().front());
    });
  }
};
} // namespace
} // namespace flashc::warp
