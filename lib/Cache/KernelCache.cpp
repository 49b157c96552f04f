//===- KernelCache.cpp - Memory, disk, single flight ----------------------===//
//
// In one process a thread that finds nothing in memory starts a flight, and
// threads that ask for the same key wait for it. Between processes the flight
// holds the key's lock while it compiles, and looks at the disk once more when
// it has it.
//
//===----------------------------------------------------------------------===//
#include "flashc/Cache/KernelCache.h"
#include "flashc/Support/Error.h"

#include <condition_variable>

using namespace flashc;

/// One search for a kernel, and what came of it.
struct KernelCache::Flight {
  std::mutex mutex;
  std::condition_variable landed;
  bool done = false;
  std::shared_ptr<const KernelImage> image;
  std::string error;

  void land(std::shared_ptr<const KernelImage> made, std::string text) {
    {
      std::lock_guard guard(mutex);
      done = true;
      image = std::move(made);
      error = std::move(text);
    }
    landed.notify_all();
  }
};

KernelCache::KernelCache(CacheOptions given)
    : options(std::move(given)), memory(options.maxMemoryBytes) {
  if (!options.folder.empty())
    disk.emplace(options.folder, options.maxDiskBytes);
}

KernelCache::~KernelCache() = default;

void KernelCache::clearMemory() {
  std::lock_guard guard(mutex);
  memory.clear();
}

static uint64_t weightOf(const KernelImage &image) {
  return sizeof image + image.ptx.size() + image.cubin.size();
}

llvm::Expected<CachedKernel>
KernelCache::getOrCompile(const CacheKey &key, const CompileFunction &compile) {
  std::shared_ptr<Flight> flight;
  bool mine = false;
  {
    std::lock_guard guard(mutex);
    if (auto *found = memory.find(key.text()))
      return CachedKernel{*found, CacheOrigin::Memory};
    std::shared_ptr<Flight> &place = flights[key.text()];
    mine = !place;
    if (mine)
      place = std::make_shared<Flight>();
    flight = place;
  }
  if (!mine)
    return wait(*flight);
  CachedKernel made;
  std::string error;
  if (llvm::Expected<CachedKernel> result = fill(key, compile))
    made = std::move(*result);
  else
    error = llvm::toString(result.takeError());
  {
    std::lock_guard guard(mutex);
    if (made.image)
      memory.insert(key.text(), made.image, weightOf(*made.image));
    flights.erase(key.text());
  }
  flight->land(made.image, error);
  if (!made.image)
    return makeError("{}", error);
  return made;
}

llvm::Expected<CachedKernel> KernelCache::wait(Flight &flight) {
  std::unique_lock lock(flight.mutex);
  flight.landed.wait(lock, [&] { return flight.done; });
  if (!flight.image)
    return makeError("{}", flight.error);
  return CachedKernel{flight.image, CacheOrigin::Memory};
}

llvm::Expected<CachedKernel> KernelCache::fill(const CacheKey &key,
                                               const CompileFunction &compile) {
  FileLock lock;
  if (disk) {
    if (std::optional<CachedKernel> found = readDisk(key, false))
      return *found;
    lock = disk->lock(key, options.patience);
    if (std::optional<CachedKernel> found = readDisk(key, true))
      return *found;
  }
  llvm::Expected<KernelImage> image = compile(key);
  if (!image)
    return image.takeError();
  auto made = std::make_shared<const KernelImage>(std::move(*image));
  if (disk)
    writeDisk(key, *made);
  return CachedKernel{std::move(made), CacheOrigin::Compiled};
}

std::optional<CachedKernel> KernelCache::readDisk(const CacheKey &key,
                                                  bool warnOfDamage) {
  DiskCache::Result result = disk->load(key);
  bool damaged = result.status == DiskCache::Status::Damaged;
  if (damaged && warnOfDamage && options.warn)
    options.warn(fmt::format("cache '{}': entry {} is damaged: {}; it is "
                             "compiled again and replaced",
                             disk->path(), key.digest(), result.problem));
  if (result.status != DiskCache::Status::Hit)
    return std::nullopt;
  return CachedKernel{
      std::make_shared<const KernelImage>(std::move(result.image)),
      CacheOrigin::Disk};
}

void KernelCache::writeDisk(const CacheKey &key, const KernelImage &image) {
  if (llvm::Error error = disk->store(key, image))
    warnOnce(fmt::format("cache '{}' cannot be used: {}; kernels are kept in "
                         "memory alone. Choose a folder that can be written "
                         "and has room",
                         disk->path(), llvm::toString(std::move(error))));
}

void KernelCache::warnOnce(const std::string &text) {
  {
    std::lock_guard guard(mutex);
    if (std::exchange(warned, true))
      return;
  }
  if (options.warn)
    options.warn(text);
}
