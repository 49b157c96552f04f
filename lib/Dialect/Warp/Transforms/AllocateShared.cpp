// warp-allocate-shared: byte offsets of buffers and channels, first fit by live
// range. Runs last on the warp level, after warp-count-groups (it reads
// `pending`). Out: offsets, and `shared_bytes` of the kernel.
//
// A buffer is live from its op to the first barrier behind its last use, since
// other warps may be behind; a channel to the first `warp.wait pending(0)`,
// since copies to it may be under way. In program order: a use inside a loop
// counts from the loop's first op to its last.
#include "BlockIndex.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc::warp {
#define GEN_PASS_DEF_WARPALLOCATESHARED
#include "Warp/WarpPasses.h.inc"

namespace {

/// Banks repeat after 128 bytes; a swizzle starts on the first.
constexpr int64_t kAlignment = 128;
/// The 128-byte swizzle of TMA and wgmma repeats after eight rows.
constexpr int64_t kSwizzle = 1024;

struct Range {
  Operation *op;
  int64_t bytes;
  int64_t begin, end; // positions, both included
  int64_t offset = 0;

  bool overlapsInTime(const Range &other) const {
    return begin <= other.end && other.begin <= end;
  }
  int64_t getLimit() const { return offset + bytes; }
};

/// Numbers all ops of a kernel in program order.
class Positions {
public:
  explicit Positions(KernelOp kernel) {
    kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
      begins[op] = static_cast<int64_t>(begins.size());
    });
  }
  int64_t getBegin(Operation *op) const { return begins.lookup(op); }
  /// The position of the last op inside `op`.
  int64_t getEnd(Operation *op) const {
    int64_t end = getBegin(op);
    op->walk([&](Operation *inner) { end = std::max(end, getBegin(inner)); });
    return end;
  }

private:
  llvm::DenseMap<Operation *, int64_t> begins;
};

/// The last op of the allocation's block that uses it; slots that gets name
/// are used where they are read.
Operation *getLastUse(Operation *allocation) {
  Value value = allocation->getResult(0);
  Block *block = allocation->getBlock();
  Operation *last = getLastReader(value, block);
  if (!last)
    return allocation;
  for (Operation *user : value.getUsers())
    if (auto get = dyn_cast<GetOp>(user))
      if (Operation *reader = getLastReader(get.getBuffer(), block);
          reader && last->isBeforeInBlock(reader))
        last = reader;
  return last;
}

bool isFullWait(Operation *op) {
  auto wait = dyn_cast<WaitOp>(op);
  return wait && wait.getPending() == 0;
}

/// The op that ends the live range, or null for the end of the block.
Operation *getRelease(Operation *allocation) {
  Operation *op = getNextBarrier(getLastUse(allocation));
  while (op && isa<ChannelOp>(allocation) && !isFullWait(op))
    op = getNextBarrier(op);
  return op;
}

Range getRange(Operation *allocation, int64_t bytes, KernelOp kernel,
               const Positions &positions) {
  Range range{allocation, bytes, positions.getBegin(allocation), 0};
  if (Operation *release = getRelease(allocation)) {
    range.end = positions.getBegin(release);
    return range;
  }
  // In a loop, the next iteration may start before other warps end this one.
  Operation *outermost =
      kernel.getBody().front().findAncestorOpInBlock(*allocation);
  if (outermost != allocation) {
    range.begin = positions.getBegin(outermost);
    Operation *release = getNextBarrier(outermost);
    range.end = positions.getBegin(
        release ? release : kernel.getBody().front().getTerminator());
    return range;
  }
  range.end = positions.getEnd(kernel);
  return range;
}

SmallVector<Range> getRanges(KernelOp kernel) {
  Positions positions(kernel);
  SmallVector<Range> ranges;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    int64_t bytes = 0;
    if (auto alloc = dyn_cast<AllocOp>(op))
      bytes = alloc.getBuffer().getType().getBytes();
    else if (auto channel = dyn_cast<ChannelOp>(op))
      bytes = channel.getChannel().getType().getBytes();
    else
      return;
    ranges.push_back(
        getRange(op, llvm::alignTo(bytes, kAlignment), kernel, positions));
  });
  return ranges;
}

/// The lowest offset where `range` meets no placed range of its time.
int64_t findOffset(const Range &range, ArrayRef<Range> placed) {
  SmallVector<Range> rivals = llvm::filter_to_vector(
      placed, [&](const Range &other) { return other.overlapsInTime(range); });
  llvm::sort(rivals, [](const Range &a, const Range &b) {
    return a.offset < b.offset;
  });
  int64_t offset = 0;
  for (const Range &rival : rivals)
    if (rival.offset < offset + range.bytes)
      offset = std::max(offset, rival.getLimit());
  return offset;
}

void setOffset(Operation *op, int64_t offset) {
  IntegerAttr attr = Builder(op->getContext()).getI64IntegerAttr(offset);
  if (auto alloc = dyn_cast<AllocOp>(op))
    alloc.setOffsetAttr(attr);
  else
    cast<ChannelOp>(op).setOffsetAttr(attr);
}

/// Kernels with roles: rings and buffers live throughout, one behind the other;
/// then the barriers of the rings, and the queue of tiles.
int64_t placeRings(KernelOp kernel) {
  Builder b(kernel.getContext());
  int64_t total = 0;
  auto place = [&](int64_t bytes, int64_t alignment) {
    int64_t offset = llvm::alignTo(total, alignment);
    total = offset + bytes;
    return b.getI64IntegerAttr(offset);
  };
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op))
      ring.setOffsetAttr(place(ring.getRing().getType().getBytes(), kSwizzle));
    else if (auto alloc = dyn_cast<AllocOp>(op))
      alloc.setOffsetAttr(
          place(alloc.getBuffer().getType().getBytes(), kSwizzle));
    else if (auto staging = dyn_cast<StagingOp>(op))
      staging.setOffsetAttr(
          place(staging.getStaging().getType().getBytes(), kAlignment));
  });
  kernel.walk<WalkOrder::PreOrder>([&](RingOp ring) {
    ring.setBarriersAttr(place(ring.getRing().getType().getBarrierBytes(), 8));
  });
  if (kernel.isPersistent())
    kernel.setQueueAttr(place(kQueueBytes, 16));
  return llvm::alignTo(total, kAlignment);
}

struct WarpAllocateShared : impl::WarpAllocateSharedBase<WarpAllocateShared> {
  using Base::Base;

  static int64_t placeByLiveRange(KernelOp kernel) {
    SmallVector<Range> ranges = getRanges(kernel);
    int64_t total = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
      ranges[i].offset = findOffset(ranges[i], ArrayRef(ranges).take_front(i));
      setOffset(ranges[i].op, ranges[i].offset);
      total = std::max(total, ranges[i].getLimit());
    }
    return total;
  }

  LogicalResult allocate(KernelOp kernel) {
    int64_t total =
        kernel.getGroups() ? placeRings(kernel) : placeByLiveRange(kernel);
    if (budget > 0 && total > budget)
      return kernel.emitOpError("needs ")
             << total << " bytes of shared memory, but one block may use "
             << budget.getValue()
             << "; choose smaller tiles or rings of fewer stages";
    kernel.setSharedBytes(total);
    return success();
  }

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      return failed(allocate(kernel)) ? WalkResult::interrupt()
                                      : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
} // namespace flashc::warp
