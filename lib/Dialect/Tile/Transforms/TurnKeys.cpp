//===- TurnKeys.cpp - tile-turn-keys --------------------------------------===//
//
// After tile-stream-loads and before tile-overlap. In: chains of key loops
// whose scores have a bias by distance. Out: the same, where the blocks of the
// first loop up to the nearest one come in descending order.
//
// A bias that rises towards the diagonal raises the row maxima with each block
// that comes nearer, by more than a lazy maximum bears where the slope is
// steep. From the nearest block on they stay.
//
//===----------------------------------------------------------------------===//
#include "DistanceBias.h"
#include "Rescale.h"

#include "flashc/Dialect/Tile/IR/OwnRows.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILETURNKEYS
#include "Tile/TilePasses.h.inc"

namespace {
/// Whether `slope` is minus something, times a scale or not.
bool isMinus(Value slope) {
  if (auto product = slope.getDefiningOp<arith::MulFOp>())
    slope = product.getLhs();
  return bool(slope.getDefiningOp<arith::NegFOp>());
}

/// The bias of a loop without a mask, which rises with the keys or falls to
/// both sides of a row's own.
std::optional<DistanceBias> findBias(scf::ForOp loop) {
  auto updates = loop.getBody()->getOps<SoftmaxUpdateOp>();
  if (!llvm::hasSingleElement(updates))
    return std::nullopt;
  std::optional<DistanceBias> bias =
      matchDistanceBias((*updates.begin()).getScores());
  if (!bias || isMinus(bias->slope) != bias->isAbsolute)
    return std::nullopt;
  return bias;
}

/// The loops that read what `first` reads, which it begins; empty if it does
/// not, if they are no key loops, or if groups skip blocks at either end.
SmallVector<scf::ForOp> findChain(scf::ForOp first) {
  SmallVector<scf::ForOp> chain;
  for (auto next : first.getBody()->getOps<NextOp>()) {
    auto stream = next.getStream().getDefiningOp<StreamOp>();
    if (!stream ||
        !isEqualConstantIntOrValue(stream.getLo(), first.getLowerBound()) ||
        isOfOwnRows(stream.getLo()) || isOfOwnRows(stream.getHi()))
      return {};
    for (Operation *user : stream->getUsers()) {
      auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
      if (!loop || loop->getBlock() != first->getBlock() ||
          !isConstantIntValue(loop.getStep(), 1))
        return {};
      if (!llvm::is_contained(chain, loop))
        chain.push_back(loop);
    }
  }
  return chain;
}

class Turner {
public:
  Turner(scf::ForOp first, DistanceBias bias)
      : b(first.getLoc(), first), first(first), bias(bias) {}
  void run(ArrayRef<scf::ForOp> chain);

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value buildTurn();

  ImplicitLocOpBuilder b;
  scf::ForOp first;
  DistanceBias bias;
};

/// The block behind the nearest one of the last row: the bias rises up to
/// there, or to the end of the loop.
Value Turner::buildTurn() {
  Value end = first.getUpperBound();
  if (!bias.isAbsolute)
    return end;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(bias.map.getResult(0).getType()).getShape();
  Value rows =
      arith::AddIOp::create(b, bias.row(), index(shape[0] - 1 + shape[1]));
  Value behind = arith::DivUIOp::create(b, rows, index(shape[1]));
  return arith::MinSIOp::create(b, behind, end);
}

/// Block lo + turn - 1 - j in place of j < turn.
void Turner::run(ArrayRef<scf::ForOp> chain) {
  Value turn = buildTurn();
  Value last = arith::SubIOp::create(b, turn, index(1));
  Value ends = b.createOrFold<arith::AddIOp>(last, first.getLowerBound());
  for (scf::ForOp loop : chain) {
    b.setInsertionPointToStart(loop.getBody());
    Value j = loop.getInductionVar();
    Value isBefore =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, j, turn);
    Value mirrored = arith::SubIOp::create(b, ends, j);
    Value block = arith::SelectOp::create(b, isBefore, mirrored, j);
    j.replaceUsesWithIf(block, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return user != isBefore.getDefiningOp() &&
             user != mirrored.getDefiningOp() && user != block.getDefiningOp();
    });
  }
}

struct TileTurnKeys : impl::TileTurnKeysBase<TileTurnKeys> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) {
      if (getRoles(loop) && isa<KernelOp>(loop->getParentOp()))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      if (std::optional<DistanceBias> bias = findBias(loop))
        if (SmallVector<scf::ForOp> chain = findChain(loop); !chain.empty())
          Turner(loop, *bias).run(chain);
  }
};
} // namespace
} // namespace flashc::tile
