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
struct ConvertTileToWarp : impl::ConvertTileToWarpBase<ConvertTileToWarp> {
  using Base::Base;

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
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
