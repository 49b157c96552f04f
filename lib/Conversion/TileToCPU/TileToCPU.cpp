// convert-tile-to-cpu: the border between the tile level and the CPU. Comes
// after tile-expand-softmax; what goes in is tile.kernel with loads, dots, maps
// and reductions, what comes out is func.func with scf loops of vector ops on
// memrefs. The work is in Emitter.h and the files beside it.
#include "Emitter.h"
#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTTILETOCPU
#include "Conversion/ConversionPasses.h.inc"

namespace {
struct ConvertTileToCPU : impl::ConvertTileToCPUBase<ConvertTileToCPU> {
  using Base::Base;

  void runOnOperation() override {
    if (vectorBits != 128 && vectorBits != 256 && vectorBits != 512) {
      getOperation().emitError()
          << "vector-bits is the width of a vector register, 128, 256 or 512, "
             "but it is "
          << int64_t(vectorBits) << "; leave it out for 256";
      return signalPassFailure();
    }
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (failed(cpu::Emitter(kernel, vectorBits).emit()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
} // namespace flashc
