//===- CacheEntry.h - One kernel as the bytes of one file -------*- C++ -*-===//
//
// A file says of itself what it is and whether it is whole: 64 bytes of header
// (magic, version, flags, sizes, BLAKE3 of all the rest), then the key's text
// and the kernel, compressed where zstd is there. All numbers little-endian.
//
//===----------------------------------------------------------------------===//
#ifndef FLASHC_CACHE_CACHEENTRY_H
#define FLASHC_CACHE_CACHEENTRY_H

#include "flashc/Support/KernelImage.h"

namespace flashc {

/// A kernel and the text of the key that it was compiled for.
struct CacheEntry {
  std::string key;
  KernelImage image;
};

/// Entries are read up to this size, packed and unpacked.
inline constexpr uint64_t kMaxEntryBytes = uint64_t(1) << 28;

/// The bytes of an entry; the same kernel gives the same bytes.
std::string encodeEntry(llvm::StringRef key, const KernelImage &image);

/// Reads them back. Fails, saying what is wrong, on anything that
/// `encodeEntry` did not write: other files, other versions of the format,
/// bytes that are missing, changed or too many. Never reads past `bytes` and
/// never allocates more than `kMaxEntryBytes` for what they promise.
llvm::Expected<CacheEntry> decodeEntry(llvm::StringRef bytes);

} // namespace flashc

#endif // FLASHC_CACHE_CACHEENTRY_H
