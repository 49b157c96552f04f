// Part of convert-tile-to-cpu: the function and its control flow. Loop-carried
// tiles and the results of branches have one buffer on all paths, so
// that nothing moves where a branch or an iteration updates it in place.
#include "Emitter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace flashc::cpu {

/// Arguments of the function before the kernel's own: batch, head, block,
/// scratch.
static constexpr unsigned kScratch = 3, kFirstArgument = 4;

Emitter::Emitter(tile::KernelOp kernel, int64_t vectorBits)
    : kernel(kernel), b(kernel.getLoc(), kernel), lanes(vectorBits / 32) {}

FailureOr<func::FuncOp> Emitter::emit() {
  SmallVector<Type> inputs(3, b.getIndexType());
  inputs.push_back(MemRefType::get({ShapedType::kDynamic}, b.getI8Type()));
  llvm::append_range(inputs, kernel.getArgumentTypes());
  func =
      func::FuncOp::create(b, kernel.getName(), b.getFunctionType(inputs, {}));
  Block *entry = func.addEntryBlock();
  pool.emplace(entry->getArgument(kScratch), entry);
  for (auto [from, to] :
       llvm::zip_equal(kernel.getBody().getArguments(),
                       entry->getArguments().drop_front(kFirstArgument)))
    scalars.map(from, to);

  b.setInsertionPointToStart(entry);
  if (failed(emitBlock(kernel.getBody().front()))) {
    func.erase();
    return failure();
  }
  b.setInsertionPointToEnd(entry);
  func::ReturnOp::create(b);
  func->setAttr("llvm.emit_c_interface", b.getUnitAttr());
  SmallVector<Attribute> types;
  for (Type type : kernel.getArgumentTypes())
    types.push_back(TypeAttr::get(type));
  SmallVector<NamedAttribute> facts{
      b.getNamedAttr("arguments", b.getArrayAttr(types)),
      b.getNamedAttr("scratch_bytes", b.getI64IntegerAttr(pool->bytes()))};
  addGrid(facts);
  func->setAttr("tile.cpu_kernel", b.getDictionaryAttr(facts));
  return func;
}

/// Whether programs add to what others add to. A CPU's additions are not
/// atomic, and their order is always the same: the programs of one batch and
/// head are run one after the other.
static bool sharesSums(tile::KernelOp kernel) {
  auto shares = [](Operation *op) {
    auto scatter = dyn_cast<tile::ScatterOp>(op);
    bool isShared = scatter && scatter.getKind() == tile::ScatterKind::Add &&
                    !scatter.getExclusive();
    return isShared || isa<tile::AccumulateOp>(op) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
  };
  return kernel.walk(shares).wasInterrupted();
}

/// Whether also programs of other batches or heads do so.
static bool sharesSumsOfAll(tile::KernelOp kernel) {
  return kernel
      .walk([](tile::AccumulateOp op) {
        bool isShared = matchPattern(op.getBatch(), m_Constant()) ||
                        matchPattern(op.getHead(), m_Constant());
        return isShared ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

void Emitter::addGrid(SmallVectorImpl<NamedAttribute> &facts) {
  tile::GridAttr grid = kernel.getGridOrDefault();
  auto add = [&](StringRef name, Attribute value) {
    facts.push_back(b.getNamedAttr(name, value));
  };
  add("batch", b.getDenseI64ArrayAttr(grid.getBatch()));
  add("heads", b.getDenseI64ArrayAttr(grid.getHeads()));
  add("blocks", b.getDenseI64ArrayAttr(grid.getBlocks()));
  add("rows", b.getI64IntegerAttr(grid.getRows()));
  add("in_order", b.getBoolAttr(sharesSums(kernel)));
  add("one_by_one", b.getBoolAttr(sharesSumsOfAll(kernel)));
}

/// Vectors have no tails here: tiles are padded on the tile level.
static LogicalResult checkTiles(Operation *op) {
  constexpr int64_t kColumns = 16;
  for (Type type : op->getResultTypes()) {
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile)
      continue;
    Type element = tile.getElementType();
    bool known =
        isHalfFloat(element) || element.isF32() || element.isInteger(1);
    if (!known || !tile.hasStaticShape() || tile.getRank() < 1 ||
        tile.getRank() > 2)
      return op->emitOpError()
             << "makes a " << type
             << ", but a tile on the CPU has one or two static dimensions of "
                "f16, bf16, f32 or i1; change its type";
    if (tile.getShape().back() % kColumns != 0)
      return op->emitOpError()
             << "makes a tile whose last dimension is "
             << tile.getShape().back() << ", which is no multiple of "
             << kColumns << "; pad it";
  }
  return success();
}

/// A value that a loop carries or a branch gives has a home or is a scalar.
static LogicalResult checkCarried(Operation *op) {
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<tile::StreamType>))
    return op->emitOpError("carries a tile.stream, but on the CPU a stream is "
                           "known where it is read; "
                           "use the tile.stream itself");
  return success();
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(checkTiles(&op)) || failed(emitOp(&op)))
      return failure();
    releaseClaims();
  }
  return success();
}

