//===- flashc-bench.cpp - Times kernels on the papers' grid ---------------===//
//
// One CSV line a cell, in the form of benchmarks/peers.py and by its rules:
// batch * length = 16384 tokens, heads * head dim = 2048, best of 3 rounds of
// 12 back-to-back launches after 3 for warming up. With --stdin the cells come
// as lines `dtype dim length causal`, so that benchmarks/compare.py can take
// turns with the peers.
//
//===----------------------------------------------------------------------===//
#include "flashc/Compiler/Compiler.h"
#include "flashc/Reference/Cases.h"
#include "flashc/Reference/Check.h"
#include "flashc/Runtime/Module.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>

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
constexpr int64_t kTokens = 16384;
constexpr int64_t kWidth = 2048; // heads * head dim
constexpr int kWarm = 3, kRounds = 3, kReps = 12;

struct Cell {
  std::string dtype;
  int64_t dim, length;
  bool causal;
  int64_t batch() const { return std::max<int64_t>(kTokens / length, 1); }
  int64_t heads() const { return std::max<int64_t>(kWidth / dim, 1); }
  double flops() const {
    return 4.0 * batch() * heads() * length * length * dim / (causal ? 2 : 1);
  }
};

/// A candidate: the text and what it says.
struct Tiles {
  std::string text, tiles;
  int64_t stages = 0, warps = 0;
};

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

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

/// Arrays in layout bshd, used again by every cell of the same size and type:
/// the shape of a cell is only another way to count the same numbers.
struct Arrays {
  reference::AttentionProblem problem;
  DeviceBuffer buffers[4], lse;
  std::vector<ArrayArg> args;
};

class Bench {
public:
  explicit Bench(const Device &device) : device(device) {}
  llvm::Error run(const Cell &cell, const std::vector<Tiles> &candidates);

private:
  llvm::Expected<Module> compile(const Cell &cell, const Tiles &candidate);
  llvm::Expected<Arrays *> prepare(const Cell &cell);
  llvm::Error upload(reference::Element element, int64_t count, Arrays &arrays);
  llvm::Expected<double> time(const Module &module,
                              llvm::ArrayRef<ArrayArg> args);
  llvm::Error checkResult(const Arrays &arrays, const std::string &what);
  /// Standard normal numbers; the period is prime, so rows do not repeat.
  static void fill(reference::HostTensor &tensor, size_t start);

  const Device &device;
  std::map<std::string, Module> modules;
  std::map<std::pair<std::string, int64_t>, Arrays> allArrays;
};

llvm::Expected<Module> Bench::compile(const Cell &cell,
                                      const Tiles &candidate) {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  AttentionSpec spec;
  spec.headDim = cell.dim;
  spec.dtype = cell.dtype == "bf16" ? "bf16" : "f16";
  spec.mask = cell.causal ? "causal" : "none";
  auto module = buildAttnModule(spec, *context);
  if (!module)
    return module.takeError();
  CompileOptions options;
  options.arch = arch;
  options.tiles = candidate.tiles;
  options.stages = candidate.stages;
  options.warps = candidate.warps;
  llvm::Expected<KernelImage> image = compileToGPU(**module, options);
  if (!image)
    return image.takeError();
  return Module::load(device, *image);
}

void Bench::fill(reference::HostTensor &tensor, size_t start) {
  constexpr size_t kPeriod = 1048573;
  auto line = reference::HostTensor::dense(
      tensor.element, {1, 1, int64_t(kPeriod), 1}, reference::Layout::BSHD);
  reference::Random random(start);
  reference::fillNormal(line, random);
  auto *from = reinterpret_cast<const uint16_t *>(line.storage.data());
  auto *to = reinterpret_cast<uint16_t *>(tensor.storage.data());
  for (size_t n = 0, end = tensor.storage.size() / 2; n < end; ++n)
    to[n] = from[n % kPeriod];
}

llvm::Error Bench::upload(reference::Element element, int64_t count,
                          Arrays &arrays) {
  using namespace reference;
  HostTensor o, *tensors[] = {&arrays.problem.q, &arrays.problem.k,
                              &arrays.problem.v, &o};
  for (size_t n = 0; n < 4; ++n) {
    *tensors[n] = HostTensor::dense(element, {1, 1, count, 1}, Layout::BSHD);
    if (n < 3)
      fill(*tensors[n], n + 1);
    llvm::Expected<DeviceBuffer> buffer =
        device.upload(tensors[n]->storage.data(), tensors[n]->storage.size());
    if (!buffer)
      return buffer.takeError();
    arrays.buffers[n] = std::move(*buffer);
  }
  llvm::Expected<DeviceBuffer> lse = device.alloc(count * 4);
  if (!lse)
    return lse.takeError();
  arrays.lse = std::move(*lse);
  return llvm::Error::success();
}

