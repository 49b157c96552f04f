// Turns a role into instructions for warp-verify-protocol. In: the role after
// all other passes. Out: sends, receives, products and turns in program order
// with loops as jumps; what only computes is left out. Values become registers:
// i32 numbers (stages and phases), buffers and results of products.
#include "RoleProgram.h"

#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace flashc::warp {

using Kind = Instruction::Kind;

namespace {

/// A loop with constant bounds and more trips than this is run like one whose
/// bounds are not known.
constexpr int64_t kMaxFixedTrips = 64;

bool isProtocol(Operation *op) {
  return isa<SendOp, ReceiveOp, SkipOp, ReleaseOp, AcquireOp, CommitOp, WgmmaOp,
             SettleOp, AwaitTurnOp, PassTurnOp, EmitOp, StoreOp, StageSumsOp,
             SendSumsOp, ReclaimOp, TilesOp>(op);
}

bool takesSlots(Operation *op) {
  return isa<SendOp, ReceiveOp, SkipOp, AcquireOp, TilesOp>(op);
}

bool holds(Operation *root, bool (*isWanted)(Operation *)) {
  WalkResult result = root->walk([&](Operation *op) {
    return isWanted(op) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool skips(Operation *op) {
  return isa<scf::ForOp>(op) &&
         !op->getRegion(0).front().getOps<SkipOp>().empty();
}

std::optional<int64_t> getConstant(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)))
    return std::nullopt;
  return number.getSExtValue();
}

std::optional<int64_t> getFixedTrips(Operation *op) {
  if (isa<TilesOp>(op))
    return kTiles;
  auto loop = cast<scf::ForOp>(op);
  auto lower = getConstant(loop.getLowerBound()),
       upper = getConstant(loop.getUpperBound()),
       step = getConstant(loop.getStep());
  if (!lower || !upper || !step || *step <= 0)
    return std::nullopt;
  int64_t trips = std::max<int64_t>((*upper - *lower + *step - 1) / *step, 0);
  return trips <= kMaxFixedTrips ? std::optional(trips) : std::nullopt;
}

Value skipAliases(Value value) {
  while (auto alias = value.getDefiningOp<AliasOp>())
    value = alias.getBuffer();
  return value;
}

bool countsFromZero(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  return loop && getConstant(loop.getLowerBound()) == 0 &&
         getConstant(loop.getStep()) == 1;
}

LogicalResult failUnnamed(Operation *op) {
  return op->emitOpError("takes a slot of a ring that is handed on as a value, "
                         "but rings are known by name; use the result of "
                         "'warp.ring'");
}

class RoleCompiler {
public:
  RoleCompiler(RoleProgram &program, const RingNumbers &rings)
      : program(program), rings(rings) {
    // Conditions before a loop may ask for its trip count.
    program.role->walk([&](scf::ForOp loop) {
      if (countsFromZero(loop) && holds(loop, isProtocol))
        getRegister(loop.getUpperBound());
    });
  }
  LogicalResult addBlock(Block &block);

private:
  unsigned getRegister(Value value);
  Instruction &add(Kind kind, Operation *op, ValueRange in = {},
                   ValueRange out = {}, int64_t number = 0);
  void addCopy(Operation *op, ValueRange from, ValueRange to);
  LogicalResult addOp(Operation *op);
  template <typename UseOp> LogicalResult addUse(Kind kind, UseOp op);
  LogicalResult addProduct(WgmmaOp op);
  LogicalResult addWrite(Operation *op, Value buffer);
  LogicalResult addLoop(Operation *op, ValueRange inits, ValueRange arguments);
  LogicalResult addOther(Operation *op);
  LogicalResult addIf(scf::IfOp op);
  bool addCondition(Value value);

