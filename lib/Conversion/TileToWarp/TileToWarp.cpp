// convert-tile-to-warp: from the last form of the tile level (softmax written
// out, streams) to warp kernels that have no puts, no pending counts and no
// offsets yet; the warp level's own passes add those. f16 and bf16 only.
#include "flashc/Conversion/Passes.h"

#include "RoleConverter.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTTILETOWARP
#include "Conversion/ConversionPasses.h.inc"

namespace {
/// What only the kernels of a backward hold, which run on the CPU alone so far.
LogicalResult checkForward(tile::KernelOp kernel) {
  if (kernel.getGrid())
    return kernel.emitOpError(
        "has a grid of its own, but kernels on the warp level have a program "
        "for each query block; run this one on the CPU");
  auto check = [](Operation *op) -> WalkResult {
    auto isRow = [](Type type) {
      auto tile = dyn_cast<RankedTensorType>(type);
      return tile && tile.getRank() == 2 && tile.getDimSize(0) == 1;
    };
    auto dot = dyn_cast<tile::DotOp>(op);
    auto load = dyn_cast<tile::LoadOp>(op);
    bool isRows =
        load && cast<MemRefType>(load.getView().getType()).getRank() == 3;
    if ((dot && dot.getTransposeA()) || isRows ||
        llvm::any_of(op->getOperandTypes(), isRow))
      return op->emitOpError("has no form on the warp level, which knows "
                             "products with B transposed, blocks of rows and "
                             "values for each row; run this kernel on the CPU");
    return WalkResult::advance();
  };
  return failure(kernel.walk(check).wasInterrupted());
}

struct ConvertTileToWarp : impl::ConvertTileToWarpBase<ConvertTileToWarp> {
  using Base::Base;

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      if (failed(checkForward(kernel)))
        return signalPassFailure();
      FailureOr<PartialRows> partial = PartialRows::compute(kernel);
      if (failed(partial))
        return signalPassFailure();
      bool hasRoles = bool(kernel.getSchedule().getRoles());
      if (failed(hasRoles
                     ? RoleConverter(kernel, std::move(*partial)).convert()
                     : KernelConverter(kernel, std::move(*partial)).convert()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
} // namespace flashc
