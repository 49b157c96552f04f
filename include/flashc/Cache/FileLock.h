//===- FileLock.h - One process at a time -----------------------*- C++ -*-===//
#ifndef FLASHC_CACHE_FILELOCK_H
#define FLASHC_CACHE_FILELOCK_H

#include <chrono>
#include <string>
#include <utility>

namespace flashc {

/// A lock between processes (and between threads), held as long as the object
/// lives. The system drops it with the process, however that ends, so that no
/// lock is ever left over; the file goes away with the lock. Source: flock(2).
class FileLock {
public:
  FileLock() = default;
  FileLock(FileLock &&other) noexcept { swap(other); }
  FileLock &operator=(FileLock &&other) noexcept {
    swap(other);
    return *this;
  }
  ~FileLock();

  /// Wait at most so long for the lock that `path`, a file of its own, stands
  /// for. What comes back holds nothing where the time was too short or the
  /// file system has no locks.
  static FileLock acquire(const std::string &path,
                          std::chrono::milliseconds patience);

  explicit operator bool() const { return fd >= 0; }

private:
  void swap(FileLock &other) {
    std::swap(path, other.path);
    std::swap(fd, other.fd);
  }
  std::string path;
  int fd = -1;
};

} // namespace flashc

#endif // FLASHC_CACHE_FILELOCK_H
