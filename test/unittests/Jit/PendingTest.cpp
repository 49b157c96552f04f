// Compilation in the background.
#include "flashc/Jit/Context.h"
#include "unittests/Catch.h"

using namespace flashc;
using namespace flashc::jit;
using namespace std::chrono_literals;

namespace {
KernelSpec specOf(int64_t headDim) {
  KernelSpec spec;
  spec.attention.headDim = headDim;
  return spec;
}

std::shared_ptr<Context> compileOnly(unsigned threads) {
  ContextOptions options;
  options.target = "sm_80";
  options.device = -1;
  options.threads = threads;
  return llvm::cantFail(Context::create(options));
}
} // namespace

TEST_CASE("pending: the kernel comes, and its steps are told in order") {
  auto context = compileOnly(2);
  std::vector<Step> steps;
  std::thread::id caller;
  auto pending = context->compileAsync(specOf(64), [&](Step step) {
    steps.push_back(step);
    caller = std::this_thread::get_id();
  });
  auto kernel = llvm::cantFail(pending->get());
  CHECK(llvm::cantFail(pending->get()) == kernel);
  CHECK(pending->waitFor(0ms));
  CHECK(steps ==
        std::vector<Step>{Step::LookUp, Step::Lower, Step::Emit, Step::Load});
  CHECK(caller != std::this_thread::get_id());
  CHECK(llvm::cantFail(context->compile(specOf(64))) == kernel);
}

TEST_CASE("pending: an error comes too") {
  auto context = compileOnly(1);
  auto pending = context->compileAsync(specOf(-1));
  auto kernel = pending->get();
  REQUIRE(!kernel);
  CHECK_THAT(llvm::toString(kernel.takeError()),
             Catch::Contains("head dim is -1"));
}

TEST_CASE("pending: what has not begun when the context goes is told so") {
  std::vector<std::shared_ptr<Pending>> list;
  {
    auto context = compileOnly(1);
    for (int n = 0; n < 4; ++n)
      list.push_back(context->compileAsync(specOf(32 + 16 * n)));
  }
  int made = 0, dropped = 0;
  for (auto &pending : list) {
    auto kernel = pending->get();
    if (kernel)
      ++made;
    else
      dropped += llvm::StringRef(llvm::toString(kernel.takeError()))
                     .starts_with("the context was freed");
  }
  CHECK(made <= 2);
  CHECK(made + dropped == 4);
}

TEST_CASE("workers: as many threads as there may be, and all is done") {
  std::atomic<int> done = 0, at = 0, most = 0;
  {
    Workers workers(3);
    for (int n = 0; n < 20; ++n)
      workers.add([&](bool mayRun) {
        int now = ++at;
        int seen = most;
        while (now > seen && !most.compare_exchange_weak(seen, now))
          ;
        if (mayRun)
          std::this_thread::sleep_for(5ms);
        --at;
        ++done;
      });
    while (done < 20)
      std::this_thread::sleep_for(1ms);
  }
  CHECK(done == 20);
  CHECK(most <= 3);
  CHECK(most >= 2);
}
