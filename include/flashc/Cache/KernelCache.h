//===- KernelCache.h - A kernel is compiled once ----------------*- C++ -*-===//
//
// Memory, then disk, then the compiler, which the caller passes in: the cache
// knows nothing of it.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_CACHE_KERNELCACHE_H
#define FLASHC_CACHE_KERNELCACHE_H

#include "flashc/Cache/DiskCache.h"
#include "flashc/Cache/SingleFlight.h"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

namespace flashc {

struct CacheOptions {
  /// Empty: memory alone.
  std::string folder;
  uint64_t maxDiskBytes = uint64_t(1) << 30;
  uint64_t maxMemoryBytes = uint64_t(1) << 28;
  /// How long to wait for another process that compiles the same kernel, before
  /// it is compiled here too.
  std::chrono::milliseconds patience = std::chrono::minutes(2);
  /// Told what a user should know: once that the folder cannot be used, and of
  /// each damaged entry. May be called by any thread that asks for a kernel.
  std::function<void(const std::string &)> warn;
};

enum class CacheOrigin { Memory, Disk, Compiled };

struct CachedKernel {
  std::shared_ptr<const KernelImage> image;
  CacheOrigin origin = CacheOrigin::Memory;
};

/// Any thread may call any function at any time.
class KernelCache {
public:
  explicit KernelCache(CacheOptions options);

  using CompileFunction =
      std::function<llvm::Expected<KernelImage>(const CacheKey &)>;

  /// The kernel of `key`. Of all threads and all processes with this folder
  /// that ask for it while nobody has it, one calls its `compile` and the
  /// others wait; `compile` must not ask for the same key. Fails only as
  /// `compile` does, for all threads that wait, and not for the next one that
  /// asks. Nothing that goes wrong on disk is an error.
  llvm::Expected<CachedKernel> getOrCompile(const CacheKey &key,
                                            const CompileFunction &compile);

  /// Drop what memory holds; kernels in use live on.
  void clearMemory() { memory.clear(); }

private:
  llvm::Expected<CachedKernel> fill(const CacheKey &key,
                                    const CompileFunction &compile);
  std::optional<CachedKernel> readDisk(const CacheKey &key, bool warnOfDamage);
  void writeDisk(const CacheKey &key, const KernelImage &image);
  void warnOnce(const std::string &text);

  const CacheOptions options;
  std::optional<DiskCache> disk;
  SingleFlight<std::string, CachedKernel> memory;
  std::atomic<bool> warned = false;
};

} // namespace flashc

#endif // FLASHC_CACHE_KERNELCACHE_H