  RoleProgram &program;
  const RingNumbers &rings;
  llvm::DenseMap<Value, unsigned> numbers;
  int64_t nesting = 0;
};

/// An alias has the register of what it names.
unsigned RoleCompiler::getRegister(Value value) {
  value = skipAliases(value);
  auto [entry, isNew] = numbers.try_emplace(value, program.registers.size());
  if (isNew)
    program.registers.push_back(getConstant(value).value_or(kUnknown));
  return entry->second;
}

Instruction &RoleCompiler::add(Kind kind, Operation *op, ValueRange in,
                               ValueRange out, int64_t number) {
  Instruction instruction{kind, op, {}, {}, number};
  for (Value value : in)
    instruction.in.push_back(getRegister(value));
  for (Value value : out)
    instruction.out.push_back(getRegister(value));
  return program.code.emplace_back(std::move(instruction));
}

void RoleCompiler::addCopy(Operation *op, ValueRange from, ValueRange to) {
  SmallVector<Value> in, out;
  for (auto [source, target] : llvm::zip_equal(from, to))
    if (isa<IntegerType, BufferType>(source.getType())) {
      in.push_back(source);
      out.push_back(target);
    }
  if (!in.empty())
    add(Kind::Copy, op, in, out);
}

LogicalResult RoleCompiler::addBlock(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<OpTrait::IsTerminator>() && failed(addOp(&op)))
      return failure();
  return success();
}

LogicalResult RoleCompiler::addOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](SendOp send) { return addUse(Kind::Send, send); })
      .Case([&](SkipOp skip) { return addUse(Kind::Skip, skip); })
      .Case([&](ReceiveOp receive) { return addUse(Kind::Receive, receive); })
      .Case([&](AcquireOp acquire) { return addUse(Kind::Acquire, acquire); })
      .Case([&](ReclaimOp reclaim) {
        auto ring = reclaim.getRing().getDefiningOp<RingOp>();
        if (!ring)
          return failUnnamed(op);
        add(Kind::Reclaim, op, {}, op->getResults(), rings.lookup(ring));
        return success();
      })
      .Case([&](CommitOp commit) {
        add(Kind::Commit, op, commit.getBuffer());
        return success();
      })
      .Case([&](StageSumsOp stage) {
        add(Kind::Stage, op, {}, {}, stage.getSlot());
        return success();
      })
      .Case([&](SendSumsOp send) {
        add(Kind::SendSums, op, {}, {}, send.getSlot());
        return success();
      })
      .Case([&](scf::IfOp branch) { return addIf(branch); })
      .Case([&](WgmmaOp product) { return addProduct(product); })
      .Case([&](ReleaseOp release) {
        add(Kind::Release, op, release.getBuffer());
        return success();
      })
      .Case<EmitOp, StoreOp>(
          [&](auto write) { return addWrite(op, write.getBuffer()); })
      .Case([&](SettleOp settle) {
        SmallVector<Value> products;
        for (Value input : settle.getInputs())
          if (input.getDefiningOp<WgmmaOp>())
            products.push_back(input);
        add(Kind::Settle, op, products, {}, settle.getPending());
        return success();
      })
      .Case<AwaitTurnOp, PassTurnOp>([&](auto) {
        add(isa<AwaitTurnOp>(op) ? Kind::Await : Kind::Pass, op);
        return success();
      })
      .Case([&](AdvanceOp advance) {
        add(Kind::Advance, op, op->getOperands(), op->getResults(),
            advance.getDepth());
        return success();
      })
      .Case([&](TilesOp tiles) {
        return addLoop(op, tiles.getInits(),
                       op->getRegion(0).getArguments().drop_front(3));
      })
      .Case<AliasOp, AllocOp, RingOp, StagingOp>([](auto) { return success(); })
      .Default([&](Operation *) {
        auto loop = dyn_cast<scf::ForOp>(op);
        return loop && holds(loop, isProtocol)
                   ? addLoop(op, loop.getInits(), loop.getRegionIterArgs())
                   : addOther(op);
      });
}

template <typename UseOp>
LogicalResult RoleCompiler::addUse(Kind kind, UseOp op) {
  auto ring = op.getRing().template getDefiningOp<RingOp>();
  if (!ring)
    return failUnnamed(op);
  if (!op.getStage())
    return op.emitOpError("has no stage and phase; run 'warp-assign-stages' "
                          "first");
  ValueRange out;
  if constexpr (std::is_same_v<UseOp, ReceiveOp> ||
                std::is_same_v<UseOp, AcquireOp>)
    out = op->getResults();
  add(kind, op, {op.getStage(), op.getPhase()}, out, rings.lookup(ring));
  return success();
}

