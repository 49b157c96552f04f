// Many processes, and processes that are killed.
#include "CacheFolder.h"
#include "unittests/Catch.h"

#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace flashc;
using namespace flashc::test;
using namespace std::chrono_literals;

namespace {
constexpr int kKernels = 8;

/// Runs in a process of its own and gives its exit code, or is killed.
template <typename Work> pid_t start(Work work) {
  pid_t child = ::fork();
  if (child == 0)
    ::_exit(work());
  return child;
}

int waitFor(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Adds a line to a file for each call.
KernelCache::CompileFunction countIn(const std::string &log,
                                     std::chrono::milliseconds takes) {
  return [=](const CacheKey &key) -> llvm::Expected<KernelImage> {
    int fd = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    std::string line = key.digest() + "\n";
    if (::write(fd, line.data(), line.size()) != ssize_t(line.size()))
      ::abort();
    ::close(fd);
    std::this_thread::sleep_for(takes);
    return kernelFor(key);
  };
}

/// 8 threads that ask for all kernels, each in another order.
int askForAll(const CacheOptions &options, const std::string &log) {
  KernelCache cache(options);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&, n] {
      for (int k = 0; k < kKernels; ++k) {
        CacheKey key = numberedKey((k + n) % kKernels);
        auto kernel = cache.getOrCompile(key, countIn(log, 20ms));
        if (!kernel)
          llvm::consumeError(kernel.takeError());
        wrong += !kernel || !isKernelFor(key, *kernel->image);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return wrong != 0;
}
} // namespace

TEST_CASE("cache: 16 processes of 8 threads compile 8 kernels 8 times") {
  CacheFolder folder;
  CacheOptions options = folder.options();
  std::string log = folder / "log";
  std::vector<pid_t> children;
  for (int n = 0; n < 16; ++n)
    children.push_back(start([&] { return askForAll(options, log); }));
  for (pid_t child : children)
    CHECK(waitFor(child) == 0);
  std::string lines = readAll(log);
  CHECK(std::count(lines.begin(), lines.end(), '\n') == kKernels);
}

TEST_CASE("cache: kill -9 at any point leaves no wrong and no lost kernel") {
  CacheFolder folder;
  CacheOptions options = folder.options();
  options.patience = 10s;
  std::vector<std::string> warnings;
  uint64_t state = 7;
  for (int round = 0; round < 200; ++round) {
    pid_t child = start([&] {
      KernelCache cache(options);
      for (int n = 0;; ++n) { // until it is killed
        CacheKey key = numberedKey(n % kKernels);
        DiskCache(options.folder, 0).prune(round % 3 ? 1 << 20 : 0);
        auto kernel = cache.getOrCompile(
            key, [](const CacheKey &k) -> llvm::Expected<KernelImage> {
              return kernelFor(k, 200000);
            });
        if (!kernel || !isKernelFor(key, *kernel->image))
          return 1;
        cache.clearMemory();
      }
    });
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::this_thread::sleep_for(std::chrono::microseconds(state >> 51)); // 8 ms
    ::kill(child, SIGKILL);
    CHECK(waitFor(child) == 128 + SIGKILL);
    for (const CacheFile &file : DiskCache(options.folder, 0).list())
      if (auto entry = DiskCache::read(file.path); !entry)
        FAIL_CHECK(file.path << ": " << llvm::toString(entry.takeError()));
  }
  // Nobody holds a lock that the dead have left.
  options.warn = [&](const std::string &text) { warnings.push_back(text); };
  KernelCache cache(options);
  auto begin = std::chrono::steady_clock::now();
  for (int n = 0; n < kKernels; ++n) {
    CacheKey key = numberedKey(n);
    auto kernel = llvm::cantFail(cache.getOrCompile(
        key, [](const CacheKey &k) -> llvm::Expected<KernelImage> {
          return kernelFor(k, 200000);
        }));
    CHECK(isKernelFor(key, *kernel.image));
  }
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  CHECK(warnings.empty());
}
