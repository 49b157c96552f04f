//===- flashc-bench.cpp - Times kernels on the papers' grid ---------------===//
//
// One CSV line a cell, by the rules of benchmarks/peers.py and in its form,
// with columns of its own behind: batch * length = 16384 tokens, heads * head
// dim = 2048 unless said otherwise, best of 3 rounds of 12 back-to-back
// launches after 3 for warming up. FLOPs are those that the mask leaves
// (Cell::flops). With --stdin the cells come as lines (parseCell), so that
// benchmarks/compare.py can take turns with the peers; with --tune, schedules
// of each cell are timed and the fastest is stored.
//
//===----------------------------------------------------------------------===//
#include "Backward.h"

#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"
#include "flashc/Support/Error.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>

using namespace flashc;
namespace cl = llvm::cl;

static cl::OptionCategory category("flashc-bench");
static cl::list<std::string>
    dims("dims", cl::CommaSeparated, cl::cat(category),
         cl::desc("Head dims (64,128); 192/128 where V has another"));
static cl::list<int64_t>
    lengths("seqs", cl::CommaSeparated, cl::cat(category),
            cl::desc("Lengths (512,1024,2048,4096,8192,16384)"));
static cl::list<std::string> dtypes("dtypes", cl::CommaSeparated,
                                    cl::cat(category),
                                    cl::desc("fp16 or bf16 (fp16)"));
static cl::list<int64_t> heads("heads", cl::CommaSeparated, cl::cat(category),
                               cl::desc("Query heads (2048 / head dim)"));
static cl::opt<int64_t> kvHeads("kv-heads", cl::cat(category),
                                cl::desc("Key heads (as many as --heads)"));
static cl::list<int> causals("causal", cl::CommaSeparated, cl::cat(category),
                             cl::desc("0: full, 1: causal (0,1); --masks says "
                                      "more"));
static cl::opt<std::string>
    masks("masks", cl::cat(category),
          cl::desc("Masks as flashc takes them, such as "
                   "'none,causal,window(1024,0)' (none,causal)"));
static cl::opt<std::string>
    scores("scores", cl::init("none"), cl::cat(category),
           cl::desc("Score functions, of none, alibi (slopes * (j - i)), "
                    "alibi-symmetric (-slopes * |j - i|), softcap(c) (none)"));
static cl::list<std::string>
    tiles("tiles", cl::CommaSeparated, cl::cat(category),
          cl::desc("Choices, each timed: auto, model (auto without "
                   "--tuned), paper, QxK, QxK/stages, QxK/stages/warps "
                   "(auto)"));
static cl::list<std::string>
    schedules("schedule", cl::cat(category),
              cl::desc("A whole schedule, as flashc --emit=tile prints it, "
                       "timed beside --tiles"),
              cl::value_desc("#tile.schedule<...>"));
static cl::opt<std::string> arch("arch", cl::init("sm_80"), cl::cat(category),
                                 cl::desc("Target of the kernels (sm_80)"));
static cl::opt<bool> fromStdin("stdin", cl::cat(category),
                               cl::desc("Read cells from standard input"));
static cl::opt<bool> listOnly("list", cl::cat(category),
                              cl::desc("Print the cells and their FLOPs (with "
                                       "--tune, their candidates too), and "
                                       "time nothing; needs no GPU"));
static cl::opt<bool> check("check", cl::cat(category),
                           cl::desc("Compare each result with the fp64 oracle "
                                    "on a sample of rows"));

static cl::opt<bool> backward("backward", cl::cat(category),
                              cl::desc("Time gradients, on what a forward "
                                       "makes of each cell"));
static cl::opt<bool>
    deterministic("deterministic", cl::cat(category),
                  cl::desc("With --backward: the same bits in every run"));

static cl::opt<double> queryScale(
    "input-scale", cl::init(1), cl::cat(category),
    cl::desc("Standard deviation of Q, and so of the scores; K's and V's is 1 "
             "(1)"),
    cl::value_desc("x"));
static cl::opt<std::string>
    tunedPath("tuned", cl::cat(category),
              cl::desc("Take the schedules that --tune stored in this file"),
              cl::value_desc("file"));
static cl::opt<bool> tuneFlag(
    "tune", cl::cat(category),
    cl::desc("Time --candidates schedules of each cell, print them and "
             "store the fastest in the file of --tuned"));
static cl::opt<int64_t> most(
    "candidates", cl::init(24), cl::cat(category),
    cl::desc("How many schedules --tune tries, by the model's ranking (24)"),
    cl::value_desc("N"));

