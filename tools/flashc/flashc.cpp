// flashc: compile a description of attention, stop at any stage, explain.
#include "SupportMatrix.h"
#include "common/Environment.h"
#include "common/Flags.h"

#include "flashc/Compiler/Explain.h"
#include "flashc/Support/Error.h"
#include "flashc/Support/File.h"
#include "flashc/Support/KernelFile.h"
#include "flashc/Target/NVPTX/Assembler.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace flashc;
using namespace flashc::tools;
namespace cl = llvm::cl;

static cl::opt<std::string>
    emit("emit",
         cl::desc("What to write: attn, tile, warp, llvm, ptx, cubin, manifest "
                  "or header; "
                  "default: ptx, for the CPU llvm"),
         cl::value_desc("stage"), cl::cat(category()));
static cl::opt<AssemblerKind> assemblerFlag(
    "assembler", cl::desc("What makes a cubin of the PTX; default: auto"),
    cl::values(clEnumValN(AssemblerKind::Auto, "auto",
                          "nvPTXCompiler if it is there, else ptxas"),
               clEnumValN(AssemblerKind::NvPTXCompiler, "nvptxcompiler",
                          "ptxas as a library in this process"),
               clEnumValN(AssemblerKind::Ptxas, "ptxas",
                          "on PATH or under /usr/local/cuda")),
    cl::init(AssemblerKind::Auto), cl::cat(category()));
static cl::opt<std::string> output("o", cl::desc("File to write; default: -"),
                                   cl::value_desc("file"), cl::init("-"),
                                   cl::cat(category()));
static cl::opt<bool> manifestFlag(
    "manifest",
    cl::desc("Write the manifest beside the PTX or cubin of -o, as NAME.json, "
             "for flashc_load"),
    cl::cat(category()));
static cl::opt<bool>
    explainFlag("explain", cl::desc("Print tiles, memory, costs and bounds"),
                cl::cat(category()));
static cl::list<int64_t> seq("seq", cl::CommaSeparated,
                             cl::desc("Lengths for --explain; default: 4096"),
                             cl::value_desc("N,..."), cl::cat(category()));
static cl::opt<int64_t> batch("batch",
                              cl::desc("Batch for --explain; default: 1"),
                              cl::value_desc("N"), cl::init(1),
                              cl::cat(category()));
static cl::opt<bool>
    matrix("support-matrix",
           cl::desc("Print what can be compiled, by target, type and head dim"),
           cl::cat(category()));

static cl::opt<bool>
    dlse("dlse", cl::desc("With --backward: a gradient of the lse comes in"),
         cl::cat(category()));
static cl::list<std::string>
    gradients("gradients", cl::CommaSeparated,
              cl::desc("With --backward: captured tensors whose gradients are "
                       "wanted"),
              cl::value_desc("name,..."), cl::cat(category()));

/// Names of captured tensors as their numbers.
static llvm::Error resolveGradients(mlir::ModuleOp module,
                                    CompileOptions &options) {
  options.lseGradient = dlse;
  if (llvm::Error error =
          checkBackwardFlags({"dlse", "gradients", "deterministic"}))
    return error;
  if (gradients.empty())
    return llvm::Error::success();
  llvm::Expected<AttnFunction> attention = findAttention(module);
  if (!attention)
    return attention.takeError();
  const std::vector<std::string> &names = attention->captureNames;
  for (const std::string &name : gradients) {
    auto found = llvm::find(names, name);
    if (found == names.end())
      return makeError("--gradients has '{}', which is no captured tensor of "
                       "the description ({}); correct the name",
                       name,
                       names.empty()
                           ? "there are none"
                           : fmt::format("{}", fmt::join(names, ", ")));
    options.gradients.push_back(found - names.begin());
  }
  llvm::sort(options.gradients);
  return llvm::Error::success();
}

static llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
loadModule(mlir::MLIRContext &context) {
  llvm::Expected<AttentionSpec> spec = specFromFlags();
  if (!spec)
    return spec.takeError();
  if (!inputFile().empty())
    return readModule(inputFile(), context);
  if (!isGiven("head-dim"))
    return makeError("no attention is described; give an .mlir file or "
                     "--head-dim=N (see flashc --help)");
  return buildAttnModule(*spec, context);
}

