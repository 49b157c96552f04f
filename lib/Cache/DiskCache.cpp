//===- DiskCache.cpp - Read, publish, evict -------------------------------===//
#include "flashc/Cache/DiskCache.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <sys/stat.h>

using namespace flashc;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static constexpr const char kEntry[] = ".kernel";
static constexpr const char kLock[] = ".lock";
static constexpr const char kTemporary[] = ".tmp";
/// Nobody writes one file for so long.
static constexpr auto kAbandoned = std::chrono::minutes(10);

std::string DiskCache::pathOf(const CacheKey &key, const char *suffix) const {
  llvm::SmallString<128> out(folder);
  path::append(out, key.digest() + suffix);
  return out.str().str();
}

/// The bytes of a regular file of a size that an entry can have. Never mapped:
/// a file that is cut off meanwhile must not end the process.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readBytes(const std::string &file) {
  fs::file_status status;
  std::error_code error = fs::status(file, status);
  if (!error && !fs::is_regular_file(status))
    return makeError("it is not a regular file");
  if (!error && status.getSize() > kMaxEntryBytes)
    return makeError("it has {} bytes, but {} are the most", status.getSize(),
                     kMaxEntryBytes);
  if (error)
    return llvm::errorCodeToError(error);
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return llvm::errorCodeToError(buffer.getError());
  return std::move(*buffer);
}

DiskCache::Result DiskCache::load(const CacheKey &key) const {
  std::string file = pathOf(key, kEntry);
  if (!fs::exists(file))
    return {};
  auto damaged = [](llvm::Error error) {
    return Result{Status::Damaged, {}, llvm::toString(std::move(error))};
  };
  auto bytes = readBytes(file);
  if (!bytes)
    return damaged(bytes.takeError());
  llvm::Expected<CacheEntry> entry = decodeEntry((*bytes)->getBuffer());
  if (!entry)
    return damaged(entry.takeError());
  if (entry->key != key.text())
    return {Status::Damaged, {}, "it is the entry of another key"};
  // Mark as used. Where that cannot be, it only leaves sooner.
  ::utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
  return {Status::Hit, std::move(entry->image), ""};
}

static llvm::Error cannotWrite(const std::string &file, std::error_code error) {
  return makeError("cannot write '{}': {}", file, error.message());
}

llvm::Error DiskCache::store(const CacheKey &key,
                             const KernelImage &image) const {
  std::string file = pathOf(key, kEntry);
  if (std::error_code error = fs::create_directories(
          folder, /*IgnoreExisting=*/true, fs::owner_all))
    return cannotWrite(folder, error);
  std::string bytes = encodeEntry(key.text(), image);
  // Not fs::TempFile, which sets signal handlers in the process.
  int fd = -1;
  llvm::SmallString<128> aside;
  if (std::error_code error = fs::createUniqueFile(
          pathOf(key, kTemporary) + "-%%%%%%%%%%%%", fd, aside))
    return cannotWrite(file, error);
  std::error_code error;
  {
    llvm::raw_fd_ostream os(fd, /*shouldClose=*/true);
    os << bytes;
    os.close();
    error = os.error();
    os.clear_error(); // else the destructor ends the process
  }
  if (!error)
    error = fs::rename(aside, file);
  if (error) {
    fs::remove(aside);
    return cannotWrite(file, error);
  }
  evict(limit);
  return llvm::Error::success();
}

FileLock DiskCache::lock(const CacheKey &key,
                         std::chrono::milliseconds patience) const {
  fs::create_directories(folder, /*IgnoreExisting=*/true, fs::owner_all);
  return FileLock::acquire(pathOf(key, kLock), patience);
}

/// All files of the folder with this suffix; for temporary ones, within the
/// name.
static std::vector<CacheFile> filesWith(const std::string &folder,
                                        llvm::StringRef suffix) {
  std::vector<CacheFile> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error)) {
    if (!path::extension(it->path()).starts_with(suffix))
      continue;
    fs::file_status status;
    if (fs::status(it->path(), status, /*follow=*/false) ||
        !fs::is_regular_file(status))
      continue;
    files.push_back(
        {it->path(), status.getSize(), status.getLastModificationTime()});
  }
  return files;
}

std::vector<CacheFile> DiskCache::list() const {
  std::vector<CacheFile> files = filesWith(folder, kEntry);
  llvm::sort(files, [](const CacheFile &a, const CacheFile &b) {
    return std::tie(a.used, a.path) < std::tie(b.used, b.path);
  });
  return files;
}

llvm::Expected<CacheEntry> DiskCache::read(const std::string &file) {
  auto bytes = readBytes(file);
  if (!bytes)
    return bytes.takeError();
  llvm::Expected<CacheEntry> entry = decodeEntry((*bytes)->getBuffer());
  if (entry && digestOf(entry->key) != path::stem(file))
    return makeError("it is the entry of another key, {}",
                     digestOf(entry->key));
  return entry;
}

DiskCache::Pruned DiskCache::evict(uint64_t keepBytes) const {
  std::vector<CacheFile> files = list();
  uint64_t total = 0;
  for (const CacheFile &file : files)
    total += file.bytes;
  Pruned gone;
  for (const CacheFile &file : files) {
    if (total <= keepBytes)
      break;
    total -= file.bytes;
    if (fs::remove(file.path))
      continue;
    ++gone.files;
    gone.bytes += file.bytes;
  }
  return gone;
}

DiskCache::Pruned DiskCache::prune(uint64_t keepBytes) const {
  Pruned gone;
  auto remove = [&](const CacheFile &file) {
    if (fs::remove(file.path))
      return;
    ++gone.files;
    gone.bytes += file.bytes;
  };
  for (const CacheFile &file : list())
    if (auto entry = read(file.path); !entry) {
      llvm::consumeError(entry.takeError());
      remove(file);
    }
  for (const CacheFile &file : filesWith(folder, kTemporary))
    if (std::chrono::system_clock::now() - file.used > kAbandoned)
      remove(file);
  // Taking a lock and letting it go removes its file.
  for (const CacheFile &file : filesWith(folder, kLock))
    if (FileLock::acquire(file.path, std::chrono::milliseconds(0)))
      ++gone.files;
  Pruned old = evict(keepBytes);
  return {gone.files + old.files, gone.bytes + old.bytes};
}
