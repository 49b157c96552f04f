// Memory, disk and a compiler that is not there, in one process.
#include "CacheFolder.h"
#include "unittests/Catch.h"

#include "flashc/Support/Error.h"

#include "llvm/Support/FileSystem.h"

#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace flashc;
using namespace flashc::test;
using namespace std::chrono_literals;

namespace {
/// Makes kernels and counts them.
struct Compiler {
  std::atomic<int> calls = 0;
  std::chrono::milliseconds takes{0};
  KernelCache::CompileFunction function() {
    return [this](const CacheKey &key) -> llvm::Expected<KernelImage> {
      ++calls;
      std::this_thread::sleep_for(takes);
      return kernelFor(key);
    };
  }
};

/// Nothing if there is no kernel or another one. Catch2's macros are for the
/// main thread.
std::optional<CacheOrigin> originOf(KernelCache &cache, const CacheKey &key,
                                    Compiler &compiler) {
  auto kernel = cache.getOrCompile(key, compiler.function());
  if (kernel && isKernelFor(key, *kernel->image))
    return kernel->origin;
  llvm::consumeError(kernel.takeError());
  return std::nullopt;
}
} // namespace

TEST_CASE("cache: compiled, then in memory, then on disk for the next one") {
  CacheFolder folder;
  Compiler compiler;
  KernelCache cache(folder.options());
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Compiled);
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Memory);
  cache.clearMemory();
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Disk);
  KernelCache next(folder.options());
  CHECK(originOf(next, numberedKey(1), compiler) == CacheOrigin::Disk);
  CHECK(compiler.calls == 1);
}

TEST_CASE("cache: without a folder, memory alone") {
  Compiler compiler;
  KernelCache cache{CacheOptions()};
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Compiled);
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Memory);
  CHECK(compiler.calls == 1);
}

TEST_CASE("cache: memory is bounded") {
  Compiler compiler;
  CacheOptions options;
  options.maxMemoryBytes = 50000; // two kernels
  KernelCache cache(options);
  for (int n : {1, 2, 1, 3, 1})
    originOf(cache, numberedKey(n), compiler);
  CHECK(compiler.calls == 3);
  CHECK(originOf(cache, numberedKey(2), compiler) == CacheOrigin::Compiled);
}

TEST_CASE("cache: an error is for all that wait, and not for the next") {
  CacheFolder folder;
  KernelCache cache(folder.options());
  std::atomic<int> failures = 0, calls = 0;
  auto failing = [&](const CacheKey &) -> llvm::Expected<KernelImage> {
    ++calls;
    std::this_thread::sleep_for(50ms);
    return makeError("no such kernel");
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&] {
      auto kernel = cache.getOrCompile(numberedKey(1), failing);
      failures += llvm::toString(kernel.takeError()) == "no such kernel";
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == 8);
  CHECK(calls >= 1);
  CHECK(calls <= 8);
  Compiler compiler;
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Compiled);
}

TEST_CASE("cache: threads and caches that ask for one key compile it once") {
  CacheFolder folder;
  Compiler compiler;
  compiler.takes = 30ms;
  KernelCache one(folder.options()), two(folder.options());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int n = 0; n < 16; ++n)
    threads.emplace_back([&, n] {
      right +=
          originOf(n % 2 ? one : two, numberedKey(n / 8), compiler).has_value();
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == 16);
  CHECK(compiler.calls == 2);
}

TEST_CASE("cache: a damaged entry is replaced, with a word to the user") {
  CacheFolder folder;
  std::vector<std::string> warnings;
  CacheOptions options = folder.options();
  options.warn = [&](const std::string &text) { warnings.push_back(text); };
  Compiler compiler;
  CacheKey key = numberedKey(1);
  std::string file = options.folder + "/" + key.digest() + ".kernel";
  {
    KernelCache cache(options);
    originOf(cache, key, compiler);
  }
  std::string whole = readAll(file);
  writeAll(file, whole.substr(0, 100));
  {
    KernelCache cache(options);
    CHECK(originOf(cache, key, compiler) == CacheOrigin::Compiled);
  }
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0],
             Catch::Contains(key.digest() + " is damaged: it has "
                                            "36 bytes behind its header"));
  CHECK(readAll(file) == whole);
}

TEST_CASE("cache: a folder that cannot be used costs one warning") {
  CacheFolder folder;
  std::vector<std::string> warnings;
  CacheOptions options = folder.options();
  options.warn = [&](const std::string &text) { warnings.push_back(text); };
  SECTION("its place is taken by a file") {
    writeAll(options.folder, "a file");
  }
  SECTION("its parent is no folder") {
    writeAll(folder / "home", "");
    options.folder = folder / "home/.cache/flashc";
  }
  SECTION("nobody may make folders there") { options.folder = "/proc/flashc"; }
  SECTION("the disk is full") {
    // Names too long stand for it: the file cannot be made.
    options.folder = folder / std::string(300, 'x');
  }
  Compiler compiler;
  KernelCache cache(options);
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Compiled);
  CHECK(originOf(cache, numberedKey(2), compiler) == CacheOrigin::Compiled);
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Memory);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("cannot be used: cannot write '"));
}

TEST_CASE("cache: a folder that is read-only still serves") {
  if (::geteuid() == 0)
    FLASHC_SKIP("root may write everywhere");
  CacheFolder folder;
  Compiler compiler;
  {
    KernelCache cache(folder.options());
    originOf(cache, numberedKey(1), compiler);
  }
  ::chmod(folder.options().folder.c_str(), 0500);
  KernelCache cache(folder.options());
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Disk);
  CHECK(originOf(cache, numberedKey(2), compiler) == CacheOrigin::Compiled);
  ::chmod(folder.options().folder.c_str(), 0700);
}

TEST_CASE("cache: whoever waits too long compiles himself") {
  CacheFolder folder;
  CacheOptions options = folder.options();
  options.patience = 50ms;
  llvm::sys::fs::create_directories(options.folder);
  FileLock stuck = FileLock::acquire(
      options.folder + "/" + numberedKey(1).digest() + ".lock", 1s);
  REQUIRE(stuck);
  Compiler compiler;
  KernelCache cache(options);
  CHECK(originOf(cache, numberedKey(1), compiler) == CacheOrigin::Compiled);
}
