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
  /// All kernels of such a module, in its order.
  static llvm::Expected<std::vector<std::unique_ptr<CpuKernel>>>
  createAll(mlir::ModuleOp module);
  ~CpuKernel();

  /// Runs the kernel for all (batch, head, block) of its grid, handed out to
  /// `threads` threads one by one; 0: as many as the machine has. Of kernels
  /// whose programs add to common sums, those of one batch and head are run in
  /// order on one thread, so that the sums are always the same bits.
  /// Arguments are those of the tile.kernel, in its order. Fails before it runs
  /// if their number, ranks, sizes or strides are not what the kernel takes.
  /// Nothing runs where the grid is empty.
  llvm::Error run(llvm::ArrayRef<CpuArgument> arguments,
                  unsigned threads = 0) const;

  /// Whether `run` would accept these arguments; says why not.
  llvm::Error check(llvm::ArrayRef<CpuArgument> arguments) const;

  const std::string &name() const { return kernelName; }
  /// Rows of a block of its grid: of the forward, of a query block.
  int64_t blockRows() const { return rows; }
  /// Bytes of scratch that each thread needs.
  int64_t scratchBytes() const { return scratch; }

  /// A dimension of an argument that the grid has its size from; 1 where there
  /// is no argument.
  struct Place {
    int64_t argument = -1, dim = 0;
  };

private:
  CpuKernel() = default;
  llvm::Error describe(mlir::DictionaryAttr facts);
  /// Batch, head, block and an array of pointers to memref descriptors, scratch
  /// first.
  using Entry = void (*)(int64_t, int64_t, int64_t, void **);

  /// Shape and strides that an argument must have; dynamic ones are kDynamic.
  struct Parameter {
    llvm::SmallVector<int64_t, 4> shape, strides;
    bool contiguous = false;
    std::string type;
  };
  llvm::Error checkOne(size_t number, const CpuArgument &argument) const;
  /// How many programs there are.
  struct Extent {
    int64_t batches, heads, blocks;
  };
  Extent extentFor(llvm::ArrayRef<CpuArgument> arguments) const;
  void work(llvm::ArrayRef<std::vector<int64_t>> descriptors, Extent extent,
            std::atomic<int64_t> &next) const;

  std::string kernelName;
  int64_t rows = 0, scratch = 0;
  Place batchPlace, headsPlace, blocksPlace;
  /// The programs of one batch and head, or all of them, run one after the
  /// other.
  bool inOrder = false, oneByOne = false;
  std::vector<Parameter> parameters;
  Entry entry = nullptr;
  std::shared_ptr<llvm::orc::LLJIT> jit; // owns the code
};

} // namespace flashc

#endif // FLASHC_TARGET_CPU_H
