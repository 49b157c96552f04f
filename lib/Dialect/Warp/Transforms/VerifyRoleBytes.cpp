// warp-verify-protocol: in kernels with roles all of shared memory lives
// throughout, so no two parts of it share bytes.
#include "VerifyRoles.h"

using namespace mlir;

namespace flashc::warp {

namespace {
struct Bytes {
  Operation *op;
  StringRef what;
  int64_t begin, end;
};
} // namespace

static SmallVector<Bytes> getBytes(KernelOp kernel) {
  SmallVector<Bytes> all;
  auto add = [&](Operation *op, StringRef what, std::optional<int64_t> begin,
                 int64_t size) {
    if (begin)
      all.push_back({op, what, *begin, *begin + size});
  };
  kernel.walk([&](Operation *op) {
    if (auto ring = dyn_cast<RingOp>(op)) {
      RingType type = ring.getRing().getType();
      add(op, "slots", ring.getOffset(), type.getBytes());
      add(op, "barriers", ring.getBarriers(), type.getBarrierBytes());
    } else if (auto alloc = dyn_cast<AllocOp>(op)) {
      add(op, "rows", alloc.getOffset(),
          alloc.getBuffer().getType().getBytes());
    } else if (auto staging = dyn_cast<StagingOp>(op)) {
      add(op, "sums", staging.getOffset(),
          staging.getStaging().getType().getBytes());
    }
  });
  add(kernel, "queue", kernel.getQueue(), kQueueBytes);
  return all;
}

LogicalResult verifyRoleBytes(KernelOp kernel) {
  SmallVector<Bytes> all = getBytes(kernel);
  std::optional<int64_t> size = kernel.getSharedBytes();
  for (const Bytes &bytes : all)
    if (size && bytes.end > *size)
      return bytes.op->emitOpError("has its ")
             << bytes.what << " at bytes " << bytes.begin << " to "
             << bytes.end - 1 << ", but the kernel has " << *size
             << " bytes of shared memory; run 'warp-allocate-shared'";
  llvm::sort(all, [](const Bytes &a, const Bytes &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  for (size_t i = 1; i < all.size(); ++i) {
    const Bytes &bytes = all[i], &before = all[i - 1];
    if (before.end <= bytes.begin)
      continue;
    InFlightDiagnostic error = bytes.op->emitOpError("has its ");
    error << bytes.what << " at bytes " << bytes.begin << " to "
          << bytes.end - 1 << ", but bytes " << before.begin << " to "
          << before.end - 1 << " are another's " << before.what
          << "; run 'warp-allocate-shared'";
    error.attachNote(before.op->getLoc()) << "the other";
    return error;
  }
  return success();
}

} // namespace flashc::warp
