// flashc-fuzz: parser, verifiers and every pipeline on random input, in
// process. Nothing may crash, assert or hang; whatever is refused must be
// refused with a text. Case number N of seed S is the same everywhere: a
// failure prints both and the input, and `--seed=S --first=N --runs=1` repeats
// it.
#include "fuzz/Generate.h"
#include "fuzz/Mutate.h"
#include "fuzz/RunKernel.h"

#include "flashc/Compiler/Compiler.h"
#include "flashc/Compiler/MaskText.h"
#include "flashc/Support/Npy.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace flashc;
using namespace flashc::fuzz;
namespace cl = llvm::cl;

static cl::opt<unsigned> seconds("seconds", cl::desc("How long"), cl::init(60));
static cl::opt<uint64_t> seed("seed", cl::desc("Of the first case"),
                              cl::init(1));
static cl::opt<uint64_t> first("first", cl::desc("Number of the first case"));
static cl::opt<uint64_t> runs("runs",
                              cl::desc("At most so many cases; 0: no limit"));
static cl::opt<bool> verbose("show",
                             cl::desc("Print each input and what came out"));
static cl::opt<std::string> corpusDir("corpus",
                                      cl::desc("Folder of .mlir files"),
                                      cl::init(FLASHC_FUZZ_CORPUS));

/// What a signal handler prints: the case that runs now.
static uint64_t currentCase;
static std::string currentInput;
static constexpr unsigned kHangSeconds = 30;

static void writeAll(llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0)
      return;
    text = text.drop_front(n);
  }
}

/// Async-signal-safe but for snprintf, after which nothing else runs.
static void onSignal(int signal) {
  char line[160];
  snprintf(line, sizeof(line),
           "\nflashc-fuzz: %s; repeat with --seed=%llu --first=%llu --runs=1\n",
           signal == SIGALRM ? "a case hangs" : "a case crashed",
           static_cast<unsigned long long>(seed.getValue()),
           static_cast<unsigned long long>(currentCase));
  writeAll(line);
  writeAll(currentInput);
  std::signal(signal, SIG_DFL);
  if (signal == SIGALRM)
    _exit(1);
  raise(signal);
}

/// LLVM's own way to give up.
static void onFatalError(void *, const char *reason, bool) {
  writeAll(std::string("\nflashc-fuzz: LLVM ERROR: ") + reason + "\n");
  abort();
}

static void installHandlers() {
  llvm::install_fatal_error_handler(onFatalError);
  static char stack[1 << 16]; // a stack overflow has none of its own left
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof(stack);
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
    sigaction(signal, &action, nullptr);
}

static std::vector<std::string> readCorpus() {
  std::vector<std::string> paths, texts;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(corpusDir, error), end;
       it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".mlir"))
      paths.push_back(it->path());
  llvm::sort(paths); // the same order everywhere
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      texts.push_back((*buffer)->getBuffer().str());
  return texts;
}

namespace {
/// How far the cases got.
struct Counts {
  uint64_t cases = 0, parsed = 0, compiled = 0, run = 0;
};

/// One seed's cases.
class Fuzzer {
public:
  explicit Fuzzer(std::vector<std::string> corpus)
      : corpus(std::move(corpus)) {}
  void runCase(uint64_t number);
  Counts counts;

private:
  void compile(mlir::ModuleOp module, Random &random);
  void runModule(const std::string &text, Random &random);
  void runMask(Random &random);
  void runNpy(Random &random);
  void runSpec(Random &random);
  /// Refusals must say something.
  void refused(llvm::Error error) {
    std::string text = llvm::toString(std::move(error));
    if (verbose)
      llvm::errs() << "refused: " << text << '\n';
    if (text.empty())
      abort();
  }

  std::vector<std::string> corpus;
};
} // namespace

