//===- Compiler.h - From attn IR to a kernel --------------------*- C++ -*-===//
//
// The compiler as functions of (module, options) alone: nothing else, no
// environment and no global state, changes what comes out. Many may run at once
// in one process, each with its own context.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_COMPILER_COMPILER_H
#define FLASHC_COMPILER_COMPILER_H

#include "flashc/Compiler/Module.h"
#include "flashc/Pipelines/Pipelines.h"
#include "flashc/Support/KernelImage.h"
#include "flashc/Support/ProgramManifest.h"
#include "flashc/Support/TargetInfo.h"
#include "flashc/Target/CPU.h"
#include "flashc/Target/CPU/Program.h"
#include "flashc/Target/NVPTX/Assembler.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace flashc {

/// Target and overrides of the schedule.
using CompileOptions = PipelineOptions;

/// What can be looked at, in the order of the way down. LLVM is LLVM IR, Header
/// a C header with the code (see Header.h).
enum class Stage { Attn, Tile, Warp, LLVM, PTX, Cubin, Manifest, Header };

/// "attn", "tile", "warp", "llvm", "ptx", "cubin", "manifest", "header".
llvm::StringRef stageName(Stage stage);
llvm::ArrayRef<Stage> allStages();

/// A module on its way down, and what was decided so far.
struct Lowering {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  TargetInfo target;
  std::string name;
  /// Complete from the tile level on, but for `sharedBytes` (warp level; on the
  /// tile level the schedule's estimate) and what ptxas says.
  Manifest manifest;
  /// In place of the manifest, of gradients: their kernels from the tile level
  /// on.
  std::optional<ProgramManifest> program;
};

/// Lower a copy of `module` to the IR of `stage` (Attn, Tile or Warp; LLVM here
/// is the LLVM dialect). Fails with the first error of a pass.
llvm::Expected<Lowering> lowerTo(mlir::ModuleOp module,
                                 const CompileOptions &options, Stage stage);

/// The text (or, for Cubin, the bytes) of one stage. Warp, PTX, Cubin, Header
/// and, but for gradients, Manifest need a GPU target; Cubin needs an
/// assembler, and with one Header has a cubin too.
llvm::Expected<std::string> emitStage(mlir::ModuleOp module,
                                      const CompileOptions &options,
                                      Stage stage,
                                      const Assembler *assembler = nullptr);

/// The kernel with its PTX; with an assembler, that makes the cubin too and the
/// manifest says how many registers it took. Fails for the target "cpu".
/// `progress`, if given, is told each stage before it begins.
llvm::Expected<KernelImage>
compileToGPU(mlir::ModuleOp module, const CompileOptions &options,
             const Assembler *assembler = nullptr,
             llvm::function_ref<void(Stage)> progress = nullptr);

/// The kernel in this process, for the target "cpu". `manifest`, if given, gets
/// what the levels decided.
llvm::Expected<std::unique_ptr<CpuKernel>>
compileToCPU(mlir::ModuleOp module, const CompileOptions &options,
             Manifest *manifest = nullptr);

/// The gradients of attention in this process: of a module with an
/// `attn.backward`, or of one with an `attn.forward` and `options.backward`.
llvm::Expected<CpuProgram> compileProgramToCPU(mlir::ModuleOp module,
                                               const CompileOptions &options);

/// The same for a GPU, with the PTX of each kernel by itself, and with an
/// assembler its cubin.
llvm::Expected<ProgramImage>
compileProgramToGPU(mlir::ModuleOp module, const CompileOptions &options,
                    const Assembler *assembler = nullptr);

} // namespace flashc

#endif // FLASHC_COMPILER_COMPILER_H