LogicalResult Emitter::emitOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp op) { return emitFor(op); })
      .Case([&](scf::IfOp op) { return emitIf(op); })
      .Case([&](tile::ProgramOp op) { return emitProgram(op), success(); })
      .Case([&](tile::OwnRowsOp op) { return emitOwnRows(op), success(); })
      .Case([&](tile::StreamOp) { return success(); }) // its nexts read it
      .Case([&](tile::LoadOp op) { return emitLoad(op); })
      .Case([&](tile::NextOp op) { return emitNext(op); })
      .Case([&](tile::StoreOp op) { return emitStore(op); })
      .Case([&](tile::DotOp op) { return emitDot(op); })
      .Case(
          [&](tile::AccumulateOp op) { return emitAccumulate(op), success(); })
      .Case([&](tile::MapOp op) { return emitMap(op); })
      .Case([&](tile::ScatterOp op) { return emitScatter(op); })
      .Case([&](tile::ReduceOp op) { return emitReduce(op), success(); })
      .Case([&](tile::AnyOp op) { return emitAny(op), success(); })
      .Case([&](tile::AnyNotFiniteOp op) {
        return emitAnyNotFinite(op), success();
      })
      .Case([&](tile::AnyAboveOp op) { return emitAnyAbove(op), success(); })
      .Case([&](tile::CollectOp op) {
        // The parts of a sum are one part here.
        Value parts = op.getParts();
        settle(op.getResult(), home(parts) ? home(parts) : readable(parts, op));
        return success();
      })
      .Default([&](Operation *op) { return cloneScalarOp(op); });
}

LogicalResult Emitter::cloneScalarOp(Operation *op) {
  if (op->getNumResults() == 1 && splat(op->getResult(0)))
    return success(); // read where it is used
  auto isTile = [](Type type) { return isa<RankedTensorType>(type); };
  if (op->getNumRegions() != 0 || llvm::any_of(op->getOperandTypes(), isTile) ||
      llvm::any_of(op->getResultTypes(), isTile))
    return op->emitOpError("has no form on the CPU; run tile-expand-softmax "
                           "before convert-tile-to-cpu");
  b.clone(*op, scalars);
  return success();
}

/// One thread computes the whole block.
void Emitter::emitOwnRows(tile::OwnRowsOp op) {
  Value row = scalars.lookup(op.getRow());
  scalars.map(op.getFirst(), row);
  scalars.map(op.getEnd(),
              arith::AddIOp::create(b, row, index(kernel.getSchedule().getQ()))
                  .getResult());
}

void Emitter::emitProgram(tile::ProgramOp op) {
  Block &entry = func.getBody().front();
  Value block = entry.getArgument(2);
  if (op.getLongestFirst()) {
    tile::GridAttr grid = kernel.getGridOrDefault();
    Value blocks = index(1);
    if (ArrayRef<int64_t> place = grid.getBlocks(); !place.empty()) {
      Value rows = memref::DimOp::create(
          b, entry.getArgument(kFirstArgument + place[0]), place[1]);
      blocks = arith::CeilDivUIOp::create(b, rows, index(grid.getRows()));
    }
    block = arith::SubIOp::create(b, arith::SubIOp::create(b, blocks, index(1)),
                                  block);
  }
  scalars.map(op.getBatch(), entry.getArgument(0));
  scalars.map(op.getHead(), entry.getArgument(1));
  scalars.map(op.getBlock(), block);
}

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

