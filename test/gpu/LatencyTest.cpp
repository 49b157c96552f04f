// Figures of the public layer, hidden: flashc-gpu-tests "[.latency]". Those of
// compilation need no GPU.
#include "JitHarness.h"
#include "common/Environment.h"
#include "unittests/Catch.h"

#include <fmt/format.h>
#include <fstream>
#include <malloc.h>
#include <thread>

using namespace flashc;
using namespace flashc::test;
using Clock = std::chrono::steady_clock;

namespace {
double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

void report(const std::string &what, std::vector<double> us) {
  std::sort(us.begin(), us.end());
  auto at = [&](double share) {
    return us[std::min(us.size() - 1, size_t(share * double(us.size())))];
  };
  fmt::print("figure: {}: p50 {:.2f}, p90 {:.2f}, p99 {:.2f}, most {:.2f} us "
             "({} times)\n",
             what, at(0.5), at(0.9), at(0.99), us.back(), us.size());
}

template <typename Work> std::vector<double> timeEach(int times, Work work) {
  std::vector<double> us;
  for (int n = 0; n < times; ++n) {
    auto begin = Clock::now();
    work(n);
    us.push_back(microseconds(Clock::now() - begin));
  }
  return us;
}

/// On the device if there is one, else a context that only compiles.
std::shared_ptr<jit::Context> contextFor(const std::string &folder,
                                         const std::string &arch,
                                         AssemblerKind assembler) {
  if (auto context = jitContext(folder, assembler))
    return context;
  jit::ContextOptions options;
  options.target = arch;
  options.device = -1;
  options.cache.folder = folder;
  options.assembler = {assembler, tools::findPtxCompiler(), tools::findPtxas()};
  return llvm::cantFail(jit::Context::create(options));
}

jit::KernelSpec causal(int64_t headDim) {
  jit::KernelSpec spec = decodeSpec("causal");
  spec.attention.headDim = headDim;
  return spec;
}

int64_t residentKiB() {
  malloc_trim(0);
  std::ifstream in("/proc/self/statm");
  int64_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4;
}
} // namespace

TEST_CASE("latency: hits in memory and on disk", "[.latency]") {
  CacheFolder folder;
  auto context =
      contextFor(folder.options().folder, "sm_90a", AssemblerKind::Auto);
  llvm::cantFail(context->compile(causal(128)));
  report("memory hit", timeEach(20000, [&](int) {
           llvm::cantFail(context->compile(causal(128)));
         }));
  jit::KernelSpec spec = causal(128);
  report("memory hit, description at hand",
         timeEach(20000, [&](int) { llvm::cantFail(context->compile(spec)); }));
  std::vector<double> us;
  for (int n = 0; n < 200; ++n) {
    auto next =
        contextFor(folder.options().folder, "sm_90a", AssemblerKind::Auto);
    llvm::consumeError(next->compile(causal(1)).takeError()); // opens all
    auto begin = Clock::now();
    auto kernel = llvm::cantFail(next->compile(spec));
    us.push_back(microseconds(Clock::now() - begin));
    CHECK(kernel->origin() == CacheOrigin::Disk);
  }
  report("disk hit to launchable", us);
}

TEST_CASE("latency: cold compile with cubin", "[.latency]") {
  for (AssemblerKind kind :
       {AssemblerKind::NvPTXCompiler, AssemblerKind::Ptxas}) {
    for (std::string arch : {"sm_80", "sm_90a"}) {
      jit::ContextOptions options;
      options.target = arch;
      options.device = -1;
      options.assembler = {kind, tools::findPtxCompiler(), tools::findPtxas()};
      std::string by;
      std::vector<double> us;
      for (int64_t dim : {64, 128, 64, 128, 64, 128}) {
        auto context = llvm::cantFail(jit::Context::create(options));
        auto begin = Clock::now();
        auto kernel = context->compile(causal(dim));
        us.push_back(microseconds(Clock::now() - begin));
        if (!kernel) {
          llvm::consumeError(kernel.takeError());
          us.clear();
          break;
        }
        by = (*kernel)->image().assembler;
      }
      if (!us.empty())
        report("cold compile for " + arch + " by " + by, us);
    }
  }
}

TEST_CASE("latency: 64 kernels by 2 threads, and memory after", "[.latency]") {
  jit::ContextOptions options;
  options.target = "sm_80";
  options.device = -1;
  options.assembler.kind = AssemblerKind::Driver;
  auto compileAll = [&](int round) {
    auto context = llvm::cantFail(jit::Context::create(options));
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t)
      threads.emplace_back([&, t] {
        for (int n = t; n < 64; n += 2) {
          jit::KernelSpec spec = causal(64);
          spec.attention.scale = 1.0 + n + 64 * round;
          llvm::cantFail(context->compile(spec));
        }
      });
    for (std::thread &thread : threads)
      thread.join();
  };
  for (int round = 0; round < 4; ++round) {
    compileAll(round);
    fmt::print("figure: {} kernels compiled and freed: {} KiB resident\n",
               64 * (round + 1), residentKiB());
  }
}

TEST_CASE("latency: host cost of a launch over the driver's", "[.latency]") {
  auto device = openDevice();
  if (!device)
    FLASHC_SKIP("no GPU");
  CacheFolder folder;
  auto context = jitContext(folder.options().folder);
  auto kernel = llvm::cantFail(context->compile(decodeSpec("causal")));
  SmallProblem one(*device, 1, 64, 64), two(*device, 1, 64, 64);
  auto args = one.args(), others = two.args();
  Module module = llvm::cantFail(Module::load(*device, kernel->image()));
  PackedArguments packed = llvm::cantFail(module.pack(args));
  // In groups, so that the queue never fills.
  auto inGroups = [&](auto work) {
    std::vector<double> us;
    for (int group = 0; group < 100; ++group) {
      for (double x : timeEach(200, work))
        us.push_back(x);
      llvm::cantFail(device->synchronize());
    }
    return us;
  };
  report("packed launch (little but the driver's)", inGroups([&](int) {
           llvm::cantFail(module.launch(packed, nullptr));
         }));
  report("launch, the same arrays",
         inGroups([&](int) { llvm::cantFail(kernel->launch(args, nullptr)); }));
  report("launch, other arrays each time", inGroups([&](int n) {
           llvm::cantFail(kernel->launch(n % 2 ? args : others, nullptr));
         }));
}
