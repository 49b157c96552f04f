// Slots of rings in a run of warp-verify-protocol: sends, receives, releases,
// and who reads or writes what was received.
//
// A slot's part is full for the (n+1)th time when its (n+1)th copy has arrived,
// and empty for the nth time when each group that reads it has released it n
// times. So nothing is overwritten that a group holds, and what is left to
// check is that a group reads only what it holds.
#include "RoleRun.h"

using namespace mlir;

namespace flashc::warp {

size_t RoleRun::getSlot(int64_t ring, int64_t use) const {
  return rings[ring].firstSlot + use % rings[ring].depth;
}

/// Stage and phase are those of the ring's next slot.
LogicalResult RoleRun::checkPosition(Agent &agent, const Instruction &next) {
  int64_t stage = agent.registers[next.in[0]];
  int64_t phase = agent.registers[next.in[1]];
  int64_t use = agent.position[next.number];
  int64_t depth = rings[next.number].depth;
  if (stage == use % depth && phase == use / depth % 2)
    return success();
  InFlightDiagnostic error = fail(next.op);
  if (stage == kUnknown || phase == kUnknown)
    error << "has a stage or phase that cannot be followed; use constants, "
             "'warp.advance' and values that loops carry";
  else
    error << "is at stage " << stage << " and phase " << phase << ", but use "
          << use << " of a ring of " << depth << " slots is at stage "
          << use % depth << " and phase " << use / depth % 2
          << "; carry both through a 'warp.advance' behind each use";
  error.attachNote(rings[next.number].op.getLoc()) << "the ring";
  return error;
}

int64_t RoleRun::getReaderOf(int64_t ring, int64_t use, int64_t part) const {
  bool isDealt = rings[ring].parts > 1;
  int64_t round = use / rings[ring].depth;
  size_t slot = getSlot(ring, use);
  for (const Agent &agent : llvm::drop_begin(agents))
    if ((!isDealt || agent.group == part) && agent.slots[slot].releases < round)
      return agent.group;
  return -1;
}

RoleRun::Outcome RoleRun::send(Agent &agent, const Instruction &next) {
  if (failed(checkPosition(agent, next)))
    return Outcome::Failed;
  Ring &ring = rings[next.number];
  int64_t &use = agent.position[next.number];
  for (; agent.part < ring.parts; ++agent.part) {
    if (getReaderOf(next.number, use, agent.part) >= 0)
      return Outcome::Blocked;
    ++ring.sent[agent.part];
  }
  agent.part = 0;
  ++use;
  ring.lastSend = next.op;
  return Outcome::Done;
}

RoleRun::Outcome RoleRun::receive(Agent &agent, const Instruction &next) {
  if (failed(checkPosition(agent, next)))
    return Outcome::Failed;
  const Ring &ring = rings[next.number];
  int64_t &use = agent.position[next.number];
  if (ring.sent[ring.parts > 1 ? agent.group : 0] <= use)
    return Outcome::Blocked;
  size_t index = getSlot(next.number, use);
  Slot &slot = agent.slots[index];
  slot.use = use++;
  slot.isHeld = true;
  slot.receive = next.op;
  slot.writer = nullptr;
  slot.product = -1;
  // A buffer is its slot and the use it was received for.
  agent.registers[next.out[0]] = slot.use * numSlots + index;
  return Outcome::Done;
}

/// Received and given back at once.
RoleRun::Outcome RoleRun::skip(Agent &agent, const Instruction &next) {
  if (failed(checkPosition(agent, next)))
    return Outcome::Failed;
  const Ring &ring = rings[next.number];
  int64_t &use = agent.position[next.number];
  if (ring.sent[ring.parts > 1 ? agent.group : 0] <= use)
    return Outcome::Blocked;
  ++agent.slots[getSlot(next.number, use++)].releases;
  return Outcome::Done;
}

/// The group holds the buffer; `what` it does with it otherwise is an error.
LogicalResult RoleRun::checkHeld(Agent &agent, Operation *op, int64_t buffer,
                                 StringRef what) {
  const Slot &slot = agent.slots[buffer % numSlots];
  int64_t use = buffer / numSlots;
  if (slot.isHeld && slot.use == use)
    return success();
  InFlightDiagnostic error = fail(op);
  if (slot.use != use) {
    error << what << " a slot that holds a later block by now; move it before "
          << "the slot's release";
    error.attachNote(slot.receive->getLoc()) << "the later block";
    return error;
  }
  error << what << " a slot that this group has released; move it before the "
        << "release";
  error.attachNote(slot.release->getLoc()) << "the release";
  return error;
}

LogicalResult RoleRun::release(Agent &agent, const Instruction &next) {
  int64_t buffer = agent.registers[next.in[0]];
  Slot &slot = agent.slots[buffer % numSlots];
  if (!slot.isHeld || slot.use != int64_t(buffer / numSlots)) {
    InFlightDiagnostic error =
        fail(next.op) << "gives back a slot that this group has given back, "
                         "but the barrier counts each once; release it once "
                         "for each receive";
    error.attachNote(slot.release->getLoc()) << "given back here";
    return error;
  }
  if (slot.product >= agent.complete) {
    InFlightDiagnostic error =
        fail(next.op) << "gives back a slot that a product under way still "
                         "reads; settle the product first";
    error.attachNote(agent.products[slot.product]->getLoc()) << "the product";
    return error;
  }
  slot.isHeld = false;
  slot.release = next.op;
  ++slot.releases;
  return success();
}

LogicalResult RoleRun::read(Agent &agent, Operation *op, int64_t buffer) {
  if (buffer == kUnknown)
    return success(); // of 'warp.alloc'
  if (failed(checkHeld(agent, op, buffer, "reads")))
    return failure();
  const Slot &slot = agent.slots[buffer % numSlots];
  if (!slot.writer)
    return success();
  InFlightDiagnostic error =
      fail(op) << "reads a slot whose block was written over; move it before "
                  "that";
  error.attachNote(slot.writer->getLoc()) << "written over here";
  return error;
}

/// A tile goes into a received slot, on its way out.
LogicalResult RoleRun::write(Agent &agent, const Instruction &next) {
  int64_t buffer = agent.registers[next.in[0]];
  if (buffer == kUnknown)
    return success();
  if (failed(checkHeld(agent, next.op, buffer, "writes")))
    return failure();
  Slot &slot = agent.slots[buffer % numSlots];
  auto ring = llvm::find_if(llvm::reverse(rings), [&](const Ring &ring) {
    return ring.firstSlot <= buffer % numSlots;
  });
  if (ring->parts != int64_t(agents.size()) - 1)
    return fail(next.op) << "writes a slot that the other groups may still "
                            "read; use a ring with a part for each group, or "
                            "a 'warp.alloc'";
  if (slot.product >= agent.complete) {
    InFlightDiagnostic error =
        fail(next.op) << "writes a slot that a product under way still reads; "
                         "settle the product first";
    error.attachNote(agent.products[slot.product]->getLoc()) << "the product";
    return error;
  }
  slot.writer = next.op;
  return success();
}

LogicalResult RoleRun::checkSlotsAtEnd() {
  for (const Agent &agent : llvm::drop_begin(agents)) {
    for (const Slot &slot : agent.slots)
      if (slot.isHeld)
        return fail(slot.receive)
               << "names a slot that is never released, so it is never sent "
                  "again; release it behind its last reader";
    for (auto [number, ring] : llvm::enumerate(rings)) {
      int64_t sends = agents.front().position[number];
      int64_t receives = agent.position[number];
      if (sends == receives)
        continue;
      InFlightDiagnostic error = fail(ring.op);
      error << "is sent " << sends << " blocks, but each group receives "
            << receives << "; receive each block once";
      error.attachNote(ring.lastSend->getLoc()) << "the last one";
      return error;
    }
  }
  return success();
}

} // namespace flashc::warp
