// flashc-cache-fuzz: entries of the kernel cache that were changed at random,
// read back. No case may crash, and none may come out as a kernel that is not
// the one that was put in. Case number N of seed S is the same everywhere.
#include "fuzz/Random.h"

#include "flashc/Cache/KernelCache.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace flashc;
using namespace flashc::fuzz;
namespace cl = llvm::cl;

static cl::opt<unsigned> seconds("seconds", cl::desc("How long"), cl::init(60));
static cl::opt<uint64_t> seed("seed", cl::desc("Of the first case"),
                              cl::init(1));

namespace {
constexpr size_t kHeaderBytes = 64, kHashAt = 32;

KernelImage makeImage(Random &random) {
  KernelImage image{"fwd", "sm_80", "", "", {}, "fuzz 1"};
  Manifest &m = image.manifest;
  m.params = {
      {ParamKind::Query, "q", "f16", {-1, -1, -1, 64}, {-1, -1, -1, 1}}};
  m.qBlock = 64;
  m.warps = 4;
  for (size_t n = random.below(3000); n > 0; --n)
    image.ptx += char(random.below(256));
  image.cubin.assign(random.below(3000), 'c');
  return image;
}

/// Some bytes changed, taken out, put in, doubled.
std::string mutate(std::string bytes, Random &random) {
  for (size_t n = 1 + random.below(4); n > 0 && !bytes.empty(); --n) {
    size_t at = random.below(bytes.size());
    size_t count = std::min<size_t>(1 + random.below(40), bytes.size() - at);
    switch (random.below(5)) {
    case 0:
      bytes[at] = char(bytes[at] ^ (1 << random.below(8)));
      break;
    case 1:
      bytes.erase(at, count);
      break;
    case 2:
      bytes.insert(at, bytes.substr(at, count));
      break;
    case 3:
      bytes.resize(at);
      break;
    default: // a number of the header or a size in the payload
      for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i)
        bytes[i] = char(random.oneIn(2) ? 0xff : random.below(256));
    }
  }
  return bytes;
}

/// Make the size and the checksum right again, so that what lies behind them is
/// reached.
void seal(std::string &bytes) {
  if (bytes.size() < kHeaderBytes)
    return;
  llvm::support::endian::write64le(&bytes[16], bytes.size() - kHeaderBytes);
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(bytes).take_front(kHashAt));
  hasher.update(llvm::StringRef(bytes).drop_front(kHeaderBytes));
  auto hash = hasher.final<32>();
  std::copy(hash.begin(), hash.end(), bytes.begin() + kHashAt);
}

/// The same entry without compression, so that changes reach what is packed.
std::string unpack(std::string bytes) {
  using namespace llvm::support;
  namespace zstd = llvm::compression::zstd;
  if (bytes[12] == 0 || !zstd::isAvailable())
    return bytes;
  llvm::SmallVector<uint8_t, 0> payload;
  llvm::cantFail(zstd::decompress(
      llvm::arrayRefFromStringRef(llvm::StringRef(bytes).substr(kHeaderBytes)),
      payload, endian::read64le(bytes.data() + 24)));
  bytes.replace(bytes.begin() + kHeaderBytes, bytes.end(), payload.begin(),
                payload.end());
  bytes[12] = 0;
  seal(bytes);
  return bytes;
}

bool sameImage(const KernelImage &a, const KernelImage &b) {
  return a.name == b.name && a.arch == b.arch && a.ptx == b.ptx &&
         a.cubin == b.cubin && a.assembler == b.assembler &&
         a.manifest == b.manifest;
}

struct Counts {
  uint64_t cases = 0, refused = 0;
};

/// What is wrong with case `number`; empty if nothing is.
std::string runCase(uint64_t number, const std::string &folder,
                    Counts &counts) {
  Random random(seed + number);
  CacheKey key("key of case " + std::to_string(number % 7));
  KernelImage image = makeImage(random);
  std::string good = encodeEntry(key.text(), image);
  if (random.oneIn(2))
    good = unpack(good);
  std::string bytes = mutate(good, random);
  bool sealed = random.oneIn(2);
  if (sealed)
    seal(bytes);
  ++counts.cases;
  auto entry = decodeEntry(bytes);
  bool refused = !entry;
  counts.refused += refused;
  if (refused && llvm::toString(entry.takeError()).empty())
    return "is refused without a word";
  // Whoever makes the checksum right has written an entry of his own.
  if (!refused && !sealed && bytes != good)
    return "is taken for whole";
  // Through the folder: the kernel that comes out is the one compiled.
  if (number % 8 || sealed)
    return "";
  std::string path = folder + "/" + key.digest() + ".kernel";
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;
  CacheOptions options;
  options.folder = folder;
  KernelCache cache(options);
  auto kernel = cache.getOrCompile(
      key,
      [&](const CacheKey &) -> llvm::Expected<KernelImage> { return image; });
  if (!kernel)
    return llvm::toString(kernel.takeError());
  return sameImage(*kernel->image, image) ? "" : "serves another kernel";
}
} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("flashc-cache-fuzz", folder))
    return 1;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  Counts counts;
  std::string problem;
  for (uint64_t n = 0;
       problem.empty() && std::chrono::steady_clock::now() < end; ++n) {
    problem = runCase(n, folder.str().str(), counts);
    if (!problem.empty())
      llvm::errs() << "case " << n << " of seed " << seed << " " << problem
                   << '\n';
  }
  llvm::sys::fs::remove_directories(folder);
  llvm::outs() << counts.cases << " cases, " << counts.refused << " refused"
               << (problem.empty() ? ", no crash and no wrong kernel\n" : "\n");
  return problem.empty() ? 0 : 1;
}
