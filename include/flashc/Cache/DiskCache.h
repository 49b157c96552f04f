//===- DiskCache.h - A folder of kernels ------------------------*- C++ -*-===//
//
// Shared by any number of processes, which may end at any point. A file is
// written aside and renamed, so a name always stands for a whole entry; what is
// read is checked as if it came from a stranger.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_CACHE_DISKCACHE_H
#define FLASHC_CACHE_DISKCACHE_H

#include "flashc/Cache/CacheEntry.h"
#include "flashc/Cache/CacheKey.h"
#include "flashc/Cache/FileLock.h"

#include <chrono>
#include <vector>

namespace flashc {

/// A file of the folder as its name and the system describe it.
struct CacheFile {
  std::string path;
  uint64_t bytes = 0;
  /// When it was last read or written.
  std::chrono::system_clock::time_point used;
};

class DiskCache {
public:
  /// The folder need not exist; it is made by the first `store`. `maxBytes`
  /// bounds the sum of the entries.
  DiskCache(std::string folder, uint64_t maxBytes)
      : folder(std::move(folder)), limit(maxBytes) {}

  const std::string &path() const { return folder; }
  uint64_t maxBytes() const { return limit; }

  enum class Status {
    Hit,
    /// No file of that name, or one that cannot be read.
    Missing,
    /// A file that is not this key's entry as it was written: bytes are missing
    /// or changed, or it is of another key or another version of the format.
    Damaged
  };
  struct Result {
    Status status = Status::Missing;
    KernelImage image;
    /// What is wrong with a damaged entry.
    std::string problem;
  };
  /// A hit is marked as used now.
  Result load(const CacheKey &key) const;

  /// Publish the kernel, replacing what is there, then remove the entries that
  /// were used longest ago until all fit `maxBytes`. Fails, naming the file and
  /// the system's reason, where the folder cannot be made or written.
  llvm::Error store(const CacheKey &key, const KernelImage &image) const;

  /// Taken while a key is compiled. Makes the folder if it can.
  FileLock lock(const CacheKey &key, std::chrono::milliseconds patience) const;

  /// The entries, longest unused first. Empty where there is no folder.
  std::vector<CacheFile> list() const;

  /// What the entry at `path` holds; fails as `decodeEntry` does, and where the
  /// file's name is not the digest of its key.
  static llvm::Expected<CacheEntry> read(const std::string &path);

  struct Pruned {
    size_t files = 0;
    uint64_t bytes = 0;
  };
  /// Remove what cannot be read, what processes that are gone left behind, and
  /// then the entries used longest ago until at most `keepBytes` are left.
  Pruned prune(uint64_t keepBytes) const;

private:
  std::string pathOf(const CacheKey &key, const char *suffix) const;
  Pruned evict(uint64_t keepBytes) const;

  std::string folder;
  uint64_t limit;
};

} // namespace flashc

#endif // FLASHC_CACHE_DISKCACHE_H
