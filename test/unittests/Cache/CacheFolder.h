// What the tests of the cache share: a folder that goes away, and kernels that
// say which key they were made for.
#ifndef FLASHC_TEST_UNITTESTS_CACHE_CACHEFOLDER_H
#define FLASHC_TEST_UNITTESTS_CACHE_CACHEFOLDER_H

#include "flashc/Cache/KernelCache.h"

namespace flashc::test {

/// A new empty folder, removed with the object.
class CacheFolder {
public:
  CacheFolder();
  ~CacheFolder();
  std::string path;
  std::string operator/(const std::string &name) const {
    return path + "/" + name;
  }
  CacheOptions options() const {
    CacheOptions out;
    out.folder = path + "/cache";
    return out;
  }
};

/// A kernel of some `bytes` that could only have been made for this key.
KernelImage kernelFor(const CacheKey &key, size_t bytes = 20000);
bool isKernelFor(const CacheKey &key, const KernelImage &image);

CacheKey numberedKey(int n);

std::string readAll(const std::string &path);
void writeAll(const std::string &path, const std::string &bytes);

} // namespace flashc::test

#endif // FLASHC_TEST_UNITTESTS_CACHE_CACHEFOLDER_H
