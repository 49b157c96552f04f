// Bytes of an entry: every change of them is seen.
#include "CacheFolder.h"
#include "unittests/Catch.h"

using namespace flashc;
using namespace flashc::test;

static std::string problemOf(const std::string &bytes) {
  llvm::Expected<CacheEntry> entry = decodeEntry(bytes);
  return entry ? "" : llvm::toString(entry.takeError());
}

TEST_CASE("entry: what is written is read back") {
  CacheKey key = numberedKey(1);
  KernelImage image = kernelFor(key);
  std::string bytes = encodeEntry(key.text(), image);
  CHECK(bytes == encodeEntry(key.text(), image));
  CacheEntry entry = llvm::cantFail(decodeEntry(bytes));
  CHECK(entry.key == key.text());
  CHECK(isKernelFor(key, entry.image));
  CHECK(!isKernelFor(numberedKey(2), entry.image));
}

TEST_CASE("entry: each bit flipped in a byte is seen") {
  CacheKey key = numberedKey(1);
  std::string bytes = encodeEntry(key.text(), kernelFor(key, 3000));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] = char(wrong[at] ^ (1 << at % 8));
    if (problemOf(wrong).empty())
      FAIL("byte " << at << " was changed and nobody saw it");
  }
}

TEST_CASE("entry: each length that is not the right one is seen") {
  CacheKey key = numberedKey(1);
  std::string bytes = encodeEntry(key.text(), kernelFor(key, 3000));
  for (size_t size = 0; size < bytes.size(); ++size)
    if (problemOf(bytes.substr(0, size)).empty())
      FAIL("cut to " << size << " bytes and nobody saw it");
  CHECK(problemOf(bytes + '\0') == "it has " +
                                       std::to_string(bytes.size() - 63) +
                                       " bytes behind its header, which says " +
                                       std::to_string(bytes.size() - 64));
}

TEST_CASE("entry: files that are none say so") {
  CHECK(problemOf("") == "it does not begin as a kernel's file does");
  CHECK(problemOf("#!/bin/sh\n") ==
        "it does not begin as a kernel's file does");
  CHECK(problemOf("flashck\nx") == "it has 9 bytes, but its header has 64");
  std::string bytes = encodeEntry("key", kernelFor(CacheKey("key")));
  bytes[8] = 2;
  CHECK(problemOf(bytes) == "its format has version 2, but 1 is read");
}

TEST_CASE("key: the digest is of the whole text") {
  CHECK(CacheKey("a").digest().size() == 32);
  CHECK(CacheKey("a").digest() == CacheKey("a").digest());
  CHECK(CacheKey("a").digest() != CacheKey("b").digest());
}

TEST_CASE("lru: forgets what was used longest ago") {
  Lru<std::string, int> lru(10);
  lru.insert("a", 1, 4);
  lru.insert("b", 2, 4);
  CHECK(*lru.find("a") == 1);
  lru.insert("c", 3, 4);
  CHECK(lru.find("b") == nullptr);
  CHECK(*lru.find("a") == 1);
  CHECK(lru.weight() == 8);
  lru.insert("d", 4, 11); // too heavy to be kept
  CHECK(lru.find("d") == nullptr);
  CHECK(lru.size() == 2);
  lru.insert("a", 5, 10);
  CHECK(*lru.find("a") == 5);
  CHECK(lru.size() == 1);
  lru.clear();
  CHECK(lru.weight() == 0);
}
