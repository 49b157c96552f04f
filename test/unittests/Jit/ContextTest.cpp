// The whole way, on a device that is not there and on the CPU.
#include "flashc/Jit/Context.h"
#include "unittests/Cache/CacheFolder.h"
#include "unittests/Catch.h"
#include "unittests/Runtime/FakeDriver.h"

#include <thread>

using namespace flashc;
using namespace flashc::jit;
using namespace flashc::test;

namespace {
KernelSpec causal(int64_t headDim = 64) {
  KernelSpec spec;
  spec.attention.headDim = headDim;
  spec.attention.mask = "causal";
  spec.attention.withLse = false;
  return spec;
}

std::shared_ptr<Context> onDevice(const CacheFolder &folder,
                                  std::shared_ptr<cuda::Driver> driver) {
  ContextOptions options;
  options.cache = folder.options();
  options.assembler.kind = AssemblerKind::Driver;
  return llvm::cantFail(Context::create(options, std::move(driver)));
}

/// Q, K, V, O of one head at these addresses.
std::vector<ArrayArg> arraysAt(std::vector<uint64_t> at, int64_t length) {
  std::vector<ArrayArg> args;
  for (uint64_t address : at)
    args.push_back(bhsd(address, 1, length));
  return args;
}
} // namespace

TEST_CASE("context: the target is the newest that the device runs") {
  auto driver = fakeDriver();
  CacheFolder folder;
  CHECK(onDevice(folder, driver)->target().arch == "sm_80");
  seen.sm = 90;
  CHECK(onDevice(folder, driver)->target().arch == "sm_90a");
  seen.sm = 100;
  CHECK(onDevice(folder, driver)->target().arch == "sm_90");
  seen.sm = 70;
  ContextOptions options;
  CHECK_THAT(errorOf(Context::create(options, driver)),
             Catch::Contains("the GPU is sm_70"));
  options.target = "sm_33";
  CHECK_THAT(errorOf(Context::create(options, driver)),
             Catch::Contains("'sm_33' is not known"));
  options.target.clear();
  options.device = -1;
  CHECK_THAT(errorOf(Context::create(options, driver)),
             Catch::StartsWith("neither a target nor a device is given"));
}

TEST_CASE("context: compiled once, then at hand, then from disk") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  auto kernel = llvm::cantFail(context->compile(causal()));
  CHECK(kernel->origin() == CacheOrigin::Compiled);
  CHECK(llvm::cantFail(context->compile(causal())) == kernel);
  CHECK(countCalls("attention") == 1); // loaded once
  auto next = onDevice(folder, driver);
  auto again = llvm::cantFail(next->compile(causal()));
  CHECK(again->origin() == CacheOrigin::Disk);
  CHECK(again->image().ptx == kernel->image().ptx);
  CHECK(again->registers() == 168);
}

TEST_CASE("context: a kernel outlives its context") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  auto kernel = llvm::cantFail(context->compile(causal()));
  context.reset();
  CHECK(countCalls("release") == 0);
  llvm::cantFail(
      kernel->launch(arraysAt({0x1000, 0x2000, 0x3000, 0x4000}, 100), nullptr));
  kernel.reset();
  CHECK(countCalls("unload") == 1);
  CHECK(countCalls("release") == 1);
}

TEST_CASE("context: kernels that nobody uses are dropped in their turn") {
  auto driver = fakeDriver();
  CacheFolder folder;
  ContextOptions options;
  options.cache = folder.options();
  options.assembler.kind = AssemblerKind::Driver;
  options.maxKernels = 1;
  auto context = llvm::cantFail(Context::create(options, driver));
  llvm::cantFail(context->compile(causal(64)));
  llvm::cantFail(context->compile(causal(128)));
  CHECK(countCalls("unload") == 1);
  CHECK(llvm::cantFail(context->compile(causal(64)))->origin() ==
        CacheOrigin::Memory);
}