llvm::Expected<Arrays *> Bench::prepare(const Cell &cell) {
  using namespace reference;
  std::array<int64_t, 4> shape{cell.batch(), cell.heads(), cell.length,
                               cell.dim};
  auto [b, h, s, d] = shape;
  auto [found, isNew] = allArrays.try_emplace({cell.dtype, b * h * s * d});
  Arrays &arrays = found->second;
  if (isNew)
    if (llvm::Error error =
            upload(cell.dtype == "bf16" ? Element::BF16 : Element::F16,
                   b * h * s * d, arrays))
      return std::move(error);
  AttentionProblem &p = arrays.problem;
  p.scale = 1 / std::sqrt(double(d));
  p.mask = cell.causal ? MaskExpr::causal() : MaskExpr::none();
  for (HostTensor *t : {&p.q, &p.k, &p.v}) {
    t->shape = shape;
    t->strides = {s * h * d, d, h * d, 1};
  }
  arrays.args.clear();
  for (const DeviceBuffer &buffer : arrays.buffers)
    arrays.args.push_back(
        {buffer.pointer(), {b, h, s, d}, {s * h * d, d, h * d, 1}});
  arrays.args.push_back({arrays.lse.pointer(), {b, h, s}, {h * s, s, 1}});
  return &arrays;
}

llvm::Expected<double> Bench::time(const Module &module,
                                   llvm::ArrayRef<ArrayArg> args) {
  llvm::Expected<PackedArguments> packed =
      packArguments(module.name(), module.manifest(), args);
  if (!packed)
    return packed.takeError();
  auto launches = [&](int count) {
    return [&, count]() -> llvm::Error {
      for (int n = 0; n < count; ++n)
        if (llvm::Error error = module.launch(*packed))
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

llvm::Error Bench::checkResult(const Arrays &arrays, const std::string &what) {
  const reference::AttentionProblem &p = arrays.problem;
  reference::HostTensor o = p.q;
  std::vector<float> lse(p.batch() * p.heads() * p.sq());
  if (llvm::Error error = device.copyFrom(
          o.storage.data(), arrays.buffers[3].pointer(), o.storage.size()))
    return error;
  if (llvm::Error error =
          device.copyFrom(lse.data(), arrays.lse.pointer(), lse.size() * 4))
    return error;
  reference::ErrorReport report =
      reference::checkError(p, o, lse.data(), int64_t(1) << 27);
  if (!report.ok)
    return makeError("{}: wrong result: {}", what, report.why);
  llvm::errs() << "# " << what << ": " << report.summary() << "\n";
  return llvm::Error::success();
}

llvm::Error Bench::run(const Cell &cell, const std::vector<Tiles> &candidates) {
  llvm::Expected<Arrays *> prepared = prepare(cell);
  if (!prepared)
    return prepared.takeError();
  const Arrays &arrays = **prepared;
  for (const Tiles &candidate : candidates) {
    std::string impl = "flashc";
    if (candidates.size() > 1 || candidate.text != "auto")
      impl += ":" + candidate.text;
    std::string key =
        fmt::format("{} {} {} {}", impl, cell.dtype, cell.dim, cell.causal);
    double start = now(), first = NAN, ms = NAN;
    auto module = modules.find(key);
    if (module == modules.end()) {
      llvm::Expected<Module> made = compile(cell, candidate);
      if (!made)
        llvm::errs() << "# " << key << ": " << llvm::toString(made.takeError())
                     << "\n";
      else
        module = modules.emplace(key, std::move(*made)).first;
    }
    if (module != modules.end()) {
      const Module &m = module->second;
      if (llvm::Error error = m.launch(arrays.args))
        return error;
      if (llvm::Error error = device.synchronize())
        return error;
      first = now() - start;
      llvm::Expected<double> timed = time(m, arrays.args);
      if (!timed)
        return timed.takeError();
      ms = *timed;
      llvm::errs() << fmt::format(
          "# {}: q {} kv {} stages {} warps {}, {} shared bytes, {} registers, "
          "{} spilled bytes\n",
          key, m.manifest().qBlock, m.manifest().kvBlock, m.manifest().stages,
          m.manifest().warps, m.manifest().sharedBytes, m.registers(),
          m.localBytes());
      if (check)
        if (llvm::Error error = checkResult(arrays, key))
          return error;
    }
    std::cout << fmt::format("{},{},fwd,{},{},{},{},{},{:.4f},{:.1f},{:.2f}\n",
                             impl, cell.dtype, cell.dim, cell.length,
                             cell.batch(), cell.heads(), int(cell.causal), ms,
                             cell.flops() / ms / 1e9, first)
              << std::flush;
  }
  return llvm::Error::success();
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
  return cell;
}

llvm::Error runGrid(Bench &bench, const std::vector<Tiles> &candidates) {
  std::cout << "impl,dtype,dir,hdim,seqlen,batch,heads,causal,ms,tflops,first_"
               "call_s\n";
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
  Bench bench(**device);
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
