// Expanded tile to warp: tiles get places, then channels their puts, gets their
// counts and buffers their bytes; then the whole is run as a check.
#include "flashc/Pipelines/Pipelines.h"

#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Warp/Transforms/Passes.h"
#include "flashc/Support/TargetInfo.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Bytes of shared memory of one block; 0 (no check) for an unknown target,
/// which the tile level has refused with a list of the known ones.
static int64_t getBudget(const flashc::PipelineOptions &options) {
  auto target = flashc::lookupTarget(options.arch, options.sram);
  if (target)
    return target->sharedBytesPerBlock;
  llvm::consumeError(target.takeError());
  return 0;
}

void flashc::buildWarpPipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  manager.addPass(createConvertTileToWarp());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Kernels without roles have puts and counts, those with roles stages,
  // settles and turns; each pass leaves the others alone.
  manager.addPass(warp::createWarpPlacePuts());
  manager.addPass(warp::createWarpCountGroups());
  manager.addPass(warp::createWarpAssignStages());
  manager.addPass(warp::createWarpPlaceSettles());
  manager.addPass(warp::createWarpOrderGroups());
  warp::WarpAllocateSharedOptions shared;
  shared.budget = getBudget(options);
  manager.addPass(warp::createWarpAllocateShared(shared));
  manager.addPass(warp::createWarpVerifyProtocol());
}

namespace {
struct WarpOptions : PassPipelineOptions<WarpOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("target"),
                           llvm::cl::init("sm_80")};
  Option<int64_t> sram{*this, "sram",
                       llvm::cl::desc("bytes of on-chip memory of one block"),
                       llvm::cl::init(0)};
};
} // namespace

void flashc::registerWarpPipeline() {
  PassPipelineRegistration<WarpOptions>(
      "tile-to-warp",
      "expanded tile ops to warp: places, puts, counts and bytes",
      [](OpPassManager &manager, const WarpOptions &options) {
        PipelineOptions pipeline;
        pipeline.arch = options.arch;
        pipeline.sram = options.sram;
        buildWarpPipeline(manager, pipeline);
      });
}
