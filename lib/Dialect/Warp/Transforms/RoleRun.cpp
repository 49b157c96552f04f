// Runs the roles of a kernel together for warp-verify-protocol: who goes on,
// the loops, and what is said when nobody can go on.
#include "RoleRun.h"

using namespace mlir;

namespace flashc::warp {

std::string RoleRun::getName(const Agent &agent) const {
  if (agent.group >= 0)
    return "group " + std::to_string(agent.group);
  RoleOp role = agent.program->role;
  return ("the " + stringifyRoleKind(role.getKind())).str();
}

/// Slots of the largest staging room.
static constexpr int64_t kStagingSlots = 8;

RoleRun::RoleRun(KernelOp kernel, const RoleProgram &producer,
                 ArrayRef<RoleProgram> consumers, ArrayRef<RingOp> ops)
    : kernel(kernel) {
  for (RingOp op : ops) {
    RingType type = op.getRing().getType();
    rings.push_back({op, type.getDepth(), type.getParts(), numSlots, {}});
    numSlots += type.getDepth();
  }
  agents.push_back({&producer, -1});
  for (int64_t group = 0; group < int64_t(*kernel.getGroups()); ++group)
    agents.push_back(
        {&consumers[consumers.size() > 1 ? group : int64_t(0)], group});
  using Kind = Instruction::Kind;
  for (const Agent &agent : agents)
    for (const Instruction &next : agent.program->code)
      if (next.kind == Kind::Receive || next.kind == Kind::Skip)
        rings[next.number].readers.insert(agent.program);
}

LogicalResult RoleRun::run(const Trips &trips) {
  start(trips);
  for (bool moved = true; moved;) {
    moved = false;
    for (Agent &agent : agents)
      while (!agent.isAtEnd()) {
        Outcome outcome = step(agent);
        if (outcome == Outcome::Failed)
          return failure();
        if (outcome == Outcome::Blocked)
          break;
        moved = true;
      }
  }
  for (const Agent &agent : agents)
    if (!agent.isAtEnd())
      return reportDeadlock();
  return failure(failed(checkSlotsAtEnd()) || failed(checkTurnsAtEnd()) ||
                 failed(checkSumsAtEnd()));
}

void RoleRun::start(const Trips &choice) {
  trips = &choice;
  for (Ring &ring : rings)
    ring.sent.assign(ring.parts, 0);
  for (Agent &agent : agents) {
    Agent fresh{agent.program, agent.group};
    // The room of the last run is used again.
    fresh.slots.swap(agent.slots);
    fresh.products.swap(agent.products);
    agent = std::move(fresh);
    agent.registers = agent.program->registers;
    agent.tripsLeft.assign(agent.program->loops.size(), 0);
    countTrips(agent);
    for (auto [loop, count] :
         llvm::zip_equal(agent.program->loops, agent.trips))
      if (loop.end)
        agent.registers[*loop.end] = count;
    agent.staged.assign(kStagingSlots, nullptr);
    agent.sentSums.assign(kStagingSlots, -1);
    agent.position.assign(rings.size(), 0);
    agent.sends.assign(rings.size(), 0);
    agent.slots.assign(numSlots, {});
    agent.products.clear();
  }
}

/// Where groups skip blocks, all take as many together as the producer sends,
/// each in other parts: group g's n-th loop has the trips of the choice's loop
/// n + g, and the producer's first loop those of the loops that skip, too.
void RoleRun::countTrips(Agent &agent) {
  const std::vector<RoleLoop> &consumer = agents.back().program->loops;
  SmallVector<int64_t> dealt;
  int64_t skipped = 0;
  bool isDealt = llvm::any_of(consumer, [](auto &loop) { return loop.skips; });
  auto isOneOf = [](const RoleLoop &loop) {
    return loop.isShared && !loop.fixed;
  };
  for (const RoleLoop &loop : consumer)
    if (isDealt && isOneOf(loop)) {
      dealt.push_back(trips->lookup(loop.choice));
      skipped += loop.skips ? dealt.back() : 0;
    }
  size_t next = std::max<int64_t>(agent.group, 0);
  agent.trips.clear();
  for (const RoleLoop &loop : agent.program->loops) {
    int64_t count = loop.fixed ? *loop.fixed : trips->lookup(loop.choice);
    if (isDealt && isOneOf(loop)) {
      if (agent.group < 0)
        count += std::exchange(skipped, 0);
      else
        count = dealt[next++ % dealt.size()];
    }
    agent.trips.push_back(count);
  }
}

RoleRun::Outcome RoleRun::step(Agent &agent) {
  using Kind = Instruction::Kind;
  const Instruction &next = agent.program->code[agent.pc];
  auto finish = [&](Outcome outcome) {
    agent.pc += outcome == Outcome::Done;
    return outcome;
  };
  auto check = [&](LogicalResult result) {
    return finish(succeeded(result) ? Outcome::Done : Outcome::Failed);
  };
  switch (next.kind) {
  case Kind::Send:
    return finish(send(agent, next));
  case Kind::Receive:
    return finish(receive(agent, next));
  case Kind::Skip:
    return finish(skip(agent, next));
  case Kind::Acquire:
    return finish(acquire(agent, next));
  case Kind::Reclaim:
    return finish(reclaim(agent, next));
  case Kind::Commit:
    return check(commit(agent, next));
  case Kind::Stage:
    return check(stageSums(agent, next));
  case Kind::SendSums:
    return check(sendSums(agent, next));
  case Kind::Compute:
    compute(agent, next);
    return finish(Outcome::Done);
  case Kind::Branch:
    if (agent.registers[next.in[0]] == kUnknown) {
      fail(next.op) << "guards a part of the roles' protocol, but it is not "
                       "known when; compare trips with the end of their loop";
      return Outcome::Failed;
    }
    agent.pc = agent.registers[next.in[0]] ? agent.pc + 1 : next.target;
    return Outcome::Done;
  case Kind::Release:
    return check(release(agent, next));
  case Kind::Read:
    for (unsigned buffer : next.in)
      if (failed(read(agent, next.op, agent.registers[buffer])))
        return Outcome::Failed;
    return finish(Outcome::Done);
  case Kind::Write:
    return check(write(agent, next));
  case Kind::Product:
    return check(product(agent, next));
  case Kind::Settle:
    return check(settle(agent, next));
  case Kind::Await:
    return finish(awaitTurn(agent, next));
  case Kind::Pass:
    return check(passTurn(agent, next));
  case Kind::Advance:
  case Kind::Copy:
    copy(agent, next);
    return finish(Outcome::Done);
  case Kind::Enter:
  case Kind::Repeat:
    if (next.kind == Kind::Repeat && failed(checkSettled(agent, next.op)))
      return Outcome::Failed;
    repeat(agent, next);
    return Outcome::Done;
  case Kind::End:
    return check(checkSettled(agent, next.op));
  }
  llvm_unreachable("all kinds are above");
}

void RoleRun::copy(Agent &agent, const Instruction &next) {
  copied.clear();
  for (unsigned in : next.in)
    copied.push_back(agent.registers[in]);
  if (next.kind == Instruction::Kind::Advance) {
    bool isKnown = copied[0] != kUnknown && copied[1] != kUnknown;
    bool wraps = copied[0] + 1 == next.number;
    copied[1] = isKnown ? copied[1] ^ int64_t(wraps) : kUnknown;
    copied[0] = isKnown ? (wraps ? 0 : copied[0] + 1) : kUnknown;
  }
  for (auto [value, out] : llvm::zip_equal(copied, next.out))
    agent.registers[out] = value;
}

/// What the conditions of sends are made of.
void RoleRun::compute(Agent &agent, const Instruction &next) {
  int64_t x = agent.registers[next.in[0]], y = agent.registers[next.in[1]];
  int64_t &result = agent.registers[next.out[0]];
  if (x == kUnknown || y == kUnknown)
    result = kUnknown;
  else if (auto compare = dyn_cast<arith::CmpIOp>(next.op))
    result = arith::applyCmpPredicate(compare.getPredicate(),
                                      APInt(64, uint64_t(x), true),
                                      APInt(64, uint64_t(y), true));
  else
    result = isa<arith::AddIOp>(next.op) ? x + y : x - y;
}

/// The head and the foot of a loop.
void RoleRun::repeat(Agent &agent, const Instruction &next) {
  int64_t &left = agent.tripsLeft[next.number];
  if (auto trip = agent.program->loops[next.number].trip)
    agent.registers[*trip] =
        next.kind == Instruction::Kind::Enter ? 0 : agent.registers[*trip] + 1;
  if (next.kind == Instruction::Kind::Enter) {
    left = agent.trips[next.number];
    agent.pc = left > 0 ? agent.pc + 1 : next.target;
    return;
  }
  agent.pc = --left > 0 ? next.target : agent.pc + 1;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

InFlightDiagnostic RoleRun::fail(Operation *op) {
  InFlightDiagnostic error = op->emitOpError();
  std::string counts;
  for (const RoleLoop &loop : agents.back().program->loops)
    if (auto found = trips->find(loop.choice); found != trips->end())
      counts += (counts.empty() ? "" : ", ") + std::to_string(found->second);
  if (!counts.empty())
    error.attachNote(kernel.getLoc())
        << "when the loops run " << counts << " times";
  return error;
}

/// What an agent that cannot go on waits for.
std::string RoleRun::describeWait(const Agent &agent) const {
  using Kind = Instruction::Kind;
  const Instruction &next = agent.program->code[agent.pc];
  if (next.kind == Kind::Await)
    return "for " + getName(agents[1 + getGroupBefore(agent.group)]) +
           " to pass its turn";
  bool isReader = next.kind == Kind::Receive || next.kind == Kind::Skip;
  if (next.kind == Kind::Reclaim) {
    const Agent *reader =
        getReaderOf(next.number, /*use=*/1, getPart(agent, rings[next.number]));
    return "for the ring's slot to be " +
           (reader ? "released by " + getName(*reader) : "sent");
  }
  int64_t use = (isReader ? agent.position : agent.sends)[next.number];
  std::string slot =
      "for slot " + std::to_string(use % rings[next.number].depth);
  if (isReader)
    return slot + " to be filled";
  int64_t part = next.kind == Kind::Acquire ? getPart(agent, rings[next.number])
                                            : agent.part;
  return slot + " to be released by " +
         getName(*getReaderOf(next.number, use, part));
}

LogicalResult RoleRun::reportDeadlock() {
  auto first = llvm::find_if_not(
      agents, [](const Agent &agent) { return agent.isAtEnd(); });
  auto getOp = [](const Agent &agent) {
    return agent.program->code[agent.pc].op;
  };
  InFlightDiagnostic error = fail(getOp(*first))
                             << "waits for ever, " << getName(*first) << ' '
                             << describeWait(*first)
                             << ", and no role can go on; let each take and "
                                "release slots and turns in the others' order";
  for (const Agent &agent : agents) {
    if (&agent == &*first)
      continue;
    if (agent.isAtEnd())
      error.attachNote(RoleOp(agent.program->role).getLoc())
          << getName(agent) << " is at its end";
    else
      error.attachNote(getOp(agent)->getLoc())
          << getName(agent) << " waits here " << describeWait(agent);
  }
  return error;
}

} // namespace flashc::warp
