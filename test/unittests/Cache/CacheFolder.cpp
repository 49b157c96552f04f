#include "CacheFolder.h"

#include "llvm/Support/FileSystem.h"

#include <fstream>
#include <sstream>

using namespace flashc;
using namespace flashc::test;

CacheFolder::CacheFolder() {
  llvm::SmallString<128> made;
  if (llvm::sys::fs::createUniqueDirectory("flashc-cache-test", made))
    abort();
  path = made.str().str();
}

CacheFolder::~CacheFolder() { llvm::sys::fs::remove_directories(path); }

KernelImage test::kernelFor(const CacheKey &key, size_t bytes) {
  KernelImage image{"fwd", "sm_80", "", "", {}, "fake 1"};
  Manifest &m = image.manifest;
  m.params = {
      {ParamKind::Query, "q", "f16", {-1, -1, -1, 64}, {-1, -1, -1, 1}}};
  m.qBlock = 64;
  m.warps = 4;
  m.scale = 0.1;
  m.dtype = "f16";
  uint64_t state = std::hash<std::string>()(key.text());
  while (image.ptx.size() < bytes) { // not to be packed much
    state = state * 6364136223846793005u + 1442695040888963407u;
    image.ptx += char(state >> 56);
  }
  image.cubin = key.text();
  return image;
}

bool test::isKernelFor(const CacheKey &key, const KernelImage &image) {
  KernelImage want = kernelFor(key, image.ptx.size());
  return image.ptx == want.ptx && image.cubin == want.cubin &&
         image.manifest == want.manifest && image.name == want.name &&
         image.arch == want.arch && image.assembler == want.assembler;
}

CacheKey test::numberedKey(int n) {
  return CacheKey("the kernel of key " + std::to_string(n));
}

std::string test::readAll(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void test::writeAll(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}
