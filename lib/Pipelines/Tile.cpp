// attn to expanded tile: the part that the CPU and the GPU share.
#include "flashc/Pipelines/Pipelines.h"

#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void flashc::buildAttnPipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  if (options.backward) {
    attn::AttnDeriveBackwardOptions derive;
    derive.gradients.assign(options.gradients.begin(), options.gradients.end());
    derive.dlse = options.lseGradient;
    derive.deterministic = options.deterministic;
    // The forward's LSE is that of the simplified score function.
    manager.addPass(attn::createAttnSimplifyScore());
    manager.addPass(attn::createAttnDeriveBackward(derive));
  }
  manager.addPass(attn::createAttnSimplifyMask());
}

void flashc::buildTilePipeline(OpPassManager &manager,
                               const PipelineOptions &options) {
  manager.addPass(attn::createAttnSimplifyMask());
  manager.addPass(attn::createAttnSimplifyScore());
  ConvertAttnToTileOptions toTile;
  toTile.arch = options.arch;
  toTile.sram = options.sram;
  toTile.tiles = options.tiles;
  toTile.stages = options.stages;
  toTile.warps = options.warps;
  toTile.alignment = options.alignment;
  toTile.length = options.length;
  toTile.schedule = options.schedule;
  manager.addPass(createConvertAttnToTile(toTile));
  manager.addPass(tile::createTileHoistCaptures());
  manager.addPass(tile::createTileJoinHeads());
  manager.addPass(tile::createTileSplitLoops());
  // Bounds that are equal only after folding must meet as one value, so that
  // the loops are seen to be adjacent.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(tile::createTileStreamLoads());
  manager.addPass(tile::createTileUseExp2());
  manager.addPass(tile::createTileLazyRescale());
  manager.addPass(tile::createTileDropGuards());
  manager.addPass(tile::createTileTurnKeys());
  manager.addPass(tile::createTileOverlap());
  manager.addPass(tile::createTileOverlapPairs());
  manager.addPass(tile::createTileRelativeBias());
  manager.addPass(tile::createTileFuseCap());
  manager.addPass(tile::createTileSplitTanh());
  manager.addPass(tile::createTileExpandTanh());
  manager.addPass(tile::createTileExpandSoftmax());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

namespace {
struct TileOptions : PassPipelineOptions<TileOptions> {
  Option<std::string> arch{*this, "arch", llvm::cl::desc("target"),
                           llvm::cl::init("sm_80")};
  Option<int64_t> sram{*this, "sram",
                       llvm::cl::desc("bytes of on-chip memory of one block"),
                       llvm::cl::init(0)};
  Option<std::string> tiles{*this, "tiles",
                            llvm::cl::desc("auto, paper, or QxK"),
                            llvm::cl::init("auto")};
  Option<int64_t> stages{*this, "stages",
                         llvm::cl::desc("depth of the K and V rings"),
                         llvm::cl::init(0)};
  Option<int64_t> warps{*this, "warps", llvm::cl::desc("warps of a block"),
                        llvm::cl::init(0)};
};
} // namespace

void flashc::registerTilePipeline() {
  PassPipelineRegistration<TileOptions>(
      "attn-to-tile",
      "attn to expanded tile ops: what the CPU and the GPU share",
      [](OpPassManager &manager, const TileOptions &options) {
        PipelineOptions pipeline;
        pipeline.arch = options.arch;
        pipeline.sram = options.sram;
        pipeline.tiles = options.tiles;
        pipeline.stages = options.stages;
        pipeline.warps = options.warps;
        buildTilePipeline(manager, pipeline);
      });
}
