//===- flashc-bench.cpp - Times kernels on the papers' grid ---------------===//
//
// One CSV line a cell, in the form of benchmarks/peers.py and by its rules:
// batch * length = 16384 tokens, heads * head dim = 2048, best of 3 rounds of
// 12 back-to-back launches after 3 for warming up. With --stdin the cells come
// as lines `dtype dim length causal`, so that benchmarks/compare.py can take
// turns with the peers.
//
//===----------------------------------------------------------------------===//
#include "Bench.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>

using namespace flashc;
namespace cl = llvm::cl;

static cl::OptionCategory category("flashc-bench");
static cl::list<int64_t> dims("dims", cl::CommaSeparated, cl::cat(category),
                              cl::desc("Head dims (64,128)"));
static cl::list<int64_t>
    lengths("seqs", cl::CommaSeparated, cl::cat(category),
            cl::desc("Lengths (512,1024,2048,4096,8192,16384)"));
static cl::list<std::string> dtypes("dtypes", cl::CommaSeparated,
                                    cl::cat(category),
                                    cl::desc("fp16 or bf16 (fp16)"));
static cl::list<int> causals("causal", cl::CommaSeparated, cl::cat(category),
                             cl::desc("0: full, 1: causal (0,1)"));
static cl::list<std::string>
    tiles("tiles", cl::CommaSeparated, cl::cat(category),
          cl::desc("Candidates, each timed: auto, paper, QxK, QxK/stages, "
                   "QxK/stages/warps (auto)"));
static cl::opt<std::string> arch("arch", cl::init("sm_80"), cl::cat(category),
                                 cl::desc("Target of the kernels (sm_80)"));
static cl::opt<bool> fromStdin("stdin", cl::cat(category),
                               cl::desc("Read cells from standard input"));
static cl::opt<bool> check("check", cl::cat(category),
                           cl::desc("Compare each result with the fp64 oracle "
                                    "on a sample of rows"));

namespace {
llvm::Expected<Tiles> parseTiles(const std::string &text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, '/');
  Tiles out{text, parts[0].str()};
  bool bad = parts.size() > 3 ||
             (parts.size() > 1 && parts[1].getAsInteger(10, out.stages)) ||
             (parts.size() > 2 && parts[2].getAsInteger(10, out.warps));
  if (bad)
    return makeError("--tiles: '{}' is no candidate; write auto, paper, "
                     "128x64, 128x64/2 or 128x64/2/4",
                     text);
  return out;
}

llvm::Error checkDtype(const std::string &dtype) {
  if (dtype == "fp16" || dtype == "bf16")
    return llvm::Error::success();
  return makeError("type '{}' is not timed; use fp16 or bf16", dtype);
}

/// A cell of standard input: `fp16 128 4096 1`.
llvm::Expected<Cell> parseCell(const std::string &line) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(line).split(words, ' ', -1, /*KeepEmpty=*/false);
  Cell cell;
  int causal = 0;
  if (words.size() != 4 || words[1].getAsInteger(10, cell.dim) ||
      words[2].getAsInteger(10, cell.length) ||
      words[3].getAsInteger(10, causal) || cell.dim <= 0 || cell.length <= 0)
    return makeError("standard input: '{}' is no cell; write one as 'fp16 128 "
                     "4096 1'",
                     line);
  cell.dtype = words[0].str();
  cell.causal = causal != 0;
  if (llvm::Error error = checkDtype(cell.dtype))
    return std::move(error);
  return cell;
}

llvm::Error runGrid(Bench &bench, const std::vector<Tiles> &candidates) {
  std::cout << "impl,dtype,dir,hdim,seqlen,batch,heads,causal,ms,tflops,first_"
               "call_s\n";
  for (const std::string &dtype : dtypes)
    if (llvm::Error error = checkDtype(dtype))
      return error;
  for (int64_t size : dims)
    if (size <= 0)
      return makeError("--dims: {} is no head dim; give 1 or more", size);
  for (const std::string &dtype : dtypes)
    for (int64_t dim : dims)
      for (int64_t length : lengths)
        for (int causal : causals)
          if (llvm::Error error = bench.run(
                  {dtype, dim, std::max<int64_t>(length, 1), causal != 0},
                  candidates))
            return error;
  return llvm::Error::success();
}

/// After each cell's lines comes one that says `end`.
llvm::Error runStdin(Bench &bench, const std::vector<Tiles> &candidates) {
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

llvm::Error benchMain() {
  std::vector<Tiles> candidates;
  for (const std::string &text : tiles) {
    llvm::Expected<Tiles> parsed = parseTiles(text);
    if (!parsed)
      return parsed.takeError();
    candidates.push_back(*parsed);
  }
  llvm::Expected<std::unique_ptr<Device>> device = Device::open();
  if (!device)
    return device.takeError();
  llvm::errs() << "# " << (*device)->name() << " sms=" << (*device)->smCount()
               << " arch=" << arch << "\n";
  Bench bench(**device, arch, check);
  return fromStdin ? runStdin(bench, candidates) : runGrid(bench, candidates);
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
  setDefault<int64_t>(dims, {64, 128});
  setDefault<int64_t>(lengths, {512, 1024, 2048, 4096, 8192, 16384});
  setDefault<std::string>(dtypes, {"fp16"});
  setDefault<std::string>(tiles, {"auto"});
  setDefault<int>(causals, {0, 1});
  if (llvm::Error error = benchMain()) {
    llvm::errs() << "flashc-bench: " << llvm::toString(std::move(error))
                 << "\n";
    return 1;
  }
  return 0;
}