namespace {
llvm::Expected<Tiles> parseTiles(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, '/');
  Tiles out{text, parts[0] == "model" ? "auto" : parts[0].str()};
  out.mayBeTuned = text == "auto";
  bool bad = parts.size() > 3 ||
             (parts.size() > 1 && parts[1].getAsInteger(10, out.stages)) ||
             (parts.size() > 2 && parts[2].getAsInteger(10, out.warps));
  if (bad)
    return makeError("--tiles: '{}' is no candidate; write auto, model, paper, "
                     "128x64, 128x64/2 or 128x64/2/4",
                     text);
  return out;
}

/// The masks of the grid, from whichever flag gives them.
llvm::Expected<std::vector<std::string>> chosenMasks() {
  if (!masks.empty() && !causals.empty())
    return makeError("--masks is '{}', but --causal is given too; give one of "
                     "them",
                     masks.getValue());
  if (!masks.empty())
    return splitList(masks);
  std::vector<std::string> chosen;
  for (int causal : causals)
    chosen.push_back(causal ? "causal" : "none");
  return causals.empty() ? std::vector<std::string>{"none", "causal"} : chosen;
}

/// Every flag's values with every other's, the last one innermost. Without
/// --heads the number goes by the head dim.
llvm::Expected<std::vector<Cell>> gridCells() {
  llvm::Expected<std::vector<std::string>> maskTexts = chosenMasks();
  if (!maskTexts)
    return maskTexts.takeError();
  std::vector<Cell> cells;
  for (const std::string &dtype : dtypes)
    for (const std::string &dim : dims)
      for (int64_t head : heads)
        for (const std::string &score : splitList(scores))
          for (const std::string &mask : *maskTexts)
            for (int64_t length : lengths) {
              Cell cell;
              cell.dtype = dtype;
              cell.length = length;
              cell.heads = head;
              cell.kvHeads = kvHeads;
              cell.mask = mask;
              cell.score = score;
              if (llvm::Error error = parseDims(dim, cell))
                return std::move(error);
              llvm::Expected<Cell> complete = completeCell(std::move(cell));
              if (!complete)
                return complete.takeError();
              cells.push_back(std::move(*complete));
            }
  return cells;
}

template <typename B>
llvm::Error runGrid(B &bench, const std::vector<Cell> &cells,
                    const std::vector<Tiles> &candidates) {
  std::cout << kHeader.str() << "\n";
  tools::ProgressBar bar(int64_t(cells.size()), "cells");
  for (const Cell &cell : cells) {
    if (llvm::Error error = bench.run(cell, candidates, &bar))
      return error;
    bar.step();
  }
  return llvm::Error::success();
}

/// After each cell's lines comes one that says `end`.
template <typename B>
llvm::Error runStdin(B &bench, const std::vector<Tiles> &candidates) {
  for (std::string line; std::getline(std::cin, line);) {
    llvm::Expected<Cell> cell = parseCell(line);
    if (!cell)
      return cell.takeError();
    if (llvm::Error error = bench.run(*cell, candidates))
      return error;
    std::cout << "end" << std::endl;
  }
  return llvm::Error::success();
}

/// The file is written after each cell: what was measured is not lost.
llvm::Error runTune(Bench &bench, const std::vector<Cell> &cells,
                    TunedSchedules &schedules) {
  tools::ProgressBar bar(2 * most * int64_t(cells.size()), "steps");
  std::string failed;
  for (const Cell &cell : cells) {
    llvm::Expected<bool> fine =
        bench.tuneCell(cell, size_t(most), schedules, bar);
    if (!fine)
      return fine.takeError();
    if (!*fine)
      failed += (failed.empty() ? "" : ", ") + cell.name();
    if (llvm::Error error = schedules.write(tunedPath))
      return error;
  }
  if (failed.empty())
    return llvm::Error::success();
  return makeError("no candidate ran, or one was wrong, of {}; see the tables "
                   "and notes above",
                   failed);
}

