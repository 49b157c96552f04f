//===- TuneCell.cpp - Tune one cell on the GPU ----------------------------===//
//
// Used by flashc-bench --tune. In: a cell. Out: a table of its candidates, and
// the fastest one in the file of tuned schedules.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"
#include "Description.h"
#include "Tune.h"
#include "common/Environment.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Compiler/Tuned.h"
#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"
#include "flashc/Support/Error.h"
#include "flashc/Target/NVPTX/Assembler.h"

#include <iostream>
#include <mutex>

using namespace flashc;

/// Multiply-adds of the oracle for each candidate: enough for sixteen rows.
static constexpr int64_t kCheckWork = 1 << 24;

namespace {
/// A candidate's kernel on the device, with the cell's arrays.
class DeviceTrial : public Trial {
public:
  DeviceTrial(const Device &device, const Arrays &arrays, const Cell &cell,
              Module module)
      : device(device), arrays(arrays), cell(cell), module(std::move(module)) {}

  llvm::Error check() override {
    if (llvm::Error error = arrays.spoil(cell))
      return error;
    if (llvm::Error error = module.launch(arrays.arguments(cell)))
      return error;
    if (llvm::Error error = device.synchronize())
      return error;
    return arrays.check(cell, kCheckWork).takeError();
  }
  llvm::Expected<double> time() override {
    return timeKernel(device, module, arrays.arguments(cell));
  }

private:
  const Device &device;
  const Arrays &arrays;
  const Cell &cell;
  Module module;
};
} // namespace

/// The cell's description in a context of its own, for one thread.
static llvm::Expected<KernelImage> compileSchedule(const Cell &cell,
                                                   CompileOptions options,
                                                   const Schedule &schedule,
                                                   const Assembler *assembler) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(cell, *context);
  if (!module)
    return module.takeError();
  options.schedule = printSchedule(schedule);
  return compileToGPU(**module, options, assembler);
}

llvm::Expected<std::vector<Candidate>>
flashc::listCandidates(const Cell &cell, const CompileOptions &options,
                       size_t most) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(cell, *context);
  if (!module)
    return module.takeError();
  // After its mask is simplified: what is no mask costs nothing.
  llvm::Expected<Lowering> lowered = lowerTo(**module, options, Stage::Attn);
  if (!lowered)
    return lowered.takeError();
  llvm::Expected<AttnFunction> found = findAttention(*lowered->module);
  if (!found)
    return found.takeError();
  ScheduleRequest request = getScheduleRequest(found->forward);
  request.length = options.length;
  return listSchedules(request, lowered->target, most);
}

/// The entry of the fastest one.
static llvm::Expected<TunedEntry> makeEntry(const Cell &cell,
                                            const CompileOptions &options,
                                            const std::string &gpu,
                                            const TuneResult &result) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(cell, *context);
  if (!module)
    return module.takeError();
  llvm::Expected<TuneKey> key = getTuneKey(**module, options, gpu);
  if (!key)
    return key.takeError();
  const TuneOutcome &best = result.outcomes[result.best];
  double model = result.outcomes[0].milliseconds; // "auto" heads the list
  return TunedEntry{std::move(*key), printSchedule(best.candidate.schedule),
                    cell.name(), best.milliseconds,
                    std::isnan(model) ? 0 : model};
}

llvm::Expected<bool> Bench::tuneCell(const Cell &cell, size_t most,
                                     TunedSchedules &schedules,
                                     tools::ProgressBar &shownBar) {
  bar = &shownBar;
  llvm::Expected<Arrays *> arrays = prepare(cell);
  if (!arrays) {
    note(fmt::format("{}: skipped: {}", cell.name(),
                     llvm::toString(arrays.takeError())));
    return false;
  }
  CompileOptions options;
  options.arch = arch;
  options.length = cell.length;
  llvm::Expected<std::vector<Candidate>> candidates =
      listCandidates(cell, options, most);
  if (!candidates)
    return candidates.takeError();
  // Without one the driver compiles, one kernel at a time.
  llvm::Expected<std::unique_ptr<Assembler>> assembler = openAssembler(
      {AssemblerKind::Auto, tools::findPtxCompiler(), tools::findPtxas()});
  if (!assembler)
    return assembler.takeError();
  std::mutex mutex;
  TuneSteps steps;
  steps.compile = [&](const Schedule &schedule) {
    return compileSchedule(cell, options, schedule, assembler->get());
  };
  steps.load =
      [&](const KernelImage &image) -> llvm::Expected<std::unique_ptr<Trial>> {
    llvm::Expected<Module> module = Module::load(device, image);
    if (!module)
      return module.takeError();
    return std::make_unique<DeviceTrial>(device, **arrays, cell,
                                         std::move(*module));
  };
  steps.progress = [&] {
    std::lock_guard lock(mutex);
    bar->step();
  };
  TuneResult result = tune(*candidates, steps);
  // What the list has less than was asked for counts as done.
  for (size_t n = candidates->size(); n < most; ++n) {
    bar->step();
    bar->step();
  }
  bar->clear();
  std::cout << fmt::format("\n{} on {}, {}\n\n{}", cell.name(), device.name(),
                           arch, tuneTable(result, cell.flops(), printSchedule))
            << std::flush;
  bar->draw();
  if (result.best < 0)
    return false;
  llvm::Expected<TunedEntry> entry =
      makeEntry(cell, options, device.name(), result);
  if (!entry)
    return entry.takeError();
  schedules.put(std::move(*entry));
  return llvm::none_of(result.outcomes,
                       [](const TuneOutcome &o) { return o.isWrong; });
}