LogicalResult RoleCompiler::addProduct(WgmmaOp op) {
  // What reads registers before the settle that names them may be moved before
  // the wait, so a settle elsewhere does not help.
  for (Operation *user : op->getUsers())
    if (!isa<SettleOp>(user)) {
      InFlightDiagnostic error =
          user->emitOpError("touches the result of a product that may be under "
                            "way; use the result of a 'warp.settle' that "
                            "covers it");
      error.attachNote(op.getLoc()) << "the product";
      return error;
    }
  bool reduces = program.role.getKind() == RoleKind::Reducer;
  if (int64_t parts = op.getRhs().getType().getParts(); parts > 1 && !reduces)
    return op.emitOpError("reads all rows of B, but a warpgroup receives only "
                          "its own of ")
           << parts << " parts; use a ring without parts";
  SmallVector<Value> buffers{op.getRhs()};
  if (isa<BufferType>(op.getLhs().getType()))
    buffers.push_back(op.getLhs());
  add(Kind::Product, op, buffers, op.getResult());
  return success();
}

LogicalResult RoleCompiler::addWrite(Operation *op, Value buffer) {
  add(Kind::Write, op, buffer);
  return success();
}

LogicalResult RoleCompiler::addLoop(Operation *op, ValueRange inits,
                                    ValueRange arguments) {
  bool isShared = holds(op, takesSlots);
  int64_t number = program.loops.size();
  RoleLoop added{op, nesting, isShared, skips(op), getFixedTrips(op),
                 op, {},      {}};
  if (countsFromZero(op)) {
    auto loop = cast<scf::ForOp>(op);
    added.trip = getRegister(loop.getInductionVar());
    if (!getConstant(loop.getUpperBound()))
      added.end = getRegister(loop.getUpperBound());
  }
  program.loops.push_back(added);
  addCopy(op, inits, arguments);
  size_t enter = program.code.size();
  add(Kind::Enter, op, {}, {}, number);
  Block &body = op->getRegion(0).front();
  ++nesting;
  if (failed(addBlock(body)))
    return failure();
  --nesting;
  addCopy(op, body.getTerminator()->getOperands(), arguments);
  add(Kind::Repeat, op, {}, {}, number).target = enter + 1;
  program.code[enter].target = program.code.size();
  addCopy(op, arguments, op->getResults());
  return success();
}

/// What `value` is made of, up to constants, trips and ends of loops.
bool RoleCompiler::addCondition(Value value) {
  if (numbers.contains(value) || getConstant(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isa<arith::AddIOp, arith::SubIOp, arith::CmpIOp>(op) ||
      !llvm::all_of(op->getOperands(),
                    [&](Value operand) { return addCondition(operand); }))
    return false;
  add(Kind::Compute, op, op->getOperands(), op->getResults());
  return true;
}

/// A branch of the protocol is followed where it depends on trips alone.
LogicalResult RoleCompiler::addIf(scf::IfOp op) {
  if (!holds(op, isProtocol) || op.getNumResults() || op.elseBlock() ||
      getConstant(op.getCondition()) || !addCondition(op.getCondition()))
    return addOther(op);
  size_t branch = program.code.size();
  add(Kind::Branch, op, op.getCondition());
  if (failed(addBlock(*op.thenBlock())))
    return failure();
  program.code[branch].target = program.code.size();
  return success();
}

/// An op that is no part of the protocol, but may read received slots, itself
/// or in its regions.
LogicalResult RoleCompiler::addOther(Operation *op) {
  SmallVector<Value> buffers;
  WalkResult result = op->walk([&](Operation *inner) {
    if (isProtocol(inner)) {
      InFlightDiagnostic error =
          inner->emitOpError("is part of the roles' protocol, but may be "
                             "skipped; move it out of ");
      error << "the '" << op->getName() << '\'';
      error.attachNote(op->getLoc()) << "under this op";
      return WalkResult(error);
    }
    if (isa<AliasOp, AllocOp>(inner))
      return WalkResult::advance();
    if (llvm::any_of(inner->getResultTypes(), llvm::IsaPred<BufferType>))
      return WalkResult(
          inner->emitOpError("hands on a buffer so that it is not known which "
                             "one; use the results "
                             "of 'warp.receive' and 'warp.alloc' themselves"));
    for (Value operand : inner->getOperands())
      if (isa<BufferType>(operand.getType()))
        buffers.push_back(operand);
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  if (!buffers.empty())
    add(Kind::Read, op, buffers);
  return success();
}

} // namespace

FailureOr<RoleProgram> getRoleProgram(RoleOp role, const RingNumbers &rings) {
  RoleProgram program{role, {}, {}, {}};
  if (failed(RoleCompiler(program, rings).addBlock(role.getBody().front())))
    return failure();
  program.code.push_back({Kind::End, role, {}, {}});
  return program;
}

} // namespace flashc::warp
