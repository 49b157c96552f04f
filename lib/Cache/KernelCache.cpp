//===- KernelCache.cpp - Memory, disk, single flight ----------------------===//
//
// In one process SingleFlight lets one thread of a key through. Between
// processes that thread holds the key's lock while it compiles, and looks at
// the disk once more when it has it.
//
//===----------------------------------------------------------------------===//
#include "flashc/Cache/KernelCache.h"
#include "flashc/Support/Error.h"

using namespace flashc;

KernelCache::KernelCache(CacheOptions given)
    : options(std::move(given)), memory(options.maxMemoryBytes) {
  if (!options.folder.empty())
    disk.emplace(options.folder, options.maxDiskBytes);
}

static uint64_t weightOf(const CachedKernel &kernel) {
  const KernelImage &image = *kernel.image;
  return sizeof image + image.ptx.size() + image.cubin.size();
}

llvm::Expected<CachedKernel>
KernelCache::getOrCompile(const CacheKey &key, const CompileFunction &compile) {
  auto found =
      memory.get(key.text(), [&] { return fill(key, compile); }, weightOf);
  if (!found)
    return found.takeError();
  if (found->there)
    found->value.origin = CacheOrigin::Memory;
  return std::move(found->value);
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
  if (!warned.exchange(true) && options.warn)
    options.warn(text);
}
