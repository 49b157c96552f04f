// convert-warp-to-nvvm, kernels with roles: the loop over the tiles.
//
// The producer's one thread draws tiles from a counter in global memory and
// puts each one's coordinates into a queue of two slots in shared memory, with
// a full and an empty barrier each; a negative query block ends the loops. A
// consumer keeps its slot to the tile's end and reads the coordinates anew
// behind each loop, where registers are short. The block that is the last to
// end sets the counter back to zero.
#include "KernelEmitter.h"

using namespace mlir;
using namespace flashc;

/// Tiles that are worked on at one time should share keys in L2: so many bytes
/// of K and V, of the 50 MB that the chip has.
static constexpr int64_t kSectionBytes = int64_t(32) << 20;

Value KernelEmitter::queueBarrier(Value slot, bool full) {
  return sharedAt(*kernel.getQueue() + (full ? 0 : 8 * kQueueSlots),
                  arith::ShLIOp::create(b, slot, i32(3)));
}

Value KernelEmitter::queueTile(Value slot) {
  return sharedAt(*kernel.getQueue() + 16 * kQueueSlots,
                  arith::ShLIOp::create(b, slot, i32(4)));
}

// Slot and parity of the count-th tile of this block.
std::pair<Value, Value> KernelEmitter::queuePlace(Value count) {
  Value one = i32(1);
  Value round = arith::ShRUIOp::create(b, count, one);
  return {arith::AndIOp::create(b, count, one),
          arith::AndIOp::create(b, round, one)};
}

// The tile's (batch, head, query block); a negative block past the last tile.
// Longest first: by sections of heads whose keys fit L2 together, in each from
// the last query block to the first.
SmallVector<Value> KernelEmitter::decodeTile(warp::TilesOp op, Value tile,
                                             const TileCounts &counts) {
  auto divide = [&](Value x, Value y) {
    return std::pair<Value, Value>(arith::DivUIOp::create(b, x, y),
                                   arith::RemUIOp::create(b, x, y));
  };
  Value block, batchHead;
  if (op.getLongestFirst()) {
    auto [section, rest] =
        divide(tile, arith::MulIOp::create(b, counts.blocks, counts.section));
    Value first = arith::MulIOp::create(b, section, counts.section);
    Value left = arith::SubIOp::create(b, counts.batchHeads, first);
    left = arith::MaxSIOp::create(b, left, i32(1)); // past the last tile
    Value heads = arith::MinUIOp::create(b, counts.section, left);
    auto [fromLast, head] = divide(rest, heads);
    Value last = arith::SubIOp::create(b, counts.blocks, i32(1));
    block = arith::SubIOp::create(b, last, fromLast);
    batchHead = arith::AddIOp::create(b, first, head);
  } else {
    std::tie(batchHead, block) = divide(tile, counts.blocks);
  }
  auto [batch, head] = divide(batchHead, counts.heads);
  Value inside =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ult, tile, counts.tiles);
  block = arith::SelectOp::create(b, inside, block, i32(-1));
  return {batch, head, block};
}

void KernelEmitter::publishTile(ArrayRef<Value> coordinates, Value count) {
  auto [slot, parity] = queuePlace(count);
  awaitBarrier(queueBarrier(slot, /*full=*/false),
               arith::XOrIOp::create(b, parity, i32(1)));
  asmVoid("st.shared.v4.b32 [$0], {$1, $2, $3, $3};", "r,r,r,r,~{memory}",
          {queueTile(slot), coordinates[0], coordinates[1], coordinates[2]});
  arrive(queueBarrier(slot, /*full=*/true));
}

SmallVector<Value> KernelEmitter::readTile(Value count) {
  auto [slot, parity] = queuePlace(count);
  auto i32Type = b.getI32Type();
  return asmMany({i32Type, i32Type, i32Type},
                 "ld.shared.v4.b32 {$0, $1, $2, _}, [$3];",
                 "=r,=r,=r,r,~{memory}", queueTile(slot));
}

void KernelEmitter::mapCoordinates(Block &body, ArrayRef<Value> coordinates) {
  for (auto [i, value] : llvm::enumerate(coordinates))
    scalars.map(body.getArgument(i), toIndex(value));
}

void KernelEmitter::remakeLane() {
  thread = inlineAsm(b.getI32Type(), "mov.u32 $0, %tid.x;", "=r", {});
  if (isBesideReducer())
    readLane();
  else
    lane = arith::AndIOp::create(b, thread, i32(31));
  beginSegment();
}

// Behind a loop of a consumer: coordinates, what follows from them, and the
// lane are made again, so that they do not live through the loop.
LogicalResult KernelEmitter::remakeTile(Operation *loop) {
  remakeLane();
  mapCoordinates(*loop->getBlock(), readTile(tileCount));
  return remakeScalars(loop);
}