static llvm::Expected<Stage> chosenStage(const CompileOptions &options) {
  if (emit.empty())
    return options.arch == "cpu" ? Stage::LLVM : Stage::PTX;
  std::string known;
  for (Stage stage : allStages()) {
    if (emit == stageName(stage))
      return stage;
    known += (known.empty() ? "" : ", ") + stageName(stage).str();
  }
  return makeError("--emit is '{}', but the stages are {}; give one of them",
                   emit.getValue(), known);
}

static llvm::Expected<std::unique_ptr<Assembler>> chosenAssembler() {
  return openAssembler({assemblerFlag, findPtxCompiler(), findPtxas()});
}

/// The assembler that a stage needs, or would like to have.
static llvm::Expected<std::unique_ptr<Assembler>> assemblerFor(Stage stage) {
  if (stage != Stage::Cubin && stage != Stage::Header)
    return nullptr;
  llvm::Expected<std::unique_ptr<Assembler>> chosen = chosenAssembler();
  if (chosen && !*chosen && stage == Stage::Cubin)
    return makeError(
        "cannot make a cubin: ptxas is neither on PATH nor in "
        "/usr/local/cuda/bin; install the CUDA toolkit or emit ptx instead");
  return chosen;
}

/// NAME.cubin or NAME.ptx, and NAME.json.
static llvm::Error emitWithManifest(mlir::ModuleOp module,
                                    const CompileOptions &options, Stage stage,
                                    const Assembler *assembler) {
  std::string suffix = "." + stageName(stage).str();
  if (stage != Stage::PTX && stage != Stage::Cubin)
    return makeError("--manifest is given with --emit={}, but goes with ptx or "
                     "cubin; emit one of them",
                     stageName(stage).str());
  if (llvm::sys::path::extension(output) != suffix)
    return makeError("--manifest writes NAME{} and NAME.json, but -o is '{}'; "
                     "give a name that ends in {}",
                     suffix, output.getValue(), suffix);
  llvm::Expected<KernelImage> image = compileToGPU(module, options, assembler);
  if (!image)
    return image.takeError();
  if (stage == Stage::Cubin)
    image->ptx.clear();
  llvm::SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, "json");
  return writeKernelFiles(path.str().str(), *image);
}

static llvm::Error emitTo(mlir::ModuleOp module,
                          const CompileOptions &options) {
  llvm::Expected<Stage> stage = chosenStage(options);
  if (!stage)
    return stage.takeError();
  if (*stage == Stage::Cubin && output == "-" &&
      llvm::sys::Process::StandardOutIsDisplayed())
    return makeError(
        "--emit=cubin writes binary data, but standard output is a "
        "terminal; give -o FILE");
  llvm::Expected<std::unique_ptr<Assembler>> assembler = assemblerFor(*stage);
  if (!assembler)
    return assembler.takeError();
  if (manifestFlag)
    return emitWithManifest(module, options, *stage, assembler->get());
  llvm::Expected<std::string> text =
      emitStage(module, options, *stage, assembler->get());
  if (!text)
    return text.takeError();
  if (output != "-")
    return writeFile(output, {*text});
  llvm::outs() << *text;
  return llvm::Error::success();
}

/// As `manifest`, but with what ptxas says where it can be asked.
static llvm::Expected<Manifest> fullManifest(mlir::ModuleOp module,
                                             const CompileOptions &options) {
  if (options.arch != "cpu") {
    llvm::Expected<std::unique_ptr<Assembler>> assembler = chosenAssembler();
    if (!assembler)
      return assembler.takeError();
    llvm::Expected<KernelImage> image =
        compileToGPU(module, options, assembler->get());
    if (!image)
      return image.takeError();
    return image->manifest;
  }
  llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::Tile);
  if (!lowered)
    return lowered.takeError();
  return lowered->manifest;
}

static llvm::Error checkSizes(llvm::ArrayRef<int64_t> lengths) {
  for (int64_t n : lengths)
    if (n < 0 || n > (int64_t(1) << 24))
      return makeError("--seq is {}, but lengths are from 0 to 2^24; give "
                       "another one",
                       n);
  if (batch < 0 || batch > (int64_t(1) << 24))
    return makeError("--batch is {}, but is from 0 to 2^24; give another one",
                     batch.getValue());
  return llvm::Error::success();
}

