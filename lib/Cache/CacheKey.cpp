//===- CacheKey.cpp - The digest of a key ---------------------------------===//
#include "flashc/Cache/CacheKey.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"

using namespace flashc;

std::string flashc::digestOf(llvm::StringRef text) {
  llvm::BLAKE3Result<16> hash =
      llvm::BLAKE3::hash<16>(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(hash, /*LowerCase=*/true);
}

CacheKey::CacheKey(std::string text)
    : whole(std::move(text)), name(digestOf(whole)) {}
