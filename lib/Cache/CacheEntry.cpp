//===- CacheEntry.cpp - To bytes and back ---------------------------------===//
//
// Between a KernelImage and a file. The checksum is looked at before anything
// else is believed; what follows is read as if it had none.
//
//===----------------------------------------------------------------------===//
#include "flashc/Cache/CacheEntry.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace flashc;
namespace endian = llvm::support::endian;
namespace zstd = llvm::compression::zstd;

namespace {
constexpr llvm::StringLiteral kMagic("flashck\n");
/// Raised with every change of what follows the magic.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kZstd = 1; // the one flag

// Offsets of the header.
constexpr size_t kVersionAt = 8, kFlagsAt = 12, kPackedAt = 16, kRawAt = 24,
                 kHashAt = 32, kHeaderBytes = 64;

using Hash = llvm::BLAKE3Result<kHeaderBytes - kHashAt>;

/// Of everything but itself.
Hash hashOf(llvm::StringRef bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(bytes.take_front(kHashAt));
  hasher.update(bytes.drop_front(kHeaderBytes));
  return hasher.final<kHeaderBytes - kHashAt>();
}

void putString(std::string &out, llvm::StringRef text) {
  char size[8];
  endian::write64le(size, text.size());
  out.append(size, sizeof size);
  out.append(text.begin(), text.end());
}

bool takeString(llvm::StringRef &bytes, std::string &text) {
  if (bytes.size() < 8)
    return false;
  uint64_t size = endian::read64le(bytes.data());
  bytes = bytes.drop_front(8);
  if (size > bytes.size())
    return false;
  text = bytes.take_front(size).str();
  bytes = bytes.drop_front(size);
  return true;
}

std::string payloadOf(llvm::StringRef key, const KernelImage &image) {
  std::string manifest, out;
  llvm::raw_string_ostream(manifest) << image.manifest.toJSON();
  for (llvm::StringRef text :
       {key, llvm::StringRef(image.name), llvm::StringRef(image.arch),
        llvm::StringRef(image.assembler), llvm::StringRef(manifest),
        llvm::StringRef(image.ptx), llvm::StringRef(image.cubin)})
    putString(out, text);
  return out;
}

llvm::Expected<CacheEntry> parsePayload(llvm::StringRef bytes) {
  CacheEntry entry;
  KernelImage &image = entry.image;
  std::string manifest;
  for (std::string *text :
       {&entry.key, &image.name, &image.arch, &image.assembler, &manifest,
        &image.ptx, &image.cubin})
    if (!takeString(bytes, *text))
      return makeError("a part of it is longer than what is left");
  if (!bytes.empty())
    return makeError("{} bytes follow its last part", bytes.size());
  llvm::Expected<Manifest> parsed = Manifest::parse(manifest);
  if (!parsed)
    return parsed.takeError();
  image.manifest = std::move(*parsed);
  return entry;
}

llvm::Error checkHeader(llvm::StringRef bytes) {
  if (!bytes.starts_with(kMagic))
    return makeError("it does not begin as a kernel's file does");
  if (bytes.size() < kHeaderBytes)
    return makeError("it has {} bytes, but its header has {}", bytes.size(),
                     kHeaderBytes);
  if (uint32_t version = endian::read32le(bytes.data() + kVersionAt);
      version != kVersion)
    return makeError("its format has version {}, but {} is read", version,
                     kVersion);
  uint64_t packed = endian::read64le(bytes.data() + kPackedAt);
  if (packed != bytes.size() - kHeaderBytes)
    return makeError("it has {} bytes behind its header, which says {}",
                     bytes.size() - kHeaderBytes, packed);
  Hash hash = hashOf(bytes);
  if (bytes.slice(kHashAt, kHeaderBytes) != llvm::toStringRef(hash))
    return makeError("its checksum is not that of its bytes");
  uint64_t raw = endian::read64le(bytes.data() + kRawAt);
  if (raw > kMaxEntryBytes)
    return makeError("it says that it unpacks to {} bytes, but {} are the most",
                     raw, kMaxEntryBytes);
  return llvm::Error::success();
}
} // namespace

std::string flashc::encodeEntry(llvm::StringRef key, const KernelImage &image) {
  std::string payload = payloadOf(key, image);
  size_t raw = payload.size();
  uint32_t flags = 0;
  if (zstd::isAvailable()) {
    llvm::SmallVector<uint8_t, 0> packed;
    zstd::compress(llvm::arrayRefFromStringRef(payload), packed);
    payload = llvm::toStringRef(packed).str();
    flags |= kZstd;
  }
  std::string out(kHeaderBytes, '\0');
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  endian::write32le(&out[kVersionAt], kVersion);
  endian::write32le(&out[kFlagsAt], flags);
  endian::write64le(&out[kPackedAt], payload.size());
  endian::write64le(&out[kRawAt], raw);
  out += payload;
  Hash hash = hashOf(out);
  std::copy(hash.begin(), hash.end(), out.begin() + kHashAt);
  return out;
}

llvm::Expected<CacheEntry> flashc::decodeEntry(llvm::StringRef bytes) {
  if (llvm::Error error = checkHeader(bytes))
    return std::move(error);
  uint32_t flags = endian::read32le(bytes.data() + kFlagsAt);
  uint64_t raw = endian::read64le(bytes.data() + kRawAt);
  llvm::StringRef payload = bytes.drop_front(kHeaderBytes);
  if (flags & ~kZstd)
    return makeError("its flags {:#x} are not known", flags);
  if (!(flags & kZstd))
    return parsePayload(payload);
  if (!zstd::isAvailable())
    return makeError("it is packed with zstd, which this LLVM does not have");
  llvm::SmallVector<uint8_t, 0> unpacked;
  if (llvm::Error error =
          zstd::decompress(llvm::arrayRefFromStringRef(payload), unpacked, raw))
    return std::move(error);
  return parsePayload(llvm::toStringRef(unpacked));
}
