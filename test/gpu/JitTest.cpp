// The public layer on a real device: graphs, contexts, streams, assemblers.
#include "JitHarness.h"
#include "unittests/Catch.h"

#include <iostream>
#include <thread>

using namespace flashc;
using namespace flashc::test;

namespace {
/// Everything that a test needs; empty without a GPU.
struct Gpu {
  std::unique_ptr<Device> device = openDevice();
  CacheFolder folder;
  std::shared_ptr<jit::Context> context =
      device ? jitContext(folder.options().folder) : nullptr;
  explicit operator bool() const { return context != nullptr; }
};

std::shared_ptr<const jit::Kernel> compile(jit::Context &context,
                                           const jit::KernelSpec &spec) {
  auto kernel = context.compile(spec);
  if (!kernel)
    FAIL(llvm::toString(kernel.takeError()));
  return *kernel;
}

void check(int result) { REQUIRE(result == 0); }

/// A stream of its own, and what was captured in it.
struct Captured {
  GraphDriver graphs = GraphDriver::load();
  const cuda::Driver &driver;
  void *stream = nullptr, *graph = nullptr, *executable = nullptr;
  explicit Captured(const Device &device) : driver(device.driver()) {
    check(driver.streamCreate(&stream, 1));
  }
  ~Captured() {
    if (executable)
      graphs.destroyExecutable(executable);
    if (graph)
      graphs.destroyGraph(graph);
    driver.streamDestroy(stream);
  }
  void capture(llvm::function_ref<void()> work) {
    check(graphs.beginCapture(stream, 0));
    work();
    check(graphs.endCapture(stream, &graph));
    check(graphs.instantiate(&executable, graph, 0));
  }
  void replay() { check(graphs.launch(executable, stream)); }
};
} // namespace

TEST_CASE("GPU jit: a graph captured at 128 keys replays right at 1 to 4096",
          "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  for (auto [mask, queries] :
       {std::pair("none", 1), {"causal", 1}, {"causal", 200}}) {
    CAPTURE(mask, queries);
    auto kernel = compile(*gpu.context, decodeSpec(mask));
    SmallProblem problem(*gpu.device, 4, queries, 4096);
    Captured captured(*gpu.device);
    problem.setKeys(128);
    captured.capture([&] {
      llvm::cantFail(kernel->launch(problem.args(), captured.stream));
    });
    for (int keys : {1, 2, 63, 64, 65, 127, 128, 129, 176, 1000, 2048, 4095,
                     4096, 128, 0}) {
      problem.setKeys(keys);
      problem.clearOutput();
      llvm::cantFail(kernel->launch(problem.args(), nullptr));
      std::vector<uint16_t> direct = problem.output();
      problem.clearOutput();
      captured.replay();
      if (problem.output() != direct)
        FAIL_CHECK("the replay at " << keys << " keys differs");
    }
  }
}

TEST_CASE("GPU jit: direct launches go on beside a replayed graph", "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  auto kernel = compile(*gpu.context, decodeSpec());
  SmallProblem one(*gpu.device, 8, 500, 700), two(*gpu.device, 8, 500, 700);
  llvm::cantFail(kernel->launch(one.args(), nullptr));
  std::vector<uint16_t> right = one.output();
  Captured captured(*gpu.device), other(*gpu.device);
  captured.capture(
      [&] { llvm::cantFail(kernel->launch(one.args(), captured.stream)); });
  for (int round = 0; round < 4500; ++round) { // past all 4096 counters
    captured.replay();
    llvm::cantFail(kernel->launch(two.args(), other.stream));
  }
  CHECK(one.output() == right);
  CHECK(two.output() == right);
}

TEST_CASE("GPU jit: kernels are loaded while another stream is captured",
          "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  auto kernel = compile(*gpu.context, decodeSpec());
  SmallProblem problem(*gpu.device, 2, 65, 129);
  llvm::cantFail(kernel->launch(problem.args(), nullptr));
  std::vector<uint16_t> right = problem.output();
  problem.clearOutput();
  Captured captured(*gpu.device);
  captured.capture([&] {
    llvm::cantFail(kernel->launch(problem.args(), captured.stream));
    std::thread([&] { compile(*gpu.context, decodeSpec("causal")); }).join();
    compile(*gpu.context, decodeSpec("window(64,0)"));
  });
  captured.replay();
  CHECK(problem.output() == right);
}

