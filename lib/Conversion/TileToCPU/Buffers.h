// Where the tiles of a kernel live on the CPU: static buffers carved out of one
// scratch area, shared by values whose lives do not overlap.
#ifndef FLASHC_LIB_CONVERSION_TILETOCPU_BUFFERS_H
#define FLASHC_LIB_CONVERSION_TILETOCPU_BUFFERS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <deque>

namespace flashc::cpu {

/// A piece of the scratch area and the tile values that live in it. A tenant
/// with no use left does not hold the buffer.
struct Buffer {
  mlir::Value memref;
  mlir::MemRefType type;
  llvm::SmallVector<mlir::Value> tenants;
  /// Taken by the op being emitted, whatever its tenants are.
  bool reserved = false;
};

/// May `value` be read after `op` has run? Uses inside of `op`'s own regions
/// count as later ones, and so does every use in a loop around `op` that the
/// value enters from outside: the next iteration reads it again. Uses in the
/// other branch of an `scf.if` around `op` do not.
bool isLiveAfter(mlir::Value value, mlir::Operation *op);

class BufferPool {
public:
  /// Views of `scratch`, a memref<?xi8>, are made at `entry`'s start.
  BufferPool(mlir::Value scratch, mlir::Block *entry)
      : scratch(scratch), entry(entry) {}

  /// A buffer that holds nothing that `at` or an op after it reads; not one
  /// that is reserved.
  Buffer *claim(mlir::MemRefType type, mlir::Operation *at);

  /// Does no tenant of `buffer` matter any more once `op` has run?
  static bool isVacatedBy(const Buffer &buffer, mlir::Operation *op);

  /// Bytes of scratch that the buffers made so far take.
  int64_t bytes() const { return size; }

private:
  mlir::Value scratch;
  mlir::Block *entry;
  mlir::Operation *lastView = nullptr;
  int64_t size = 0;
  std::deque<Buffer> buffers; // addresses stay
};

} // namespace flashc::cpu

#endif // FLASHC_LIB_CONVERSION_TILETOCPU_BUFFERS_H
