// attn to expanded tile: the part that the CPU and the GPU share.
#include "flashc/Pipelines/Pipelines.h"

#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"
#include "flashc/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void flashc::buildTilePipeline(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(attn::createAttnSimplifyMask());
  ConvertAttnToTileOptions toTile;
  toTile.arch = options.arch;
  toTile.sram = options.sram;
  toTile.tiles = options.tiles;
  toTile.stages = options.stages;
  toTile.warps = options.warps;
  manager.addPass(createConvertAttnToTile(toTile));
  manager.addPass(tile::createTileSplitLoops());
  // Bounds that are equal only after folding must meet as one value, so that
  // the loops are seen to be adjacent.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(tile::createTileStreamLoads());
  manager.addPass(tile::createTileUseExp2());
  manager.addPass(tile::createTileLazyRescale());
  manager.addPass(tile::createTileExpandSoftmax());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}
