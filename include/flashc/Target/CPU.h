//===- CPU.h - Kernels compiled for this machine ----------------*- C++ -*-===//
#ifndef FLASHC_TARGET_CPU_H
#define FLASHC_TARGET_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace flashc {

/// Bits of this machine's vector registers: what `PipelineOptions::vectorBits`
/// is for code that runs here. 128 where the machine has neither AVX2 with FMA
/// nor AVX-512.
int64_t hostVectorBits();

/// One argument of a kernel: an array in this process.
struct CpuArgument {
  /// The first element; aligned as its type asks, no more.
  void *data = nullptr;
  llvm::SmallVector<int64_t, 4> sizes;
  /// In elements; empty for a contiguous array.
  llvm::SmallVector<int64_t, 4> strides;
};

/// A kernel in this process's memory, ready to run. `run` may be called from
/// many threads at once.
class CpuKernel {
public:
  /// From the one kernel of a module that `buildCPUPipeline` has lowered to the
  /// LLVM dialect. The module is not changed. Fails, naming the kernel and what
  /// LLVM said, if it cannot be compiled.
  static llvm::Expected<std::unique_ptr<CpuKernel>>
  create(mlir::ModuleOp module);
  ~CpuKernel();

  /// Runs the kernel for all (batch, head, query block) of argument 0, handed
  /// out to `threads` threads one by one; 0: as many as the machine has.
  /// Arguments are those of the tile.kernel, in its order. Fails before it runs
  /// if their number, ranks, sizes or strides are not what the kernel takes.
  /// Nothing runs where the grid is empty.
  llvm::Error run(llvm::ArrayRef<CpuArgument> arguments,
                  unsigned threads = 0) const;

  const std::string &name() const { return kernelName; }
  /// Rows of a query block.
  int64_t qBlock() const { return queryBlock; }
  /// Bytes of scratch that each thread needs.
  int64_t scratchBytes() const { return scratch; }

private:
  CpuKernel() = default;
  /// Batch, head, block and an array of pointers to memref descriptors, scratch
  /// first.
  using Entry = void (*)(int64_t, int64_t, int64_t, void **);

  /// Shape and strides that an argument must have; dynamic ones are kDynamic.
  struct Parameter {
    llvm::SmallVector<int64_t, 4> shape, strides;
    bool contiguous = false;
    std::string type;
  };
  llvm::Error check(llvm::ArrayRef<CpuArgument> arguments) const;
  llvm::Error checkOne(size_t number, const CpuArgument &argument) const;
  void work(llvm::ArrayRef<std::vector<int64_t>> descriptors, int64_t heads,
            int64_t blocks, std::atomic<int64_t> &next, int64_t total) const;

  std::string kernelName;
  int64_t queryBlock = 0, scratch = 0;
  std::vector<Parameter> parameters;
  Entry entry = nullptr;
  std::unique_ptr<llvm::orc::LLJIT> jit; // owns the code
};

} // namespace flashc

#endif // FLASHC_TARGET_CPU_H