LogicalResult Emitter::emitFor(scf::ForOp op) {
  if (failed(checkCarried(op)))
    return failure();
  SmallVector<Value> inits;
  for (auto [init, arg] :
       llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs())) {
    if (isTile(init))
      settle(arg, takeOver(init, op));
    else
      inits.push_back(scalars.lookup(init));
  }
  releaseClaims();
  auto loop = scf::ForOp::create(
      b, scalars.lookup(op.getLowerBound()), scalars.lookup(op.getUpperBound()),
      scalars.lookup(op.getStep()), inits,
      [](OpBuilder &, Location, Value, ValueRange) {});
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  auto *carried = loop.getRegionIterArgs().begin();
  for (Value arg : op.getRegionIterArgs())
    if (!isTile(arg))
      scalars.map(arg, *carried++);

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  if (failed(emitBlock(*op.getBody())))
    return failure();
  SmallVector<Buffer *> targets;
  for (Value arg : op.getRegionIterArgs())
    targets.push_back(isTile(arg) ? home(arg) : nullptr);
  emitYield(op.getBody()->getTerminator(), targets);
  bindResults(op, loop, targets);
  return success();
}

/// The end of a body or a branch: tiles move to `targets` (null: a scalar).
void Emitter::emitYield(Operation *yield, ArrayRef<Buffer *> targets) {
  SmallVector<Move> moves;
  SmallVector<Value> yields;
  for (auto [value, target] : llvm::zip_equal(yield->getOperands(), targets)) {
    if (target)
      moves.push_back({value, target});
    else
      yields.push_back(scalars.lookup(value));
  }
  emitMoves(moves, yield);
  scf::YieldOp::create(b, yields);
}

void Emitter::bindResults(Operation *from, Operation *to,
                          ArrayRef<Buffer *> targets) {
  auto results = to->getResults().begin();
  for (auto [result, target] : llvm::zip_equal(from->getResults(), targets)) {
    if (target)
      settle(result, target);
    else
      scalars.map(result, *results++);
  }
}

/// The buffer of a result: one that a branch left the value in, if nobody reads
/// what was there before, so that this branch (or both) moves nothing.
static Buffer *pickResult(Buffer *ofThen, Buffer *ofElse, scf::IfOp op) {
  for (auto [buffer, block] :
       {std::pair(ofThen, op.thenBlock()), std::pair(ofElse, op.elseBlock())})
    if (buffer && !buffer->reserved &&
        BufferPool::isVacatedBy(*buffer, block->getTerminator()))
      return buffer;
  return nullptr;
}

SmallVector<Buffer *> Emitter::chooseTargets(scf::IfOp op) {
  SmallVector<Buffer *> targets(op.getNumResults(), nullptr);
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    if (!isTile(result))
      continue;
    Buffer *target = pickResult(home(op.thenYield().getOperand(i)),
                                home(op.elseYield().getOperand(i)), op);
    if (!target)
      target =
          pool->claim(bufferType(cast<RankedTensorType>(result.getType())), op);
    target->reserved = true;
    claims.push_back(target);
    targets[i] = target;
  }
  return targets;
}

LogicalResult Emitter::emitIf(scf::IfOp op) {
  if (failed(checkCarried(op)))
    return failure();
  SmallVector<Type> types;
  for (Value result : op.getResults())
    if (!isTile(result))
      types.push_back(result.getType());
  bool hasElse = op.elseBlock();
  auto branch =
      scf::IfOp::create(b, types, scalars.lookup(op.getCondition()),
                        /*addThenBlock=*/true, /*addElseBlock=*/hasElse);
  SmallVector<std::pair<Block *, Block *>> blocks{
      {op.thenBlock(), branch.thenBlock()}};
  if (hasElse)
    blocks.push_back({op.elseBlock(), branch.elseBlock()});

  OpBuilder::InsertionGuard guard(b);
  for (auto [from, to] : blocks) {
    b.setInsertionPointToEnd(to);
    if (failed(emitBlock(*from)))
      return failure();
  }
  SmallVector<Buffer *> targets = chooseTargets(op);
  for (auto [from, to] : blocks) {
    b.setInsertionPointToEnd(to);
    emitYield(from->getTerminator(), targets);
  }
  bindResults(op, branch, targets);
  return success();
}

} // namespace flashc::cpu