/// Before minutes are spent: whether the flags go together.
llvm::Error checkFlags() {
  if (deterministic && !backward)
    return makeError("--deterministic is for gradients, but --backward is not "
                     "given; give it or leave the flag out");
  if (backward && (tuneFlag || !tunedPath.empty() || check))
    return makeError("--backward times gradients, but --tune, --tuned and "
                     "--check are for forwards so far; leave these out");
  // Beyond, the numbers leave f16.
  if (!(queryScale > 0 && queryScale <= 1000))
    return makeError("--input-scale is {}, but is above 0 and at most 1000; "
                     "give another number",
                     queryScale.getValue());
  if (!tuneFlag)
    return llvm::Error::success();
  if (tunedPath.empty() && !listOnly)
    return makeError("--tune stores what it finds; give --tuned=FILE");
  if (fromStdin)
    return makeError("--tune takes the cells of the flags, not those of "
                     "--stdin; give one of them");
  if (most < 1 || most > 1000)
    return makeError("--candidates is {}, but is from 1 to 1000; give another "
                     "number",
                     most.getValue());
  return llvm::Error::success();
}

/// What --tuned has; with --tune it may not be there yet.
llvm::Expected<TunedSchedules> readTuned() {
  if (tunedPath.empty() || (tuneFlag && !llvm::sys::fs::exists(tunedPath)))
    return TunedSchedules();
  return TunedSchedules::read(tunedPath);
}

void printCell(const Cell &cell) {
  std::cout << fmt::format("{}: {:.6f} TFLOP\n", cell.name(),
                           cell.flops() / 1e12);
}

/// The schedules that --tune would time.
llvm::Error listTuned(const Cell &cell) {
  CompileOptions options;
  options.arch = arch;
  options.length = cell.length;
  llvm::Expected<std::vector<Candidate>> candidates =
      listCandidates(cell, options, size_t(most));
  if (!candidates)
    return candidates.takeError();
  for (const Candidate &candidate : *candidates)
    std::cout << fmt::format("  {:.3f} {}\n", candidate.cost,
                             printSchedule(candidate.schedule));
  return llvm::Error::success();
}

llvm::Error listCells(const std::vector<Cell> &cells) {
  if (!fromStdin)
    for (const Cell &cell : cells) {
      printCell(cell);
      if (tuneFlag)
        if (llvm::Error error = listTuned(cell))
          return error;
    }
  for (std::string line; fromStdin && std::getline(std::cin, line);) {
    llvm::Expected<Cell> cell = parseCell(line);
    if (!cell)
      return cell.takeError();
    printCell(*cell);
  }
  return llvm::Error::success();
}

llvm::Error benchMain() {
  std::vector<Tiles> candidates;
  for (const std::string &text : tiles) {
    llvm::Expected<Tiles> parsed = parseTiles(text);
    if (!parsed)
      return parsed.takeError();
    candidates.push_back(*parsed);
  }
  for (const std::string &text : schedules)
    candidates.push_back({text, "auto", 0, 0, false, text});
  llvm::Expected<std::vector<Cell>> cells = gridCells();
  if (!cells)
    return cells.takeError();
  if (llvm::Error error = checkFlags())
    return error;
  llvm::Expected<TunedSchedules> tuned = readTuned();
  if (!tuned)
    return tuned.takeError();
  if (listOnly)
    return listCells(*cells);
  llvm::Expected<std::unique_ptr<Device>> device = Device::open();
  if (!device)
    return device.takeError();
  llvm::errs() << "# " << (*device)->name() << " sms=" << (*device)->smCount()
               << " arch=" << arch;
  if (queryScale != 1)
    llvm::errs() << " input-scale=" << llvm::formatv("{0}", double(queryScale));
  llvm::errs() << "\n";
  if (backward) {
    BackwardBench gradients(**device, arch, deterministic);
    return fromStdin ? runStdin(gradients, candidates)
                     : runGrid(gradients, *cells, candidates);
  }
  Bench bench(**device, arch, check, tunedPath.empty() ? nullptr : &*tuned,
              queryScale);
  if (tuneFlag)
    return runTune(bench, *cells, *tuned);
  return fromStdin ? runStdin(bench, candidates)
                   : runGrid(bench, *cells, candidates);
}

template <typename T, typename List>
void setDefault(List &list, std::initializer_list<T> values) {
  if (list.empty())
    for (const T &value : values)
      list.push_back(value);
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Times flashc's kernels\n");
  setDefault<std::string>(dims, {"64", "128"});
  setDefault<int64_t>(lengths, {512, 1024, 2048, 4096, 8192, 16384});
  setDefault<std::string>(dtypes, {"fp16"});
  if (schedules.empty())
    setDefault<std::string>(tiles, {"auto"});
  setDefault<int64_t>(heads, {0});
  if (llvm::Error error = benchMain()) {
    llvm::errs() << "flashc-bench: " << llvm::toString(std::move(error))
                 << "\n";
    return 1;
  }
  return 0;
}
