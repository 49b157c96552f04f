// A folder of entries, and what else may lie in it.
#include "CacheFolder.h"
#include "unittests/Catch.h"

#include "llvm/Support/FileSystem.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace flashc;
using namespace flashc::test;
using namespace std::chrono_literals;
using Status = DiskCache::Status;

static std::string entryOf(const CacheFolder &folder, const CacheKey &key) {
  return folder / (key.digest() + ".kernel");
}

TEST_CASE("disk: a kernel is there after it was stored") {
  CacheFolder folder;
  DiskCache cache(folder / "a/b", 1 << 20);
  CacheKey key = numberedKey(1);
  CHECK(cache.load(key).status == Status::Missing);
  CHECK(cache.list().empty());
  llvm::cantFail(cache.store(key, kernelFor(key)));
  CHECK(isKernelFor(key, cache.load(key).image));
  CHECK(cache.load(numberedKey(2)).status == Status::Missing);
  REQUIRE(cache.list().size() == 1);
  CHECK(llvm::cantFail(DiskCache::read(cache.list()[0].path)).key ==
        key.text());
}

TEST_CASE("disk: an entry of another key is not served under this name") {
  CacheFolder folder;
  DiskCache cache(folder.path, 1 << 20);
  CacheKey key = numberedKey(1), other = numberedKey(2);
  llvm::cantFail(cache.store(other, kernelFor(other)));
  llvm::sys::fs::rename(entryOf(folder, other), entryOf(folder, key));
  CHECK(cache.load(key).status == Status::Damaged);
  CHECK(cache.load(key).problem == "it is the entry of another key");
  CHECK(llvm::toString(DiskCache::read(entryOf(folder, key)).takeError()) ==
        "it is the entry of another key, " + other.digest());
  llvm::cantFail(cache.store(key, kernelFor(key)));
  CHECK(cache.load(key).status == Status::Hit);
}

TEST_CASE("disk: damage of any kind is seen") {
  CacheFolder folder;
  DiskCache cache(folder.path, 1 << 20);
  CacheKey key = numberedKey(1);
  llvm::cantFail(cache.store(key, kernelFor(key)));
  std::string file = entryOf(folder, key), bytes = readAll(file);
  for (size_t at = 0; at < bytes.size(); at += 97) {
    std::string wrong = bytes;
    wrong[at] = char(~wrong[at]);
    writeAll(file, wrong);
    CHECK(cache.load(key).status == Status::Damaged);
    writeAll(file, bytes.substr(0, at));
    CHECK(cache.load(key).status == Status::Damaged);
  }
  llvm::sys::fs::remove(file);
  llvm::sys::fs::create_directory(file);
  CHECK(cache.load(key).problem == "it is not a regular file");
  llvm::sys::fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0); // to open it would wait forever
  CHECK(cache.load(key).status == Status::Damaged);
  ::unlink(file.c_str());
  REQUIRE(::symlink("/dev/zero", file.c_str()) == 0);
  CHECK(cache.load(key).status == Status::Damaged);
}

TEST_CASE("disk: what was used longest ago leaves first") {
  CacheFolder folder;
  CacheKey keys[] = {numberedKey(0), numberedKey(1), numberedKey(2)};
  uint64_t each = encodeEntry(keys[0].text(), kernelFor(keys[0])).size();
  DiskCache cache(folder.path, 2 * each + each / 2);
  llvm::cantFail(cache.store(keys[0], kernelFor(keys[0])));
  std::this_thread::sleep_for(15ms);
  llvm::cantFail(cache.store(keys[1], kernelFor(keys[1])));
  std::this_thread::sleep_for(15ms);
  CHECK(cache.load(keys[0]).status == Status::Hit); // used again
  std::this_thread::sleep_for(15ms);
  llvm::cantFail(cache.store(keys[2], kernelFor(keys[2])));
  CHECK(cache.load(keys[0]).status == Status::Hit);
  CHECK(cache.load(keys[1]).status == Status::Missing);
  CHECK(cache.load(keys[2]).status == Status::Hit);
}

TEST_CASE("disk: prune removes what is damaged or abandoned") {
  CacheFolder folder;
  DiskCache cache(folder.path, 1 << 20);
  CacheKey good = numberedKey(1), bad = numberedKey(2);
  llvm::cantFail(cache.store(good, kernelFor(good)));
  writeAll(entryOf(folder, bad), "not an entry");
  writeAll(folder / "x.tmp-new", "a write that goes on");
  writeAll(folder / "x.tmp-old", "a write that ended long ago");
  timespec hourAgo[2] = {{::time(nullptr) - 3600, 0},
                         {::time(nullptr) - 3600, 0}};
  ::utimensat(AT_FDCWD, (folder / "x.tmp-old").c_str(), hourAgo, 0);
  writeAll(folder / "x.lock", "");
  writeAll(folder / "README", "somebody else's");
  FileLock held = FileLock::acquire(folder / "y.lock", 1s);
  REQUIRE(held);
  DiskCache::Pruned gone = cache.prune(1 << 20);
  CHECK(gone.files == 3);
  CHECK(llvm::sys::fs::exists(entryOf(folder, good)));
  CHECK(!llvm::sys::fs::exists(entryOf(folder, bad)));
  CHECK(!llvm::sys::fs::exists(folder / "x.tmp-old"));
  CHECK(llvm::sys::fs::exists(folder / "x.tmp-new"));
  CHECK(!llvm::sys::fs::exists(folder / "x.lock"));
  CHECK(llvm::sys::fs::exists(folder / "y.lock"));
  CHECK(llvm::sys::fs::exists(folder / "README"));
  CHECK(cache.prune(0).files == 1);
  CHECK(cache.list().empty());
}

TEST_CASE("lock: one holder at a time, and no file is left") {
  CacheFolder folder;
  std::string path = folder / "a.lock";
  {
    FileLock first = FileLock::acquire(path, 1s);
    REQUIRE(first);
    CHECK(!FileLock::acquire(path, 20ms));
    bool acquired = false;
    std::thread other([&] { acquired = bool(FileLock::acquire(path, 5s)); });
    std::this_thread::sleep_for(20ms);
    first = FileLock();
    other.join();
    CHECK(acquired);
  }
  CHECK(!llvm::sys::fs::exists(path));
  CHECK(!FileLock::acquire(folder / "no/such/folder.lock", 20ms));
}

TEST_CASE("lock: never two holders, however often it changes hands") {
  CacheFolder folder;
  std::string path = folder / "a.lock";
  std::atomic<int> inside = 0, wrong = 0, done = 0;
  std::vector<std::thread> threads;
  for (int n = 0; n < 8; ++n)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        FileLock lock = FileLock::acquire(path, 30s);
        wrong += !lock || ++inside != 1;
        ++done;
        --inside;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(done == 400);
}
