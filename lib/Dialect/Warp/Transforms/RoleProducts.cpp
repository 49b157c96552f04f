// Products and turns in a run of warp-verify-protocol. A warpgroup's products
// are complete in the order in which they were started, as wgmma's groups are.
#include "RoleRun.h"

using namespace mlir;

namespace flashc::warp {

LogicalResult RoleRun::product(Agent &agent, const Instruction &next) {
  int64_t number = agent.products.size();
  for (unsigned in : next.in) {
    int64_t buffer = agent.registers[in];
    if (failed(read(agent, next.op, buffer)))
      return failure();
    if (buffer != kUnknown)
      agent.slots[buffer % numSlots].product = number;
  }
  agent.registers[next.out[0]] = number;
  agent.products.push_back(next.op);
  return success();
}

LogicalResult RoleRun::settle(Agent &agent, const Instruction &next) {
  int64_t started = agent.products.size();
  agent.complete = std::max(agent.complete, started - next.number);
  for (unsigned in : next.in) {
    int64_t number = agent.registers[in];
    if (number < agent.complete)
      continue;
    InFlightDiagnostic error =
        fail(next.op) << "leaves " << next.number
                      << " products under way, but its operand is one of the "
                         "last "
                      << started - number << "; use pending("
                      << started - number - 1 << ')';
    error.attachNote(agent.products[number]->getLoc()) << "the product";
    return error;
  }
  return success();
}

/// At the end of a loop's body, a tile or the role.
LogicalResult RoleRun::checkSettled(Agent &agent, Operation *scope) {
  if (agent.complete == int64_t(agent.products.size()))
    return success();
  InFlightDiagnostic error = fail(agent.products[agent.complete])
                             << "is still under way at the end of the "
                             << (isa<RoleOp>(scope)    ? "role"
                                 : isa<TilesOp>(scope) ? "tile"
                                                       : "loop's body")
                             << "; settle it with pending(0) before that";
  error.attachNote(scope->getLoc()) << "of this op";
  return error;
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

int64_t RoleRun::getGroupBefore(int64_t group) const {
  return group == 0 ? agents.size() - 2 : group - 1;
}

/// Group 0 has the first turn; each other turn was passed by the group before.
bool RoleRun::mayTakeTurn(const Agent &agent) const {
  const Agent &before = agents[1 + getGroupBefore(agent.group)];
  int64_t free = agent.group == 0 ? 1 : 0;
  return agent.turnsAwaited < before.turnsPassed + free;
}

RoleRun::Outcome RoleRun::awaitTurn(Agent &agent, const Instruction &next) {
  if (agent.hasTurn()) {
    InFlightDiagnostic error =
        fail(next.op) << "awaits a turn that this group has; pass it first";
    error.attachNote(agent.turn->getLoc()) << "awaited here";
    return Outcome::Failed;
  }
  if (!mayTakeTurn(agent))
    return Outcome::Blocked;
  ++agent.turnsAwaited;
  agent.turn = next.op;
  return Outcome::Done;
}

LogicalResult RoleRun::passTurn(Agent &agent, const Instruction &next) {
  if (!agent.hasTurn()) {
    InFlightDiagnostic error = fail(next.op);
    error << "passes a turn that this group does not have; await it first";
    if (agent.turn)
      error.attachNote(agent.turn->getLoc()) << "passed here";
    return error;
  }
  ++agent.turnsPassed;
  agent.turn = next.op;
  return success();
}

LogicalResult RoleRun::checkTurnsAtEnd() {
  for (const Agent &agent : llvm::drop_begin(agents))
    if (agent.hasTurn())
      return fail(agent.turn) << "takes a turn that is never passed; put a "
                                 "'warp.pass_turn' behind it";
  return success();
}

} // namespace flashc::warp