TEST_CASE("GPU jit: any thread launches, whatever context is current",
          "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  auto kernel = compile(*gpu.context, decodeSpec());
  SmallProblem problem(*gpu.device, 2, 65, 129);
  llvm::cantFail(kernel->launch(problem.args(), nullptr));
  std::vector<uint16_t> right = problem.output();
  problem.clearOutput();
  const cuda::Driver &driver = gpu.device->driver();
  GraphDriver graphs = GraphDriver::load();
  // With the arrays of the last launch, and with others, which are looked at
  // and have their tensor maps made on this thread.
  SmallProblem others(*gpu.device, 2, 65, 129);
  std::thread([&] { // nothing current
    llvm::cantFail(kernel->launch(problem.args(), nullptr));
    llvm::cantFail(kernel->launch(others.args(), nullptr));
    auto own = compile(*gpu.context, decodeSpec("causal"));
    llvm::cantFail(own->launch(others.args(), nullptr));
    llvm::cantFail(kernel->launch(others.args(), nullptr));
    void *current = &current;
    driver.ctxGetCurrent(&current);
    CHECK(current == nullptr);
  })
      .join();
  CHECK(problem.output() == right);
  CHECK(others.output() == right);
  problem.clearOutput();
  others.clearOutput();
  void *mine = nullptr, *now = nullptr;
  check(graphs.createContext(&mine, 0, 0));
  llvm::cantFail(kernel->launch(problem.args(), nullptr));
  llvm::cantFail(kernel->launch(others.args(), nullptr));
  check(driver.ctxGetCurrent(&now));
  CHECK(now == mine);
  graphs.destroyContext(mine);
  llvm::cantFail(gpu.device->makeCurrent());
  CHECK(problem.output() == right);
  CHECK(others.output() == right);
}

TEST_CASE("GPU jit: kernels in a context of the caller's own", "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  GraphDriver graphs = GraphDriver::load();
  const cuda::Driver &driver = gpu.device->driver();
  void *mine = nullptr, *popped = nullptr;
  check(graphs.createContext(&mine, 0, 0));
  check(driver.ctxPopCurrent(&popped));
  jit::ContextOptions options;
  options.cudaContext = mine;
  options.device = -1;
  {
    auto context = llvm::cantFail(jit::Context::create(options));
    auto kernel = compile(*context, decodeSpec());
    check(driver.ctxPushCurrent(mine));
    {
      SmallProblem problem(*gpu.device, 2, 65, 129);
      problem.clearOutput();
      llvm::cantFail(kernel->launch(problem.args(), nullptr));
      check(driver.ctxSynchronize());
      CHECK(problem.output() != std::vector<uint16_t>(2 * 65 * 64, 0xffff));
    }
    check(driver.ctxPopCurrent(&popped));
  }
  graphs.destroyContext(mine);
  llvm::cantFail(gpu.device->makeCurrent());
}

TEST_CASE("GPU jit: threads with streams of their own", "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  auto kernel = compile(*gpu.context, decodeSpec("causal"));
  std::vector<std::unique_ptr<SmallProblem>> problems;
  std::vector<std::vector<uint16_t>> right;
  for (int n = 0; n < 8; ++n) {
    problems.push_back(
        std::make_unique<SmallProblem>(*gpu.device, 2, 100 + n, 300 + 40 * n));
    llvm::cantFail(kernel->launch(problems[n]->args(), nullptr));
    right.push_back(problems[n]->output());
    problems[n]->clearOutput();
  }
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&, n] {
      llvm::cantFail(gpu.device->makeCurrent());
      const cuda::Driver &driver = gpu.device->driver();
      void *stream = nullptr;
      driver.streamCreate(&stream, 1);
      for (int round = 0; round < 200; ++round)
        llvm::cantFail(kernel->launch(problems[n]->args(), stream));
      driver.streamSynchronize(stream);
      driver.streamDestroy(stream);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int n = 0; n < 8; ++n)
    CHECK(problems[n]->output() == right[n]);
}

TEST_CASE("GPU jit: all assemblers give the same results", "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  std::vector<std::pair<std::string, std::vector<uint16_t>>> results;
  for (AssemblerKind kind : {AssemblerKind::Driver, AssemblerKind::Ptxas,
                             AssemblerKind::NvPTXCompiler}) {
    auto context = jitContext(gpu.folder.options().folder, kind);
    auto kernel = context->compile(decodeSpec("causal"));
    if (!kernel) { // this assembler is not there
      llvm::consumeError(kernel.takeError());
      continue;
    }
    SmallProblem problem(*gpu.device, 4, 300, 500);
    llvm::cantFail((*kernel)->launch(problem.args(), nullptr));
    std::string name = (*kernel)->image().assembler;
    results.emplace_back(name.empty() ? "driver" : name, problem.output());
  }
  for (auto &[name, output] : results) {
    std::cout << "figure: made by " << name << std::endl;
    CHECK(output == results[0].second);
  }
}

TEST_CASE("GPU jit: from disk, the kernel is the one that was compiled",
          "[jit]") {
  Gpu gpu;
  if (!gpu)
    FLASHC_SKIP("no GPU");
  auto kernel = compile(*gpu.context, decodeSpec("causal"));
  CHECK(kernel->origin() == CacheOrigin::Compiled);
  SmallProblem problem(*gpu.device, 4, 300, 500);
  llvm::cantFail(kernel->launch(problem.args(), nullptr));
  std::vector<uint16_t> right = problem.output();
  problem.clearOutput();
  auto next = jitContext(gpu.folder.options().folder);
  auto again = compile(*next, decodeSpec("causal"));
  CHECK(again->origin() == CacheOrigin::Disk);
  llvm::cantFail(again->launch(problem.args(), nullptr));
  CHECK(problem.output() == right);
}
