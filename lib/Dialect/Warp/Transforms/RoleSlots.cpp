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
LogicalResult RoleRun::checkPosition(Agent &agent, const Instruction &next,
                                     int64_t use) {
  int64_t stage = agent.registers[next.in[0]];
  int64_t phase = agent.registers[next.in[1]];
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

/// Whether the agent's releases count for the part.
bool RoleRun::reads(const Agent &agent, const Ring &ring, int64_t part) const {
  return ring.readers.contains(agent.program) &&
         (agent.group < 0 || ring.parts == 1 || agent.group == part);
}

/// Whether others than the group read its part of the ring.
bool RoleRun::isReadByOthers(const Agent &agent, const Ring &ring) const {
  return llvm::any_of(agents, [&](const Agent &other) {
    return &other != &agent && reads(other, ring, getPart(agent, ring));
  });
}

const RoleRun::Agent *RoleRun::getReaderOf(int64_t ring, int64_t use,
                                           int64_t part) const {
  int64_t round = use / rings[ring].depth;
  size_t slot = getSlot(ring, use);
  for (const Agent &agent : agents)
    if (reads(agent, rings[ring], part) && agent.slots[slot].releases < round)
      return &agent;
  return nullptr;
}

/// Whether all that the agent reads of a block is there.
bool RoleRun::isFull(const Agent &agent, const Ring &ring, int64_t use) const {
  for (int64_t part = 0; part < ring.parts; ++part)
    if (reads(agent, ring, part) && ring.sent[part] <= use)
      return false;
  return true;
}

RoleRun::Outcome RoleRun::failTaken(Operation *op, const Slot &slot,
                                    StringRef text) {
  InFlightDiagnostic error = fail(op) << text;
  error.attachNote(slot.receive->getLoc()) << "by this group";
  return Outcome::Failed;
}

RoleRun::Outcome RoleRun::send(Agent &agent, const Instruction &next) {
  Ring &ring = rings[next.number];
  int64_t &use = agent.sends[next.number];
  if (failed(checkPosition(agent, next, use)))
    return Outcome::Failed;
  for (; agent.part < ring.parts; ++agent.part) {
    if (getReaderOf(next.number, use, agent.part))
      return Outcome::Blocked;
    for (const Agent &other : agents)
      if (const Slot &slot = other.slots[getSlot(next.number, use)];
          slot.isReclaimed && getPart(other, ring) == agent.part)
        return failTaken(next.op, slot,
                         "sends to a slot that a group has taken for itself; "
                         "use a ring that is sent once");
    ++ring.sent[agent.part];
  }
  agent.part = 0;
  ++use;
  ring.lastSend = next.op;
  return Outcome::Done;
}

RoleRun::Outcome RoleRun::receive(Agent &agent, const Instruction &next) {
  const Ring &ring = rings[next.number];
  int64_t &use = agent.position[next.number];
  if (failed(checkPosition(agent, next, use)))
    return Outcome::Failed;
  if (!isFull(agent, ring, use))
    return Outcome::Blocked;
  size_t index = getSlot(next.number, use);
  Slot &slot = agent.slots[index];
  slot.use = use++;
  slot.isHeld = true;
  slot.receive = next.op;
  slot.writer = nullptr;
  slot.product = -1;
  slot.isAcquired = false;
  // A buffer is its slot and the use it was received for.
  agent.registers[next.out[0]] = slot.use * numSlots + index;
  return Outcome::Done;
}

/// Received and given back at once.
RoleRun::Outcome RoleRun::skip(Agent &agent, const Instruction &next) {
  const Ring &ring = rings[next.number];
  int64_t &use = agent.position[next.number];
  if (failed(checkPosition(agent, next, use)))
    return Outcome::Failed;
  if (!isFull(agent, ring, use))
    return Outcome::Blocked;
  ++agent.slots[getSlot(next.number, use++)].releases;
  return Outcome::Done;
}

RoleRun::Outcome RoleRun::acquire(Agent &agent, const Instruction &next) {
  int64_t &use = agent.sends[next.number];
  if (failed(checkPosition(agent, next, use)))
    return Outcome::Failed;
  if (getReaderOf(next.number, use, getPart(agent, rings[next.number])))
    return Outcome::Blocked;
  size_t index = getSlot(next.number, use);
  Slot &slot = agent.slots[index];
  slot = Slot();
  slot.use = use++;
  slot.isHeld = slot.isAcquired = true;
  slot.receive = next.op;
  agent.registers[next.out[0]] = slot.use * numSlots + index;
  return Outcome::Done;
}

RoleRun::Outcome RoleRun::reclaim(Agent &agent, const Instruction &next) {
  const Ring &ring = rings[next.number];
  int64_t part = getPart(agent, ring);
  if (ring.sent[part] < 1 || getReaderOf(next.number, /*use=*/1, part))
    return Outcome::Blocked;
  size_t index = getSlot(next.number, /*use=*/0);
  for (const Agent &other : agents)
    if (const Slot &slot = other.slots[index];
        slot.isReclaimed && getPart(other, ring) == part)
      return failTaken(next.op, slot,
                       "takes a slot that a group has taken for itself; use "
                       "another ring");
  Slot &slot = agent.slots[index];
  slot.use = 1;
  slot.isHeld = slot.isAcquired = slot.isReclaimed = true;
  slot.receive = next.op;
  agent.registers[next.out[0]] = slot.use * numSlots + index;
  return Outcome::Done;
}

LogicalResult RoleRun::commit(Agent &agent, const Instruction &next) {
  int64_t buffer = agent.registers[next.in[0]];
  if (failed(checkHeld(agent, next.op, buffer, "hands over")))
    return failure();
  Slot &slot = agent.slots[buffer % numSlots];
  if (!slot.writer)
    return fail(next.op) << "hands over a slot that was not written; put a "
                            "'warp.store' before it";
  slot.isHeld = false;
  slot.release = next.op;
  auto ring = llvm::find_if(llvm::reverse(rings), [&](const Ring &ring) {
    return ring.firstSlot <= buffer % numSlots;
  });
  ++ring->sent[getPart(agent, *ring)];
  ring->lastSend = next.op;
  return success();
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
  if (slot.isAcquired)
    return fail(op) << "reads a slot that was acquired to be written; receive "
                       "it in the reducer";
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
  if (slot.isReclaimed && slot.writer) {
    InFlightDiagnostic error =
        fail(next.op) << "writes a slot that may still be copied out; take "
                         "back one of another ring";
    error.attachNote(slot.writer->getLoc()) << "written for that here";
    return error;
  }
  if (slot.isAcquired) {
    slot.writer = next.op;
    return success();
  }
  auto ring = llvm::find_if(llvm::reverse(rings), [&](const Ring &ring) {
    return ring.firstSlot <= buffer % numSlots;
  });
  if (isReadByOthers(agent, *ring))
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
  for (const Agent &agent : agents) {
    for (const Slot &slot : agent.slots)
      if (slot.isHeld && slot.isAcquired && !slot.isReclaimed)
        return fail(slot.receive)
               << "names a slot that is never handed over; put a "
                  "'warp.commit' behind what writes it";
      else if (slot.isHeld && !slot.isAcquired)
        return fail(slot.receive)
               << "names a slot that is never released, so it is never sent "
                  "again; release it behind its last reader";
    for (auto [number, ring] : llvm::enumerate(rings)) {
      bool isRead = ring.readers.contains(agent.program);
      if (!isRead && (agent.group < 0 || !ring.readers.empty()))
        continue;
      int64_t sends =
          ring.sent[ring.parts > 1 && agent.group > 0 ? agent.group : 0];
      int64_t receives = agent.position[number];
      if (sends == receives)
        continue;
      InFlightDiagnostic error = fail(ring.op);
      error << "is sent " << sends << " blocks, but "
            << (agent.group < 0 ? "the reducer" : "each group") << " receives "
            << receives << "; receive each block once";
      error.attachNote(ring.lastSend ? ring.lastSend->getLoc()
                                     : ring.op.getLoc())
          << "the last one";
      return error;
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sums on their way out
//===----------------------------------------------------------------------===//

/// All slots but this one may still be read out.
LogicalResult RoleRun::stageSums(Agent &agent, const Instruction &next) {
  if (Operation *before = agent.staged[next.number]) {
    InFlightDiagnostic error =
        fail(next.op) << "writes over sums that were not sent; send them first";
    error.attachNote(before->getLoc()) << "staged here";
    return error;
  }
  int64_t depth = cast<StageSumsOp>(next.op).getStaging().getType().getDepth();
  int64_t sent = agent.sentSums[next.number];
  if (sent >= 0 && agent.sums - 1 - sent < depth - 1)
    return fail(next.op) << "writes a slot whose copy may be under way: "
                         << agent.sums - 1 - sent
                         << " slots were sent behind it, but " << depth - 1
                         << " copies are not waited for; let the slots take "
                            "turns";
  agent.staged[next.number] = next.op;
  return success();
}

LogicalResult RoleRun::sendSums(Agent &agent, const Instruction &next) {
  if (!agent.staged[next.number])
    return fail(next.op) << "sends a slot without sums; stage them first";
  agent.staged[next.number] = nullptr;
  agent.sentSums[next.number] = agent.sums++;
  return success();
}

LogicalResult RoleRun::checkSumsAtEnd() {
  for (const Agent &agent : agents)
    for (Operation *staged : agent.staged)
      if (staged)
        return fail(staged) << "stages sums that are never sent; put a "
                               "'warp.send_sums' behind it";
  return success();
}

} // namespace flashc::warp
