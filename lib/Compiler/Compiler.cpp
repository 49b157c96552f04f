// compile(module, options): the pipelines one after another, with a stop at any
// stage. In: a verified module on the `attn` level; out: IR, PTX, a cubin, and
// the manifest beside them.
#include "flashc/Compiler/Compiler.h"
#include "Manifest.h"
#include "flashc/Compiler/Diagnostics.h"
#include "flashc/Compiler/Header.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Support/Error.h"
#include "flashc/Target/NVPTX.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace flashc;

static constexpr llvm::StringLiteral kStageNames[] = {
    "attn", "tile", "warp", "llvm", "ptx", "cubin", "manifest", "header"};

llvm::StringRef flashc::stageName(Stage stage) {
  return kStageNames[static_cast<size_t>(stage)];
}

llvm::ArrayRef<Stage> flashc::allStages() {
  static constexpr Stage stages[] = {
      Stage::Attn, Stage::Tile,  Stage::Warp,     Stage::LLVM,
      Stage::PTX,  Stage::Cubin, Stage::Manifest, Stage::Header};
  return stages;
}

using BuildPipeline = void (*)(OpPassManager &, const PipelineOptions &);

static llvm::Error runPipeline(ModuleOp module, const CompileOptions &options,
                               BuildPipeline build, llvm::StringRef level) {
  FirstError errors(module.getContext());
  PassManager manager(module.getContext());
  build(manager, options);
  // Once a level is enough here (flashc-opt verifies after every pass), and
  // what is LLVM's already LLVM verifies itself.
  manager.enableVerifier(false);
  bool isLast = level == stageName(Stage::LLVM);
  if (succeeded(manager.run(module)) && (isLast || succeeded(verify(module))))
    return llvm::Error::success();
  return errors.take(
      fmt::format("lowering to {} for {} failed without a reason; please "
                  "report the input",
                  level.str(), options.arch));
}

static llvm::Error needGPU(const CompileOptions &options, Stage stage) {
  return makeError("target is {}, but --emit={} needs a GPU; give --arch=sm_80 "
                   "or another of --arch=list",
                   options.arch, stageName(stage).str());
}

static llvm::Expected<func::FuncOp> findFunction(ModuleOp module) {
  if (holdsBackward(module)) {
    llvm::Expected<BackwardFunction> found = findBackward(module);
    if (!found)
      return found.takeError();
    return found->func;
  }
  llvm::Expected<AttnFunction> found = findAttention(module);
  if (!found)
    return found.takeError();
  return found->func;
}

