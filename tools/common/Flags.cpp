// Flags to plain structs. llvm::cl is used here and in the tools' main files,
// never in lib/.
#include "common/Flags.h"

#include "flashc/Compiler/Tuned.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace flashc;
using namespace flashc::tools;
namespace cl = llvm::cl;

cl::OptionCategory &tools::category() {
  static cl::OptionCategory category("flashc options");
  return category;
}

static cl::opt<std::string> input(cl::Positional, cl::desc("[in.mlir]"),
                                  cl::cat(tools::category()));
static cl::opt<int64_t> headDim("head-dim",
                                cl::desc("Head dim of Q and K, 1 to 256"),
                                cl::value_desc("N"),
                                cl::cat(tools::category()));
static cl::opt<int64_t>
    headDimV("head-dim-v", cl::desc("Head dim of V and O; default: --head-dim"),
             cl::value_desc("N"), cl::cat(tools::category()));
static cl::opt<std::string>
    kernelName("name", cl::desc("Name of the kernel; default: attention"),
               cl::value_desc("name"), cl::init("attention"),
               cl::cat(tools::category()));
static cl::opt<int64_t>
    heads("heads", cl::desc("Query heads; default: known at run time"),
          cl::value_desc("N"), cl::cat(tools::category()));
static cl::opt<int64_t> kvHeads("kv-heads",
                                cl::desc("Key heads; default: --heads"),
                                cl::value_desc("N"),
                                cl::cat(tools::category()));
static cl::opt<std::string>
    dtype("dtype", cl::desc("Element type: f16 (default), bf16 or f32"),
          cl::value_desc("type"), cl::init("f16"), cl::cat(tools::category()));
static cl::opt<std::string> layout(
    "layout", cl::desc("Order of the dimensions: bshd (default) or bhsd"),
    cl::value_desc("order"), cl::init("bshd"), cl::cat(tools::category()));
static cl::opt<double> scale("scale", cl::desc("Default: 1/sqrt(head dim)"),
                             cl::value_desc("x"), cl::cat(tools::category()));
static cl::opt<std::string> mask(
    "mask",
    cl::desc(
        "none, causal, causal-topleft, window(L,R), prefix(N), key-length, "
        "joined by & | ! ( )"),
    cl::value_desc("mask"), cl::init("none"), cl::cat(tools::category()));
static cl::opt<bool> kvLengths("kv-lengths",
                               cl::desc("Each batch has its own key length"),
                               cl::cat(tools::category()));
static cl::opt<bool> noLse("no-lse", cl::desc("The kernel does not write LSE"),
                           cl::cat(tools::category()));
static cl::opt<std::string>
    arch("arch", cl::desc("Target: one of --arch=list; default: sm_80"),
         cl::value_desc("target"), cl::init("sm_80"),
         cl::cat(tools::category()));
static cl::opt<int64_t>
    sram("sram",
         cl::desc("Bytes of on-chip memory of a block; default: the target's"),
         cl::value_desc("bytes"), cl::cat(tools::category()));
static cl::opt<std::string>
    tiles("tiles", cl::desc("auto (default), paper, or QxK such as 128x64"),
          cl::value_desc("policy"), cl::init("auto"),
          cl::cat(tools::category()));
static cl::opt<int64_t>
    stages("stages", cl::desc("Depth of the K and V rings; default: chosen"),
           cl::value_desc("N"), cl::cat(tools::category()));
static cl::opt<int64_t> warps("warps",
                              cl::desc("Warps of a block; default: chosen"),
                              cl::value_desc("N"), cl::cat(tools::category()));
static cl::opt<int64_t> alignment(
    "alignment",
    cl::desc("Bytes that addresses and strides of arrays are a multiple of: 2, "
             "4, 8 or 16; default: 16, or what the head dims allow"),
    cl::value_desc("bytes"), cl::cat(tools::category()));
static cl::opt<int64_t> length(
    "length",
    cl::desc("Length of the problems that the schedule is chosen for, "
             "default: 4096, and windows count as causal; any length runs"),
    cl::value_desc("N"), cl::cat(tools::category()));

static cl::opt<std::string>
    schedule("schedule",
             cl::desc("The whole schedule, as --emit=tile prints it; default: "
                      "chosen"),
             cl::value_desc("#tile.schedule<...>"), cl::cat(tools::category()));