/// What explains a problem of these sizes.
using Explainer = std::function<std::string(const ProblemSize &)>;

static llvm::Expected<Explainer>
explainGradientsOf(mlir::ModuleOp module, const CompileOptions &options,
                   mlir::Attribute mask, const TargetInfo &target) {
  ProgramImage program;
  if (target.isCPU) {
    llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::LLVM);
    if (!lowered)
      return lowered.takeError();
    program.manifest = std::move(*lowered->program);
  } else {
    llvm::Expected<std::unique_ptr<Assembler>> assembler = chosenAssembler();
    if (!assembler)
      return assembler.takeError();
    llvm::Expected<ProgramImage> compiled =
        compileProgramToGPU(module, options, assembler->get());
    if (!compiled)
      return compiled.takeError();
    program = std::move(*compiled);
  }
  return [program = std::move(program), mask, target](const ProblemSize &size) {
    return explainGradients(program.manifest, program.kernels, mask, target,
                            size);
  };
}

static llvm::Expected<Explainer> explainerOf(mlir::ModuleOp module,
                                             const CompileOptions &options,
                                             mlir::Attribute mask,
                                             const TargetInfo &target) {
  if (options.backward)
    return explainGradientsOf(module, options, mask, target);
  llvm::Expected<Manifest> manifest = fullManifest(module, options);
  if (!manifest)
    return manifest.takeError();
  return [manifest = *manifest, mask, target](const ProblemSize &size) {
    return explain(manifest, mask, target, size);
  };
}

static llvm::Error explainTo(mlir::ModuleOp module,
                             const CompileOptions &options) {
  llvm::SmallVector<int64_t> lengths(seq.begin(), seq.end());
  if (lengths.empty())
    lengths.push_back(4096);
  if (llvm::Error error = checkSizes(lengths))
    return error;
  llvm::Expected<TargetInfo> target = lookupTarget(options.arch, options.sram);
  if (!target)
    return target.takeError();
  llvm::Expected<AttnFunction> attention = findAttention(module);
  if (!attention)
    return attention.takeError();
  attn::ForwardOp op = attention->forward;
  llvm::Expected<Explainer> explainer = explainerOf(
      module, options, op.getMask().value_or(mlir::Attribute()), *target);
  if (!explainer)
    return explainer.takeError();
  auto staticOr = [](int64_t size, int64_t otherwise) {
    return mlir::ShapedType::isDynamic(size) ? otherwise : size;
  };
  int64_t heads =
      staticOr(op.getQuery().getType().getDimSize(op.getHeadsDim()), 32);
  int64_t kvHeads =
      staticOr(op.getKey().getType().getDimSize(op.getHeadsDim()), heads);
  for (int64_t n : lengths)
    llvm::outs() << (*explainer)({batch, heads, kvHeads, n, n})
                 << (n == lengths.back() ? "" : "\n");
  return llvm::Error::success();
}

static llvm::Error listArchs() {
  for (llvm::StringRef arch : knownArchs()) {
    llvm::Expected<TargetInfo> target = lookupTarget(arch);
    if (!target)
      return target.takeError();
    llvm::outs() << fmt::format("{:<6} {:>7} bytes on chip a block{}\n",
                                target->arch, target->sharedBytesPerBlock,
                                target->isCPU ? " (L2)" : "");
  }
  return llvm::Error::success();
}

static llvm::Error runFlashc() {
  CompileOptions options = optionsFromFlags();
  if (options.arch == "list")
    return listArchs();
  if (matrix) {
    llvm::outs() << supportMatrix(options.backward, options.deterministic);
    return llvm::Error::success();
  }
  auto context = makeContext();
  auto module = loadModule(*context);
  if (!module)
    return module.takeError();
  if (llvm::Error error = resolveGradients(**module, options))
    return error;
  llvm::Expected<CompileOptions> tuned = withTuned(**module, options, "");
  if (!tuned)
    return tuned.takeError();
  options = *tuned;
  if (explainFlag)
    if (llvm::Error error = explainTo(**module, options))
      return error;
  if (explainFlag && emit.empty() && output == "-")
    return llvm::Error::success();
  return emitTo(**module, options);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  parseFlags(argc, argv, "flashc: a compiler for attention kernels\n");
  if (llvm::Error error = runFlashc())
    return fail(std::move(error));
  return 0;
}