/// The kernel's function alone in a module of its own: other functions and
/// attributes of the input (a data layout, LLVM's passthrough) would be knobs
/// that nobody sees.
static llvm::Expected<OwningOpRef<ModuleOp>> isolate(ModuleOp input) {
  llvm::Expected<func::FuncOp> found = findFunction(input);
  if (!found)
    return found.takeError();
  OwningOpRef<ModuleOp> module = ModuleOp::create(input.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto func = func::FuncOp::create(builder, found->getLoc(), found->getName(),
                                   found->getFunctionType());
  IRMapping mapping;
  found->getBody().cloneInto(&func.getBody(), mapping);
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (Attribute name = found->getArgAttr(i, kArgumentNameAttr))
      func.setArgAttr(i, kArgumentNameAttr, name);
  auto none = DictionaryAttr::get(input.getContext());
  func.walk([&](Operation *op) { op->setDiscardableAttrs(none); });
  return module;
}

static llvm::Error describeAttnLevel(Lowering &result) {
  if (holdsBackward(*result.module)) {
    llvm::Expected<ProgramManifest> program = describeBackward(*result.module);
    if (!program)
      return program.takeError();
    result.program = std::move(*program);
    return llvm::Error::success();
  }
  llvm::Expected<Manifest> manifest = describeAttn(*result.module);
  if (!manifest)
    return manifest.takeError();
  result.manifest = std::move(*manifest);
  return llvm::Error::success();
}

static llvm::Error describeTileLevel(Lowering &result,
                                     const CompileOptions &options) {
  if (!result.program)
    return describeTile(*result.module, options, result.manifest, result.name);
  describeKernels(*result.module, *result.program);
  return llvm::Error::success();
}

llvm::Expected<Lowering>
flashc::lowerTo(ModuleOp input, const CompileOptions &options, Stage stage) {
  llvm::Expected<TargetInfo> target = lookupTarget(options.arch, options.sram);
  if (!target)
    return target.takeError();
  if (!llvm::is_contained<int64_t>({0, 2, 4, 8, 16}, options.alignment))
    return makeError(
        "alignment is {}, but copies move 2, 4, 8 or 16 bytes; give "
        "one of them, or 0 for what the head dims allow",
        options.alignment);
  if (options.length < 0)
    return makeError("length is {}, but the schedule is chosen for a number of "
                     "queries and keys; give one, or 0 for the default",
                     options.length);
  if (!options.schedule.empty() &&
      (options.tiles != "auto" || options.stages || options.warps))
    return makeError("a whole schedule is given, but tiles, stages or warps "
                     "are too; give one or the other");
  llvm::Expected<OwningOpRef<ModuleOp>> module = isolate(input);
  if (!module)
    return module.takeError();
  if (options.backward && holdsBackward(**module))
    return makeError("gradients are asked for, but the module holds an "
                     "attn.backward already; leave --backward out");
  Lowering result{std::move(*module), *target, "", {}, std::nullopt};
  auto run = [&](BuildPipeline build, llvm::StringRef level) {
    return runPipeline(*result.module, options, build, level);
  };
  if (llvm::Error error = run(buildAttnPipeline, "attn"))
    return error;
  if (llvm::Error error = describeAttnLevel(result))
    return error;
  if (stage == Stage::Attn)
    return result;
  if (llvm::Error error = run(buildTilePipeline, "tile"))
    return error;
  if (llvm::Error error = describeTileLevel(result, options))
    return error;
  if (stage == Stage::Tile)
    return result;
  if (target->isCPU) {
    if (stage == Stage::Warp)
      return needGPU(options, stage);
    // The host knows functions such as expf by their names alone.
    for (auto kernel : result.module->getOps<tile::KernelOp>())
      kernel.setSymName((kernel.getSymName() + ".cpu").str());
    if (llvm::Error error = run(buildCPUPipeline, "llvm"))
      return error;
    return result;
  }
  if (llvm::Error error = run(buildWarpPipeline, "warp"))
    return error;
  if (result.program)
    describeBlocks(*result.module, *target, *result.program);
  else
    describeWarp(*result.module, result.manifest);
  if (stage == Stage::Warp)
    return result;
  if (llvm::Error error = run(buildNVVMPipeline, "llvm"))
    return error;
  return result;
}

static std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

static llvm::Error assembleTo(KernelImage &image, const TargetInfo &target,
                              const Assembler &assembler) {
  llvm::Expected<Assembled> cubin = assembler.assemble(image.ptx, target);
  if (!cubin)
    return cubin.takeError();
  image.cubin = std::move(cubin->cubin);
  image.manifest.registers = cubin->registers;
  image.manifest.spillBytes = cubin->spillStores + cubin->spillLoads;
  image.assembler = assembler.name();
  return llvm::Error::success();
}

/// As `emitStage`, of gradients: PTX and cubin have all kernels in one.
static llvm::Expected<std::string> emitProgram(ModuleOp module,
                                               const CompileOptions &options,
                                               Stage stage,
                                               const Assembler *assembler) {
  if (stage == Stage::Header)
    return makeError("a header is made of one kernel, but gradients are "
                     "several; emit ptx and manifest instead");
  if (stage == Stage::Cubin && !assembler)
    return makeError("cannot make a cubin: there is no assembler; give one, or "
                     "emit ptx instead");
  Stage lowest = std::min(stage, Stage::LLVM);
  llvm::Expected<Lowering> lowered = lowerTo(module, options, lowest);
  if (!lowered)
    return lowered.takeError();
  FirstError errors(module.getContext());
  if (stage == Stage::Manifest)
    return llvm::formatv("{0:2}\n", lowered->program->toJSON()).str();
  if (stage < Stage::LLVM || lowered->target.isCPU) {
    if (stage > Stage::LLVM)
      return needGPU(options, stage);
    return printModule(*lowered->module);
  }
  if (stage == Stage::LLVM)
    return translateToLLVMText(*lowered->module, lowered->target);
  llvm::Expected<std::string> ptx =
      translateToPTX(*lowered->module, lowered->target, BackendEffort::Full);
  if (!ptx || stage == Stage::PTX)
    return ptx;
  llvm::Expected<Assembled> cubin = assembler->assemble(*ptx, lowered->target);
  if (!cubin)
    return cubin.takeError();
  return cubin->cubin;
}

llvm::Expected<std::string> flashc::emitStage(ModuleOp module,
                                              const CompileOptions &options,
                                              Stage stage,
                                              const Assembler *assembler) {
  if (options.backward || holdsBackward(module))
    return emitProgram(module, options, stage, assembler);
  if (stage == Stage::Cubin && !assembler)
    return makeError("cannot make a cubin: there is no assembler; give one, or "
                     "emit ptx instead");
  if (stage >= Stage::PTX) {
    llvm::Expected<KernelImage> image = compileToGPU(
        module, options, stage == Stage::PTX ? nullptr : assembler);
    if (!image)
      return image.takeError();
    if (stage == Stage::Header)
      return emitHeader(*image);
    if (stage != Stage::Manifest)
      return stage == Stage::PTX ? image->ptx : image->cubin;
    return llvm::formatv("{0:2}\n", image->manifest.toJSON()).str();
  }
  llvm::Expected<Lowering> lowered = lowerTo(module, options, stage);
  if (!lowered)
    return lowered.takeError();
  if (stage != Stage::LLVM || lowered->target.isCPU)
    return printModule(*lowered->module);
  FirstError errors(module.getContext());
  return translateToLLVMText(*lowered->module, lowered->target);
}

llvm::Expected<KernelImage>
flashc::compileToGPU(ModuleOp module, const CompileOptions &options,
                     const Assembler *assembler,
                     llvm::function_ref<void(Stage)> progress) {
  auto begin = [&](Stage stage) {
    if (progress)
      progress(stage);
  };
  begin(Stage::LLVM);
  llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::LLVM);
  if (!lowered)
    return lowered.takeError();
  if (lowered->target.isCPU)
    return needGPU(options, Stage::PTX);
  if (lowered->program)
    return makeError("the module computes gradients, which are several "
                     "kernels; compile it as a program");
  begin(Stage::PTX);
  FirstError errors(module.getContext());
  llvm::Expected<std::string> ptx =
      translateToPTX(*lowered->module, lowered->target, BackendEffort::Lean);
  if (!ptx)
    return ptx.takeError();
  KernelImage image{lowered->name,
                    lowered->target.arch,
                    std::move(*ptx),
                    "",
                    std::move(lowered->manifest),
                    ""};
  if (!assembler)
    return image;
  begin(Stage::Cubin);
  if (llvm::Error error = assembleTo(image, lowered->target, *assembler))
    return std::move(error);
  return image;
}

