//===- Overlap.cpp - tile-overlap -----------------------------------------===//
//
// After tile-lazy-rescale and before tile-expand-softmax. In: kernels whose
// roles say `overlap`, with a chain of key loops (KeyLoop.h) on one stream of K
// and one of V. Out: the same, with block j's scores beside block j - 1's
// product with V: a prologue up to block lo's softmax, the loops from lo + 1
// on, and block hi - 1's product with V behind them.
//
// The streams' contract (each block of lo to hi once, in order) is what makes
// hi - 1 the block whose P is left over, whatever the bounds between the loops.
//
//===----------------------------------------------------------------------===//
#include "KeyLoop.h"

#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace flashc::tile {
#define GEN_PASS_DEF_TILEOVERLAP
#include "Tile/TilePasses.h.inc"

namespace {
/// What the loops carry while they are overlapped.
struct Carried {
  Value acc, rowMax, rowSum, probs;
};

class Overlapper {
public:
  Overlapper(ImplicitLocOpBuilder &b, KeyChain &chain)
      : b(b), chain(chain),
        keys(chain.front().keyNext.getStream().getDefiningOp<StreamOp>()),
        values(chain.front().valueNext.getStream().getDefiningOp<StreamOp>()) {}

  void run();

private:
  void buildBounds();
  Carried buildFirstBlock();
  Carried buildLoop(KeyLoop &old, Carried carried);
  Value buildLastProduct(Carried carried);
  Value buildProduct(Value block, Value probs, Value acc);
  Value buildScores(KeyLoop &old, IRMapping &mapping);
  void cloneWhereKeysAre(MapOp map, IRMapping &mapping);
  void cloneWhereMasked(MaskOp mask, IRMapping &mapping);
  Value buildIsFull();
  KeyLoop &chooseFirst();
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  ImplicitLocOpBuilder &b;
  KeyChain &chain;
  StreamOp keys, values;
  Value lo, lo1, hi, hi1; // lo1 = lo + 1, hi1 = max(hi, lo1)
};

/// In front of both streams, which then go on to hi1.
void Overlapper::buildBounds() {
  StreamOp first = keys->isBeforeInBlock(values) ? keys : values;
  lo = first.getLo();
  hi = first.getHi();
  b.setInsertionPoint(first);
  lo1 = b.createOrFold<arith::AddIOp>(lo, index(1));
  hi1 = b.createOrFold<arith::MaxSIOp>(hi, lo1);
  for (StreamOp stream : {keys, values})
    stream.getHiMutable().assign(hi1);
}

/// Block lo may be past the end, so it takes the form that has the mask, which
/// hides nothing of a full block.
KeyLoop &Overlapper::chooseFirst() {
  auto masked = llvm::find_if(chain, [](KeyLoop &k) { return k.isMasked; });
  return masked == chain.end() ? chain.front() : *masked;
}

Value Overlapper::buildScores(KeyLoop &old, IRMapping &mapping) {
  Value number = old.keyNext.getBlock();
  mapping.map(number, cloneIndex(b, number, old.loop,
                                 mapping.lookup(old.loop.getInductionVar())));
  b.clone(*old.keyNext, mapping);
  return cast<DotOp>(b.clone(*old.scores, mapping)).getResult();
}

/// acc + P V of block number `block`.
Value Overlapper::buildProduct(Value block, Value probs, Value acc) {
  KeyLoop &old = chain.front();
  Value number = cloneIndex(b, old.valueNext.getBlock(), old.loop, block);
  Value tile =
      NextOp::create(b, old.valueNext.getTile().getType(), values, number);
  IRMapping mapping;
  mapping.map(old.values.getLhs(), probs);
  mapping.map(old.values.getRhs(), tile);
  mapping.map(old.values.getAcc(), acc);
  auto product = cast<DotOp>(b.clone(*old.values, mapping));
  product.setGuarded(
      llvm::any_of(chain, [](KeyLoop &k) { return k.values.getGuarded(); }));
  return product;
}

/// A score function in a block past the end: what it reads may be empty.
void Overlapper::cloneWhereKeysAre(MapOp map, IRMapping &mapping) {
  Value some = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, lo, hi);
  auto branch = scf::IfOp::create(b, map.getResultTypes(), some,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  Operation *copy = b.clone(*map, mapping);
  scf::YieldOp::create(b, copy->getResults());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, mapping.lookupOrDefault(map.getInputs().front()));
  mapping.map(map.getResults(), branch.getResults());
}

/// Whether block lo is one of a loop without a mask; null if there is none.
Value Overlapper::buildIsFull() {
  Value isFull;
  for (KeyLoop &k : chain) {
    if (k.isMasked)
      continue;
    Value begin = k.loop.getLowerBound(), end = k.loop.getUpperBound();
    Value inside =
        b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, lo, end);
    if (!isEqualConstantIntOrValue(begin, lo)) {
      Value begun =
          b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, begin, lo);
      inside = b.createOrFold<arith::AndIOp>(begun, inside);
    }
    isFull = isFull ? b.createOrFold<arith::OrIOp>(isFull, inside) : inside;
  }
  return isFull;
}

