// Slots and buffers of a protocol run (warp-verify-protocol): what they hold,
// who may still read them, and which copies are under way to them.
#include "ProtocolRun.h"

using namespace mlir;

namespace flashc::warp {

void ProtocolRun::addCells(KernelOp kernel) {
  kernel.walk([&](Operation *op) {
    if (auto channel = dyn_cast<ChannelOp>(op)) {
      firstCell[op] = cells.size();
      int64_t depth = channel.getChannel().getType().getDepth();
      int64_t bytes = channel.getChannel().getType().getBytes() / depth;
      std::optional<int64_t> offset = channel.getOffset();
      for (int64_t slot = 0; slot < depth; ++slot) {
        std::optional<int64_t> begin;
        if (offset)
          begin = *offset + slot * bytes;
        cells.push_back({op, begin, bytes});
      }
    } else if (auto alloc = dyn_cast<AllocOp>(op)) {
      named[alloc.getBuffer()] = {cells.size(), 0};
      cells.push_back(
          {op, alloc.getOffset(), alloc.getBuffer().getType().getBytes()});
    }
  });
}

size_t ProtocolRun::getSlot(ChannelOp channel, int64_t block) const {
  int64_t lo = *evaluate(channel.getLo());
  return firstCell.lookup(channel) +
         (block - lo) % channel.getChannel().getType().getDepth();
}

/// A write to `index`, and to what shares its bytes: nobody may still read
/// them, nor a copy be on its way there.
LogicalResult ProtocolRun::startWrite(Operation *op, size_t index) {
  auto overlaps = [&](const Cell &a, const Cell &b) {
    return a.begin && b.begin && *a.begin < *b.begin + b.bytes &&
           *b.begin < *a.begin + a.bytes;
  };
  for (auto [other, cell] : llvm::enumerate(cells)) {
    if (other != index && !overlaps(cell, cells[index]))
      continue;
    if (cell.reader) {
      InFlightDiagnostic error =
          fail(op) << "writes bytes that other warps may still read; put a "
                      "barrier between";
      error.attachNote(cell.reader->getLoc()) << "read here";
      return error;
    }
    bool isBusy = cell.state == State::UnderWay ||
                  (other != index && cell.state == State::Arrived);
    if (isBusy) {
      InFlightDiagnostic error =
          fail(op) << "writes bytes that a copy may still be under way to; "
                      "wait for its group first";
      error.attachNote(cell.owner->getLoc()) << "to this buffer";
      return error;
    }
    if (other != index) {
      cell.block = std::nullopt;
      cell.state = State::Empty;
    }
  }
  return success();
}

void ProtocolRun::completeGroups(int64_t pending) {
  size_t end = groups.size() - std::min<size_t>(pending, groups.size());
  for (; complete < end; ++complete)
    if (std::optional<size_t> cell = groups[complete];
        cell && cells[*cell].group == complete &&
        cells[*cell].state == State::UnderWay)
      cells[*cell].state = State::Arrived;
}

void ProtocolRun::meet() {
  for (Cell &cell : cells) {
    cell.reader = nullptr;
    if (cell.state == State::Arrived)
      cell.state = State::Visible;
  }
}

} // namespace flashc::warp
