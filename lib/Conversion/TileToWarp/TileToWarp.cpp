// convert-tile-to-warp: from the last form of the tile level (softmax written
// out, streams) to warp kernels that have no puts, no pending counts and no
// offsets yet; the warp level's own passes add those. f16 and bf16 only.
#include "flashc/Conversion/Passes.h"

#include "GradientConverter.h"
#include "RoleConverter.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTTILETOWARP
#include "Conversion/ConversionPasses.h.inc"

namespace {
/// Whether it is the main kernel of a backward.
bool addsUp(tile::KernelOp kernel) {
  return kernel.walk([](tile::AccumulateOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

struct ConvertTileToWarp : impl::ConvertTileToWarpBase<ConvertTileToWarp> {
  using Base::Base;

  void runOnOperation() override {
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<tile::KernelOp>())) {
      FailureOr<PartialRows> partial = PartialRows::compute(kernel);
      if (failed(partial))
        return signalPassFailure();
      std::unique_ptr<KernelConverter> converter;
      if (!kernel.getSchedule().getRoles())
        converter = std::make_unique<KernelConverter>(kernel, *partial);
      else if (addsUp(kernel))
        converter = std::make_unique<GradientConverter>(kernel, *partial);
      else
        converter = std::make_unique<RoleConverter>(kernel, *partial);
      if (failed(converter->convert()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
} // namespace flashc
