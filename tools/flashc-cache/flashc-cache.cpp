// flashc-cache: look at the folder of compiled kernels, and clean it up.
#include "common/Environment.h"

#include "flashc/Cache/DiskCache.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

using namespace flashc;
namespace cl = llvm::cl;

static cl::OptionCategory category("flashc-cache options");
static cl::SubCommand
    listCommand("list", "Print the kernels, the one used longest ago first");
static cl::SubCommand
    verifyCommand("verify", "Read every entry and name those that are damaged");
static cl::SubCommand
    pruneCommand("prune", "Remove damaged and abandoned files, then what was "
                          "used longest ago");
static cl::SubCommand pathCommand("path", "Print where the folder is");

static cl::opt<std::string> folderFlag(
    "dir", cl::desc("Folder; default: $FLASHC_CACHE_DIR or ~/.cache/flashc"),
    cl::value_desc("folder"), cl::sub(cl::SubCommand::getAll()),
    cl::cat(category));
static cl::opt<uint64_t>
    keepBytes("keep-bytes", cl::desc("Bytes of kernels to keep; default: 0"),
              cl::value_desc("N"), cl::sub(pruneCommand), cl::cat(category));

static int fail(const std::string &text) {
  llvm::WithColor::error(llvm::errs(), "flashc-cache") << text << '\n';
  return 1;
}

static std::string lineOf(const CacheFile &file) {
  auto used = std::chrono::time_point_cast<std::chrono::seconds>(file.used);
  std::string line = fmt::format(
      "{}  {:>9}  {:%Y-%m-%d %H:%M:%S}", llvm::sys::path::stem(file.path).str(),
      file.bytes, fmt::gmtime(std::chrono::system_clock::to_time_t(used)));
  llvm::Expected<CacheEntry> entry = DiskCache::read(file.path);
  if (!entry)
    return line + "  damaged: " + llvm::toString(entry.takeError());
  const KernelImage &image = entry->image;
  const Manifest &m = image.manifest;
  return fmt::format("{}  {} {} {} d={}x{} mask={} {}", line, image.name,
                     image.arch, m.dtype, m.headDim, m.valueHeadDim, m.mask,
                     image.assembler.empty() ? "PTX alone" : image.assembler);
}

static int list(const DiskCache &cache) {
  uint64_t bytes = 0;
  std::vector<CacheFile> files = cache.list();
  for (const CacheFile &file : files) {
    llvm::outs() << lineOf(file) << '\n';
    bytes += file.bytes;
  }
  llvm::outs() << fmt::format("{} kernels, {} bytes in {}\n", files.size(),
                              bytes, cache.path());
  return 0;
}

static int verify(const DiskCache &cache) {
  size_t damaged = 0;
  std::vector<CacheFile> files = cache.list();
  for (const CacheFile &file : files) {
    llvm::Expected<CacheEntry> entry = DiskCache::read(file.path);
    if (entry)
      continue;
    ++damaged;
    llvm::outs() << file.path << ": " << llvm::toString(entry.takeError())
                 << '\n';
  }
  llvm::outs() << fmt::format("{} kernels, {} damaged\n", files.size(),
                              damaged);
  return damaged ? 1 : 0;
}

static int prune(const DiskCache &cache) {
  DiskCache::Pruned gone = cache.prune(keepBytes);
  llvm::outs() << fmt::format("removed {} files, {} bytes\n", gone.files,
                              gone.bytes);
  return 0;
}

/// LLVM registers flags of its own in every binary.
static void dropForeignFlags() {
  for (cl::SubCommand *command :
       {&cl::SubCommand::getTopLevel(), &listCommand, &verifyCommand,
        &pruneCommand, &pathCommand}) {
    llvm::SmallPtrSet<cl::Option *, 32> foreign;
    for (auto &entry : cl::getRegisteredOptions(*command))
      if (!llvm::is_contained(entry.second->Categories, &category) &&
          !llvm::is_contained({"help", "version"}, entry.first))
        foreign.insert(entry.second);
    for (cl::Option *option : foreign)
      option->removeArgument();
  }
}

int main(int argc, char **argv) {
  dropForeignFlags();
  cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << "flashc-cache " << FLASHC_VERSION << '\n';
  });
  cl::ParseCommandLineOptions(argc, argv,
                              "flashc-cache: the folder of kernels\n");
  std::string folder =
      folderFlag.empty() ? tools::defaultCacheFolder() : folderFlag.getValue();
  if (folder.empty())
    return fail("there is no folder for kernels: FLASHC_CACHE_DIR, "
                "XDG_CACHE_HOME and HOME are not set; give --dir");
  if (pathCommand) {
    llvm::outs() << folder << '\n';
    return 0;
  }
  if (!folderFlag.empty() && !llvm::sys::fs::is_directory(folder))
    return fail("--dir is '" + folder +
                "', but there is no such folder; give one that exists");
  DiskCache cache(folder, 0);
  if (listCommand)
    return list(cache);
  if (verifyCommand)
    return verify(cache);
  if (pruneCommand)
    return prune(cache);
  return fail("no command is given; use list, verify, prune or path (see "
              "flashc-cache --help)");
}