void Fuzzer::compile(mlir::ModuleOp module, Random &random) {
  CompileOptions options = generateOptions(random);
  // PTX takes the most time and finds the least.
  Stage stage = random.oneIn(12) ? Stage::PTX : Stage::LLVM;
  if (options.arch == "cpu" || !random.oneIn(4))
    stage = Stage::LLVM;
  if (options.arch == "cpu" && random.oneIn(3)) {
    options.backward = !holdsBackward(module);
    options.lseGradient = random.oneIn(2);
    if (random.oneIn(2))
      options.gradients.push_back(random.below(2));
  }
  currentInput += fmt::format(
      "\n// arch={} sram={} tiles={} stages={} warps={} "
      "alignment={} stage={} backward={} dlse={} gradients={}\n",
      options.arch, options.sram, options.tiles, options.stages, options.warps,
      options.alignment, stageName(stage).str(), options.backward,
      options.lseGradient, options.gradients.size());
  bool isBackward = options.backward || holdsBackward(module);
  if (options.arch == "cpu" && !isBackward && random.oneIn(4)) {
    Manifest manifest;
    auto kernel = compileToCPU(module, options, &manifest);
    if (!kernel)
      return refused(kernel.takeError());
    if (llvm::Error error = runSmall(**kernel, manifest))
      return refused(std::move(error));
    ++counts.run;
  } else if (stage == Stage::PTX) {
    auto image = compileToGPU(module, options);
    if (!image)
      return refused(image.takeError());
  } else {
    auto lowered = lowerTo(module, options, Stage::LLVM);
    if (!lowered)
      return refused(lowered.takeError());
  }
  ++counts.compiled;
}

void Fuzzer::runModule(const std::string &text, Random &random) {
  currentInput = text;
  auto context = makeContext();
  auto module = parseModule(text, "fuzz.mlir", *context);
  if (!module)
    return refused(module.takeError());
  ++counts.parsed;
  compile(**module, random);
}

void Fuzzer::runMask(Random &random) {
  std::string text = generateMask(random);
  if (random.oneIn(2))
    text = mutateBytes(text, random);
  currentInput = text;
  auto context = makeContext();
  auto mask = parseMask(text, *context);
  if (!mask)
    return refused(mask.takeError());
  ++counts.parsed;
  // What was read prints, and reads back as itself.
  std::string printed = printMask(*mask);
  auto again = parseMask(printed, *context);
  if (!again || *again != *mask)
    abort();
}

void Fuzzer::runNpy(Random &random) {
  std::string bytes = generateNpy(random);
  if (!random.oneIn(4))
    bytes = mutateBytes(bytes, random);
  currentInput = bytes;
  auto array = parseNpy(bytes, "fuzz.npy");
  if (!array)
    return refused(array.takeError());
  ++counts.parsed;
}

void Fuzzer::runSpec(Random &random) {
  AttentionSpec spec = generateSpec(random);
  currentInput = fmt::format(
      "// --head-dim={} --head-dim-v={} --heads={} --kv-heads={} --dtype={} "
      "--layout={} --scale={} --mask=\"{}\" kv_lengths={} lse={}\n",
      spec.headDim, spec.valueHeadDim, spec.heads, spec.kvHeads, spec.dtype,
      spec.layout, spec.scale.value_or(-7), spec.mask, spec.kvLengths,
      spec.withLse);
  auto context = makeContext();
  auto module = buildAttnModule(spec, *context);
  if (!module)
    return refused(module.takeError());
  ++counts.parsed;
  compile(**module, random);
}

void Fuzzer::runCase(uint64_t number) {
  Random random(seed * 0x100000001b3 + number);
  currentCase = number;
  ++counts.cases;
  alarm(kHangSeconds);
  switch (random.below(10)) {
  case 0:
    return runMask(random);
  case 1:
    return runNpy(random);
  case 2:
  case 3:
    return runSpec(random);
  case 4:
    return runModule(generateScoreModule(random), random);
  case 5:
    return runModule(mutate(generateScoreModule(random), corpus, random),
                     random);
  default:
    return runModule(mutate(random.pick(corpus), corpus, random), random);
  }
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "flashc-fuzz\n");
  std::vector<std::string> corpus = readCorpus();
  if (corpus.empty()) {
    llvm::errs() << "flashc-fuzz: error: no .mlir file in '" << corpusDir
                 << "'; give --corpus=FOLDER\n";
    return 1;
  }
  installHandlers();
  Fuzzer fuzzer(std::move(corpus));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (uint64_t n = first; !runs || n < first + runs; ++n) {
    fuzzer.runCase(n);
    if (verbose)
      llvm::errs() << "case " << n << ":\n" << currentInput << '\n';
    if (std::chrono::steady_clock::now() >= end)
      break;
  }
  alarm(0);
  llvm::outs() << fmt::format("flashc-fuzz: seed {}: {} cases, {} read, {} "
                              "compiled, {} run, no crash\n",
                              seed.getValue(), fuzzer.counts.cases,
                              fuzzer.counts.parsed, fuzzer.counts.compiled,
                              fuzzer.counts.run);
  return 0;
}