static cl::opt<std::string>
    tuned("tuned",
          cl::desc("Take the schedule that flashc-bench --tune stored for this "
                   "attention and target, if there is one"),
          cl::value_desc("file"), cl::cat(tools::category()));
static cl::opt<std::string>
    gpu("gpu",
        cl::desc("With --tuned: the GPU that is meant, such as 'NVIDIA H200'; "
                 "default: the one here, else any"),
        cl::value_desc("name"), cl::cat(tools::category()));

static cl::opt<bool> backward("backward",
                              cl::desc("Gradients instead of attention"),
                              cl::cat(tools::category()));
static cl::opt<bool> deterministic(
    "deterministic",
    cl::desc("With --backward: the same bits in every run; the CPU's are"),
    cl::cat(tools::category()));

/// Set by `parseFlags`.
static llvm::StringRef program = "flashc";

void tools::parseFlags(int argc, char **argv, llvm::StringRef overview) {
  llvm::SmallPtrSet<cl::Option *, 32> foreign;
  for (auto &entry : cl::getRegisteredOptions()) {
    cl::Option *option = entry.second;
    bool general = llvm::is_contained({"help", "version"}, entry.first);
    if (!general && !llvm::is_contained(option->Categories, &category()))
      foreign.insert(option);
  }
  for (cl::Option *option : foreign)
    option->removeArgument();
  program = llvm::sys::path::filename(argv[0]);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << program << ' ' << FLASHC_VERSION << ", LLVM " << LLVM_VERSION_STRING
        << '\n';
  });
  cl::ParseCommandLineOptions(argc, argv, overview);
}

bool tools::isGiven(llvm::StringRef flag) {
  cl::Option *option = cl::getRegisteredOptions().lookup(flag);
  return option && option->getNumOccurrences() > 0;
}

llvm::StringRef tools::inputFile() { return input; }

llvm::Expected<AttentionSpec> tools::specFromFlags() {
  for (llvm::StringRef flag : {"head-dim", "head-dim-v", "heads", "kv-heads",
                               "scale", "mask", "kv-lengths", "name", "no-lse"})
    if (!input.empty() && isGiven(flag))
      return makeError("both '{}' and --{} describe the attention; give one of "
                       "them",
                       input.getValue(), flag.str());
  AttentionSpec spec;
  spec.name = kernelName;
  spec.headDim = headDim;
  spec.valueHeadDim = headDimV;
  spec.heads = heads;
  spec.kvHeads = kvHeads ? kvHeads : heads;
  spec.dtype = dtype;
  spec.layout = layout;
  if (isGiven("scale"))
    spec.scale = scale;
  spec.mask = mask;
  spec.kvLengths = kvLengths;
  spec.withLse = !noLse;
  return spec;
}

llvm::Error tools::checkBackwardFlags(llvm::ArrayRef<llvm::StringRef> flags) {
  if (backward)
    return llvm::Error::success();
  for (llvm::StringRef flag : flags)
    if (isGiven(flag))
      return makeError("--{} is for gradients, but --backward is not given; "
                       "give it or leave the flag out",
                       flag.str());
  return llvm::Error::success();
}

CompileOptions tools::optionsFromFlags() {
  CompileOptions options;
  options.arch = arch;
  options.sram = sram;
  options.tiles = tiles;
  options.stages = stages;
  options.warps = warps;
  options.alignment = alignment;
  options.length = length;
  options.backward = backward;
  options.deterministic = deterministic;
  options.schedule = schedule;
  return options;
}

llvm::Expected<CompileOptions> tools::withTuned(mlir::ModuleOp module,
                                                const CompileOptions &options,
                                                llvm::StringRef here) {
  if (tuned.empty())
    return options;
  llvm::Expected<TunedSchedules> schedules = TunedSchedules::read(tuned);
  if (!schedules)
    return schedules.takeError();
  llvm::Expected<TunedChoice> choice = chooseTuned(
      module, options, *schedules, gpu.empty() ? here : llvm::StringRef(gpu));
  if (!choice)
    return choice.takeError();
  if (!choice->remark.empty())
    llvm::WithColor::remark(llvm::errs(), program)
        << "'" << tuned << "': " << choice->remark << '\n';
  return choice->options;
}

int tools::fail(llvm::Error error) {
  llvm::WithColor::error(llvm::errs(), program)
      << llvm::toString(std::move(error)) << '\n';
  return 1;
}
