//===- Bench.cpp - Compile, launch, time ----------------------------------===//
//
// In: a cell and candidates. Out: a CSV line for each, by the rules of
// benchmarks/peers.py: best of 3 rounds of 12 launches after 3 to warm up.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"
#include "Description.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cmath>
#include <iostream>

using namespace flashc;

static constexpr int kWarm = 3, kRounds = 3, kReps = 12;

static double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

void Bench::note(const std::string &text) {
  if (bar)
    return bar->note("# " + text);
  llvm::errs() << "# " << text << "\n";
}

CompileOptions flashc::makeOptions(const std::string &arch, const Cell &cell,
                                   const Tiles &candidate) {
  CompileOptions options;
  options.arch = arch;
  options.tiles = candidate.tiles;
  options.schedule = candidate.schedule;
  options.stages = candidate.stages;
  options.warps = candidate.warps;
  options.length = cell.length;
  return options;
}

llvm::Expected<KernelImage> Bench::compile(const Cell &cell,
                                           const Tiles &candidate) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(cell, *context);
  if (!module)
    return module.takeError();
  CompileOptions options = makeOptions(arch, cell, candidate);
  if (!tuned || !candidate.mayBeTuned)
    return compileToGPU(**module, options);
  llvm::Expected<TunedChoice> choice =
      chooseTuned(**module, options, *tuned, device.name());
  if (!choice)
    return choice.takeError();
  if (!choice->remark.empty())
    note(cell.name() + ": " + choice->remark);
  return compileToGPU(**module, choice->options);
}

llvm::Expected<const Module *>
Bench::load(const std::string &key, const Cell &cell, const Tiles &candidate) {
  llvm::Expected<KernelImage> image = compile(cell, candidate);
  if (!image)
    return image.takeError();
  // Lengths whose schedules are equal have one kernel.
  auto found = modules.find(image->ptx);
  if (found != modules.end())
    return &found->second;
  llvm::Expected<Module> made = Module::load(device, *image);
  if (!made)
    return made.takeError();
  const Module &m = modules.emplace(image->ptx, std::move(*made)).first->second;
  note(fmt::format("{}: q {} kv {} stages {} warps {}, {} shared bytes, {} "
                   "registers, {} spilled bytes",
                   key, m.manifest().qBlock, m.manifest().kvBlock,
                   m.manifest().stages, m.manifest().warps,
                   m.manifest().sharedBytes, m.registers(), m.localBytes()));
  return &m;
}

llvm::Expected<double>
flashc::timeLaunches(const Device &device,
                     llvm::function_ref<llvm::Error()> launch) {
  auto launches = [&](int count) {
    return [&, count]() -> llvm::Error {
      for (int n = 0; n < count; ++n)
        if (llvm::Error error = launch())
          return error;
      return llvm::Error::success();
    };
  };
  if (llvm::Error error = launches(kWarm)())
    return std::move(error);
  if (llvm::Error error = device.synchronize())
    return std::move(error);
  double best = INFINITY;
  for (int round = 0; round < kRounds; ++round) {
    llvm::Expected<float> ms = device.time(launches(kReps));
    if (!ms)
      return ms.takeError();
    best = std::min<double>(best, *ms / kReps);
  }
  return best;
}

llvm::Expected<double> flashc::timeKernel(const Device &device,
                                          const Module &module,
                                          llvm::ArrayRef<ArrayArg> args) {
  llvm::Expected<PackedArguments> packed = module.pack(args);
  if (!packed)
    return packed.takeError();
  return timeLaunches(device, [&] { return module.launch(*packed); });
}

const Module *Bench::find(const std::string &key, const Cell &cell,
                          const Tiles &candidate) {
  auto [known, isNew] = kernels.try_emplace(key, nullptr);
  if (!isNew)
    return known->second;
  llvm::Expected<const Module *> made = load(key, cell, candidate);
  if (made)
    return known->second = *made;
  note(key + ": " + llvm::toString(made.takeError()));
  return nullptr;
}

llvm::Expected<Bench::Times> Bench::runOne(const Cell &cell,
                                           const Tiles &candidate,
                                           const std::string &key,
                                           const Arrays &arrays) {
  double start = now();
  const Module *module = find(key, cell, candidate);
  if (!module)
    return Times{NAN, NAN};
  std::vector<ArrayArg> args = arrays.arguments(cell);
  if (check)
    if (llvm::Error error = arrays.spoil(cell))
      return std::move(error);
  if (llvm::Error error = module->launch(args))
    return std::move(error);
  if (llvm::Error error = device.synchronize())
    return std::move(error);
  double first = now() - start;
  llvm::Expected<double> ms = timeKernel(device, *module, args);
  if (!ms)
    return ms.takeError();
  if (check) {
    llvm::Expected<std::string> summary = arrays.check(cell, int64_t(1) << 27);
    if (!summary)
      return makeError("{}: {}", key, llvm::toString(summary.takeError()));
    note(key + ": " + *summary);
  }
  return Times{*ms, first};
}

void flashc::printLine(const Cell &cell, const std::string &impl,
                       llvm::StringRef direction, double ms, double first,
                       double flops, tools::ProgressBar *bar) {
  if (bar)
    bar->clear();
  auto field = [](const std::string &text) {
    return text.find(',') == text.npos ? text : '"' + text + '"';
  };
  std::cout << fmt::format("{},{},{},{},{},{},{},{},{:.4f},{:.1f},{:.2f},{},"
                           "{},{},{}\n",
                           field(impl), cell.dtype, direction.str(), cell.dim,
                           cell.length, cell.batch(), cell.heads,
                           int(llvm::StringRef(cell.mask) == "causal"), ms,
                           flops / ms / 1e9, first, cell.valueDim, cell.kvHeads,
                           field(cell.mask), field(cell.score))
            << std::flush;
  if (bar)
    bar->draw();
}

llvm::Expected<Arrays *> Bench::prepare(const Cell &cell) {
  auto element =
      cell.dtype == "bf16" ? reference::Element::BF16 : reference::Element::F16;
  Arrays &arrays =
      allArrays.try_emplace(cell.dtype, device, element, queryScale)
          .first->second;
  if (llvm::Error error = arrays.reserve(cell))
    return std::move(error);
  return &arrays;
}

llvm::Error Bench::run(const Cell &cell, const std::vector<Tiles> &candidates,
                       tools::ProgressBar *shownBar) {
  bar = shownBar;
  llvm::Expected<Arrays *> arrays = prepare(cell);
  bool fits = bool(arrays);
  if (!fits)
    note(fmt::format("{}: skipped: {}", cell.name(),
                     llvm::toString(arrays.takeError())));
  for (const Tiles &candidate : candidates) {
    std::string impl = "flashc";
    if (candidates.size() > 1 || candidate.text != "auto")
      impl += ":" + candidate.text;
    Times times{NAN, NAN};
    if (fits) {
      llvm::Expected<Times> timed =
          runOne(cell, candidate, impl + " " + cell.name(), **arrays);
      if (!timed)
        return timed.takeError();
      times = *timed;
    }
    printLine(cell, impl, "fwd", times.ms, times.first, cell.flops(), bar);
  }
  return llvm::Error::success();
}
