//===- FileLock.cpp - flock on a file that comes and goes -----------------===//
//
// A holder removes its file before it lets go, so whoever gets a lock must see
// whether the file that it opened is still the one of that name.
//
//===----------------------------------------------------------------------===//
#include "flashc/Cache/FileLock.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace flashc;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

FileLock::~FileLock() {
  if (fd < 0)
    return;
  ::unlink(path.c_str());
  ::close(fd);
}

static bool isFileOfName(int fd, const std::string &path) {
  struct stat opened{}, named{};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Lock the open file before `end`.
static bool lockBefore(int fd, Clock::time_point end) {
  auto pause = std::chrono::microseconds(200);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR)
      continue;
    if (errno != EWOULDBLOCK || Clock::now() >= end)
      return false;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, 10ms);
  }
  return true;
}

FileLock FileLock::acquire(const std::string &path,
                           std::chrono::milliseconds patience) {
  Clock::time_point end = Clock::now() + patience;
  FileLock lock;
  do {
    int fd =
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0)
      return lock;
    if (lockBefore(fd, end) && isFileOfName(fd, path)) {
      lock.path = path;
      lock.fd = fd;
      return lock;
    }
    ::close(fd);
  } while (Clock::now() < end);
  return lock;
}