KernelEmitter::TileCounts KernelEmitter::countTiles() {
  const View &query = views[kernel.getBody().getArgument(0)];
  const View &key = views[kernel.getBody().getArgument(1)];
  const View &value = views[kernel.getBody().getArgument(2)];
  TileCounts counts;
  Value rounded =
      arith::AddIOp::create(b, query.sizes[2], i32(kernel.getQBlock() - 1));
  counts.blocks = arith::DivUIOp::create(b, rounded, i32(kernel.getQBlock()));
  counts.heads = query.sizes[1];
  counts.batchHeads = arith::MulIOp::create(b, query.sizes[0], query.sizes[1]);
  counts.tiles = arith::MulIOp::create(b, counts.blocks, counts.batchHeads);
  int64_t rowBytes = 2 * (key.type.getDimSize(3) + value.type.getDimSize(3));
  Value keys = arith::MaxUIOp::create(b, key.sizes[2], i32(1));
  Value keyHeads = arith::MaxUIOp::create(
      b, arith::DivUIOp::create(b, i32(kSectionBytes / rowBytes), keys),
      i32(1));
  Value ratio = arith::DivUIOp::create(
      b, query.sizes[1], arith::MaxUIOp::create(b, key.sizes[1], i32(1)));
  counts.section = arith::MinUIOp::create(
      b, arith::MulIOp::create(b, keyHeads, ratio), counts.batchHeads);
  return counts;
}

// A loop of blocks and not an scf.while: what is carried comes out of the
// body's end.
LogicalResult KernelEmitter::emitTiles(warp::TilesOp op) {
  auto i32Type = b.getI32Type();
  TileCounts counts;
  Registers inits = {i32(0)}; // how many tiles came before
  if (isProducer) {
    counts = countTiles();
    inits.push_back(inlineAsm(i32Type, "mov.u32 $0, %ctaid.x;", "=r", {}));
  }
  size_t own = inits.size();
  for (Value init : op.getInits())
    inits.push_back(scalar(init));
  Region *region = b.getInsertionBlock()->getParent();
  Block *before = b.getInsertionBlock();
  SmallVector<Type> types(ValueRange(inits).getTypes());
  Block *header =
      b.createBlock(region, exit->getIterator(), types,
                    SmallVector<Location>(types.size(), b.getLoc()));
  Block *body = b.createBlock(region, exit->getIterator());
  Block *after = b.createBlock(region, exit->getIterator());
  b.setInsertionPointToEnd(before);
  LLVM::BrOp::create(b, inits, header);

  b.setInsertionPointToEnd(header);
  tileCount = header->getArgument(0);
  Registers coordinates;
  if (isProducer) {
    coordinates = decodeTile(op, header->getArgument(1), counts);
    publishTile(coordinates, tileCount);
  } else {
    auto [slot, parity] = queuePlace(tileCount);
    awaitBarrier(queueBarrier(slot, /*full=*/true), parity);
    coordinates = readTile(tileCount);
    coordinates[2] = shuffleFirst(coordinates[2]); // of all lanes, to branch
  }
  LLVM::CondBrOp::create(b,
                         arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                               coordinates[2], i32(0)),
                         body, after);

  b.setInsertionPointToEnd(body);
  Value next;
  if (isProducer) { // asked for early: the answer takes a while
    Value drawn =
        inlineAsm(i32Type, "atom.global.add.u32 $0, [$1], 1;", "=r,l", counter);
    Value blocks = inlineAsm(i32Type, "mov.u32 $0, %nctaid.x;", "=r", {});
    next = arith::AddIOp::create(b, drawn, blocks);
  }
  Block &inside = op.getBody().front();
  if (!isProducer)
    remakeLane();
  mapCoordinates(inside, coordinates);
  for (auto [argument, value] :
       llvm::zip_equal(inside.getArguments().drop_front(3),
                       header->getArguments().drop_front(own)))
    scalars.map(argument, value);
  if (failed(emitBlock(inside)))
    return failure();
  if (!isProducer) {
    // Every lane has read the slot by itself, so every lane gives it back.
    arrive(queueBarrier(queuePlace(tileCount).first, /*full=*/false));
  }
  Registers carried = {arith::AddIOp::create(b, tileCount, i32(1))};
  if (isProducer)
    carried.push_back(next);
  for (Value value : inside.getTerminator()->getOperands())
    carried.push_back(scalar(value));
  LLVM::BrOp::create(b, carried, header);

  b.setInsertionPointToEnd(after);
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), header->getArguments().drop_front(own)))
    scalars.map(result, value);
  if (isProducer)
    resetCounter();
  else
    awaitEmitted();
  return success();
}

// The last block to come here has nobody behind it.
void KernelEmitter::resetCounter() {
  Value ended =
      inlineAsm(b.getI32Type(), "atom.acq_rel.gpu.global.add.u32 $0, [$1], 1;",
                "=r,l,~{memory}", gep(counter, 4));
  Value blocks = inlineAsm(b.getI32Type(), "mov.u32 $0, %nctaid.x;", "=r", {});
  Value last = arith::SubIOp::create(b, blocks, i32(1));
  callWithCondition(
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, ended, last), [&] {
        LLVM::StoreOp::create(b, i32(0), counter, /*alignment=*/4,
                              /*isVolatile=*/true);
        LLVM::StoreOp::create(b, i32(0), gep(counter, 4), /*alignment=*/4,
                              /*isVolatile=*/true);
      });
}