TEST_CASE("kernel: arrays are looked at once as long as they are the same") {
  auto driver = fakeDriver();
  seen.sm = 90;
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  auto kernel = llvm::cantFail(context->compile(causal()));
  REQUIRE(kernel->manifest().tensorMaps.size() == 4);
  auto args = arraysAt({0x1000, 0x2000, 0x3000, 0x4000}, 100);
  for (int n = 0; n < 3; ++n)
    llvm::cantFail(kernel->launch(args, nullptr));
  CHECK(countCalls("encode") == 4);
  args[1].pointer = 0x9000;
  llvm::cantFail(kernel->launch(args, nullptr));
  CHECK(countCalls("encode") == 8);
  args[1].shape[2] = 50;
  CHECK_THAT(llvm::toString(kernel->launch(args, nullptr)),
             Catch::Contains("kernel 'attention', array 'value': its length is "
                             "100, but 50 is needed"));
}

TEST_CASE("context: threads that ask for one kernel compile and load it once") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  std::atomic<int> compiled = 0;
  std::vector<std::thread> threads;
  std::vector<std::shared_ptr<const Kernel>> kernels(8);
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&, n] {
      kernels[n] = llvm::cantFail(context->compile(
          causal(), [&](Step step) { compiled += step == Step::Emit; }));
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(compiled == 1);
  for (auto &kernel : kernels)
    CHECK(kernel == kernels[0]);
  CHECK(countCalls("attention") == 1);
}

TEST_CASE("context: errors are those of the compiler, each time") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  KernelSpec spec = causal(1000);
  for (int n = 0; n < 2; ++n)
    CHECK_THAT(errorOf(context->compile(spec)), Catch::Contains("1000"));
  KernelSpec text;
  text.mlir = "module {";
  CHECK_THAT(errorOf(context->compile(text)), Catch::Contains("module:1:"));
}

TEST_CASE("context: without a device kernels are compiled and not launched") {
  ContextOptions options;
  options.target = "sm_90a";
  options.device = -1;
  auto context = llvm::cantFail(Context::create(options));
  auto kernel = llvm::cantFail(context->compile(causal()));
  CHECK(kernel->image().arch == "sm_90a");
  CHECK_THAT(kernel->image().ptx, Catch::Contains("wgmma"));
  CHECK(llvm::toString(kernel->launch({}, nullptr)) ==
        "kernel 'attention' was compiled for sm_90a without a device; make the "
        "context with a device to launch it");
  std::string report = llvm::cantFail(kernel->explain({1, 8, 8, 4096, 4096}));
  CHECK_THAT(report, Catch::Contains("target       sm_90a") &&
                         Catch::Contains("mask causal"));
}

TEST_CASE("context: a specialised kernel takes its sizes alone") {
  auto driver = fakeDriver();
  CacheFolder folder;
  auto context = onDevice(folder, driver);
  KernelSpec spec = causal();
  spec.attention.batch = 1;
  spec.attention.queries = spec.attention.keys = 100;
  auto kernel = llvm::cantFail(context->compile(spec));
  CHECK(kernel->manifest().params[0].shape ==
        llvm::SmallVector<int64_t, 4>{1, -1, 100, 64});
  llvm::cantFail(
      kernel->launch(arraysAt({0x1000, 0x2000, 0x3000, 0x4000}, 100), nullptr));
  CHECK_THAT(llvm::toString(kernel->launch(
                 arraysAt({0x1000, 0x2000, 0x3000, 0x4000}, 99), nullptr)),
             Catch::Contains("has size 99, but the kernel was compiled for "
                             "100"));
}

TEST_CASE("context: on the CPU a kernel runs at once") {
  ContextOptions options;
  options.target = "cpu";
  auto context = llvm::cantFail(Context::create(options));
  KernelSpec spec = causal(8);
  spec.attention.dtype = "f32";
  auto kernel = llvm::cantFail(context->compile(spec));
  // One query, two keys with equal scores: the mean of the values.
  std::vector<float> q(8), k(16), v(16), o(8, -1);
  for (int n = 0; n < 8; ++n)
    v[n] = 1, v[8 + n] = 3;
  auto at = [](std::vector<float> &data, int64_t length) {
    return ArrayArg{reinterpret_cast<uint64_t>(data.data()),
                    {1, 1, length, 8},
                    {length * 8, length * 8, 8, 1}};
  };
  llvm::cantFail(
      kernel->launch({at(q, 1), at(k, 2), at(v, 2), at(o, 1)}, nullptr));
  CHECK(o == std::vector<float>(8, 2));
  CHECK_THAT(llvm::toString(kernel->launch(
                 {at(q, 1), at(k, 2), at(v, 1), at(o, 1)}, nullptr)),
             Catch::Contains("its length is 1, but 2 is needed"));
}
