// The ordered pass lists from one level to the next. docs/Pipelines.md gives a
// reason for each pass.
#ifndef FLASHC_PIPELINES_PIPELINES_H
#define FLASHC_PIPELINES_PIPELINES_H

#include <cstdint>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
}

namespace flashc {

/// Everything that the passes may be told. All of it changes generated code, so
/// all of it belongs in a cache key.
struct PipelineOptions {
  /// Target: cpu, sm_75, sm_80, sm_86, sm_89 or sm_90.
  std::string arch = "sm_80";
  /// Bytes of on-chip memory of one block; 0: what the target has.
  int64_t sram = 0;
  /// auto, paper, or QxK such as 128x64.
  std::string tiles = "auto";
  /// Depth of the K and V rings and warps of a block; 0: chosen.
  int64_t stages = 0, warps = 0;
  /// Bytes that bases and strides of global views are multiples of; 0: what
  /// the head dims allow, at most 16. GPU only.
  int64_t alignment = 0;
  /// Length of the problems that the schedule is chosen for; 0: 4096. Any
  /// length runs.
  int64_t length = 0;
  /// Gradients instead of attention: those of the captures with these numbers
  /// too; with dLSE beside dO; the same bits in every run.
  bool backward = false;
  std::vector<int64_t> gradients;
  bool lseGradient = false, deterministic = false;
  /// `#tile.schedule<...>` to be taken as it is, if it fits; empty: chosen by
  /// the fields above.
  std::string schedule;
  /// Width of a vector register: 128, 256 or 512. CPU only; code that runs here
  /// takes `hostVectorBits()` of flashc/Target/CPU.h.
  int64_t vectorBits = 256;
};

/// attn to attn: gradients, where they are asked for, and masks in one
/// spelling.
void buildAttnPipeline(mlir::OpPassManager &manager,
                       const PipelineOptions &options);
/// attn to expanded tile: the part that the CPU and the GPU share.
void buildTilePipeline(mlir::OpPassManager &manager,
                       const PipelineOptions &options);
/// Expanded tile to warp, with puts, group counts and shared memory in place.
void buildWarpPipeline(mlir::OpPassManager &manager,
                       const PipelineOptions &options);
/// warp to the LLVM and NVVM dialects.
void buildNVVMPipeline(mlir::OpPassManager &manager,
                       const PipelineOptions &options);
/// Expanded tile to the LLVM dialect for the host.
void buildCPUPipeline(mlir::OpPassManager &manager,
                      const PipelineOptions &options);

/// Makes the tile pipeline known to flashc-opt as `--attn-to-tile`, with the
/// options of the same names.
void registerTilePipeline();
/// The warp pipeline, as `--tile-to-warp`.
void registerWarpPipeline();
/// The NVVM pipeline, as `--warp-to-nvvm`.
void registerNVVMPipeline();
/// The CPU pipeline, as `--tile-to-cpu`.
void registerCPUPipeline();

} // namespace flashc

#endif // FLASHC_PIPELINES_PIPELINES_H