/// A copy of `module` with this one of its functions.
static OwningOpRef<ModuleOp> keepOnly(ModuleOp module, llvm::StringRef name) {
  OwningOpRef<ModuleOp> copy = module.clone();
  for (auto func :
       llvm::make_early_inc_range(copy->getOps<mlir::FunctionOpInterface>()))
    if (func.getName() != name)
      func.erase();
  return copy;
}

llvm::Expected<ProgramImage>
flashc::compileProgramToGPU(ModuleOp module, const CompileOptions &options,
                            const Assembler *assembler) {
  llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::LLVM);
  if (!lowered)
    return lowered.takeError();
  if (lowered->target.isCPU)
    return needGPU(options, Stage::PTX);
  if (!lowered->program)
    return makeError("the module holds attention and no gradients, but a "
                     "program computes gradients; ask for them");
  FirstError errors(module.getContext());
  ProgramImage program{std::move(*lowered->program), {}};
  for (const ProgramKernel &kernel : program.manifest.kernels) {
    OwningOpRef<ModuleOp> alone = keepOnly(*lowered->module, kernel.name);
    llvm::Expected<std::string> ptx =
        translateToPTX(*alone, lowered->target, BackendEffort::Full);
    if (!ptx)
      return ptx.takeError();
    Manifest manifest = describeKernel(program.manifest, kernel, options);
    KernelImage &image = program.kernels.emplace_back(
        KernelImage{kernel.name, lowered->target.arch, std::move(*ptx), "",
                    std::move(manifest), ""});
    if (!assembler)
      continue;
    if (llvm::Error error = assembleTo(image, lowered->target, *assembler))
      return std::move(error);
  }
  return program;
}

llvm::Expected<CpuProgram>
flashc::compileProgramToCPU(ModuleOp module, const CompileOptions &options) {
  llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::LLVM);
  if (!lowered)
    return lowered.takeError();
  if (!lowered->program)
    return makeError("the module holds attention and no gradients, but a "
                     "program computes gradients; ask for them");
  FirstError errors(module.getContext());
  return CpuProgram::create(*lowered->module, *lowered->program);
}

llvm::Expected<std::unique_ptr<CpuKernel>>
flashc::compileToCPU(ModuleOp module, const CompileOptions &options,
                     Manifest *manifest) {
  llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::LLVM);
  if (!lowered)
    return lowered.takeError();
  if (!lowered->target.isCPU)
    return makeError("target is {}, but this kernel is to run on the CPU; give "
                     "cpu",
                     options.arch);
  if (lowered->program)
    return makeError("the module computes gradients, which are several "
                     "kernels; compile it as a program");
  if (manifest)
    *manifest = lowered->manifest;
  FirstError errors(module.getContext());
  return CpuKernel::create(*lowered->module);
}