/// The mask hides nothing of a full block, but looking costs as much.
void Overlapper::cloneWhereMasked(MaskOp mask, IRMapping &mapping) {
  Value isFull = buildIsFull();
  if (!isFull) {
    b.clone(*mask, mapping);
    return;
  }
  auto branch = scf::IfOp::create(b, mask->getResultTypes(), isFull,
                                  /*withElse=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, mapping.lookupOrDefault(mask.getScores()));
  b.setInsertionPointToStart(branch.elseBlock());
  Operation *copy = b.clone(*mask, mapping);
  scf::YieldOp::create(b, copy->getResults());
  mapping.map(mask.getResult(), branch.getResult(0));
}

/// Block lo up to its P. The accumulator is still the first one.
Carried Overlapper::buildFirstBlock() {
  KeyLoop &old = chooseFirst();
  Value queries = old.scores.getLhs();
  scf::ForOp loop = chain.front().loop;
  IRMapping mapping;
  mapping.map(old.loop.getInductionVar(), lo);
  mapping.map(old.loop.getRegionIterArgs(), loop.getInitArgs());
  Operation *scores = buildScores(old, mapping).getDefiningOp();
  // Nothing waits for Q before there is something to multiply it with.
  if (auto load = queries.getDefiningOp<LoadOp>();
      load && llvm::all_of(load->getUsers(), [&](Operation *user) {
        return user == scores || llvm::any_of(chain, [&](KeyLoop &k) {
                 return user == k.scores;
               });
      }))
    load->moveBefore(scores);
  for (Operation *op : old.softmax) {
    auto map = dyn_cast<MapOp>(op);
    if (map && readsMemory(map))
      cloneWhereKeysAre(map, mapping);
    else if (auto mask = dyn_cast<MaskOp>(op))
      cloneWhereMasked(mask, mapping);
    else if (op != old.rescale)
      b.clone(*op, mapping);
  }
  return {loop.getInitArgs()[0], mapping.lookup(old.update.getNewMax()),
          mapping.lookup(old.update.getNewSum()),
          mapping.lookup(old.getProbs())};
}

/// The products stand first, the scores before P V: the softmax behind them
/// waits for the first alone.
Carried Overlapper::buildLoop(KeyLoop &old, Carried carried) {
  Value begin = old.loop.getLowerBound();
  begin = isEqualConstantIntOrValue(begin, lo)
              ? lo1
              : b.createOrFold<arith::MaxSIOp>(begin, lo1);
  Value init[] = {carried.acc, carried.rowMax, carried.rowSum, carried.probs};
  auto body = [&](OpBuilder &, Location, Value block, ValueRange carried) {
    IRMapping mapping;
    mapping.map(old.loop.getInductionVar(), block);
    mapping.map(old.loop.getRegionIterArgs(), carried.drop_back());
    buildScores(old, mapping);
    Value before = arith::SubIOp::create(b, block, index(1));
    Value acc = buildProduct(before, carried.back(), carried.front());
    mapping.map(old.loop.getRegionIterArg(0), acc);
    for (Operation *op : old.softmax)
      b.clone(*op, mapping);
    scf::YieldOp::create(b, ValueRange{mapping.lookup(old.rescale.getResult()),
                                       mapping.lookup(old.update.getNewMax()),
                                       mapping.lookup(old.update.getNewSum()),
                                       mapping.lookup(old.getProbs())});
  };
  auto loop = scf::ForOp::create(b, begin, old.loop.getUpperBound(),
                                 old.loop.getStep(), init, body);
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2),
          loop.getResult(3)};
}

Value Overlapper::buildLastProduct(Carried carried) {
  Value last = arith::SubIOp::create(b, hi1, index(1));
  return buildProduct(last, carried.probs, carried.acc);
}

void Overlapper::run() {
  buildBounds();
  b.setInsertionPoint(chain.front().loop);
  Carried carried = buildFirstBlock();
  for (KeyLoop &old : chain)
    carried = buildLoop(old, carried);
  carried.acc = buildLastProduct(carried);
  chain.back().loop.replaceAllUsesWith(
      ValueRange{carried.acc, carried.rowMax, carried.rowSum});
  for (KeyLoop &old : llvm::reverse(chain))
    old.loop.erase();
}

struct TileOverlap : impl::TileOverlapBase<TileOverlap> {
  using Base::Base;
  void runOnOperation() override {
    getOperation()->walk([&](KernelOp kernel) {
      RolesAttr roles = kernel.getSchedule().getRoles();
      if (!roles || !roles.getOverlap())
        return;
      KeyChain chain = findKeyChain(kernel);
      if (chain.empty())
        return;
      ImplicitLocOpBuilder b(chain.front().loop.getLoc(), &getContext());
      Overlapper(b, chain).run();
    });
  }
};
} // namespace
} // namespace flashc::tile
