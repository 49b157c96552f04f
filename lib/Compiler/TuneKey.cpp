// What a measured schedule belongs to, read off the attn IR, and the options
// that such a schedule gives. Comes before any lowering but the simplification
// of the mask, so that masks of one meaning have one key.
#include "flashc/Compiler/MaskText.h"
#include "flashc/Compiler/Tuned.h"
#include "flashc/Support/Error.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;
using namespace flashc;

static constexpr int64_t kShortest = 128, kLongest = 65536, kTypical = 4096;
static constexpr int64_t kDefaultAlignment = 16;

std::string flashc::compilerVersion() {
  return "flashc " FLASHC_VERSION ", LLVM " LLVM_VERSION_STRING;
}

int64_t flashc::getLengthClass(int64_t length) {
  if (length <= 0)
    return kTypical;
  length = std::clamp(length, kShortest, kLongest);
  return int64_t(llvm::PowerOf2Ceil(uint64_t(length)));
}

std::string TuneKey::describe() const {
  return fmt::format("{}{} {} d{}/{} {}{}{}, lengths to {}", arch,
                     gpu.empty() ? "" : " (" + gpu + ")", dtype, headDim,
                     valueHeadDim, mask, score == "none" ? "" : " with a score",
                     kvLengths ? " kv-lengths" : "", lengthClass);
}

/// The region without its end, an op a line.
static std::string scoreText(attn::ForwardOp op) {
  if (!op.hasScore())
    return "none";
  std::string text;
  llvm::raw_string_ostream stream(text);
  op.getScore().front().print(stream);
  return llvm::StringRef(text).trim().str();
}

llvm::Expected<TuneKey> flashc::getTuneKey(ModuleOp module,
                                           const CompileOptions &options,
                                           llvm::StringRef gpu) {
  llvm::Expected<Lowering> lowered = lowerTo(module, options, Stage::Attn);
  if (!lowered)
    return lowered.takeError();
  llvm::Expected<AttnFunction> found = findAttention(*lowered->module);
  if (!found)
    return found.takeError();
  TuneKey key;
  key.arch = options.arch;
  key.gpu = gpu.str();
  key.sram = lowered->target.sharedBytesPerBlock;
  key.alignment = options.alignment ? options.alignment : kDefaultAlignment;
  key.headDim = lowered->manifest.headDim;
  key.valueHeadDim = lowered->manifest.valueHeadDim;
  key.dtype = lowered->manifest.dtype;
  key.mask = lowered->manifest.mask;
  key.score = scoreText(found->forward);
  key.kvLengths = bool(found->forward.getKvLengths());
  key.lengthClass = getLengthClass(options.length);
  key.compiler = compilerVersion();
  return key;
}

llvm::Expected<TunedChoice> flashc::chooseTuned(ModuleOp module,
                                                const CompileOptions &options,
                                                const TunedSchedules &schedules,
                                                llvm::StringRef gpu) {
  if (options.tiles != "auto" || options.stages || options.warps ||
      !options.schedule.empty())
    return makeError("a tuned schedule is asked for, but so are tiles, stages, "
                     "warps or a schedule; leave these or the file out");
  llvm::Expected<TuneKey> key = getTuneKey(module, options, gpu);
  if (!key)
    return key.takeError();
  llvm::Expected<const TunedEntry *> entry = schedules.find(*key);
  if (!entry)
    return entry.takeError();
  TunedChoice choice{options, ""};
  if (*entry)
    choice.options.schedule = (*entry)->schedule;
  else
    choice.remark = fmt::format("no tuned schedule for {} by {}; the model "
                                "chooses",
                                key->describe(), key->compiler);
  return choice;
}
