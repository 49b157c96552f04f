//===- CacheKey.h - Everything that a kernel depends on ---------*- C++ -*-===//
#ifndef FLASHC_CACHE_CACHEKEY_H
#define FLASHC_CACHE_CACHEKEY_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace flashc {

/// Everything that may change a compiled kernel, as text: equal texts are equal
/// kernels. Files are named by the digest, and the whole text is compared when
/// one is read, so that two keys of one digest are never taken for each other.
class CacheKey {
public:
  explicit CacheKey(std::string text);

  const std::string &text() const { return whole; }
  /// 32 hexadecimal digits.
  const std::string &digest() const { return name; }

private:
  std::string whole, name;
};

/// The digest of a key's text: half of its BLAKE3 in hexadecimal digits.
std::string digestOf(llvm::StringRef text);

} // namespace flashc

#endif // FLASHC_CACHE_CACHEKEY_H
