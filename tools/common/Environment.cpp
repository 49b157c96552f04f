#include "common/Environment.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace flashc;

std::string tools::defaultCacheFolder() {
  if (const char *folder = std::getenv("FLASHC_CACHE_DIR"); folder && *folder)
    return folder;
  llvm::SmallString<128> path;
  if (!llvm::sys::path::cache_directory(path)) // XDG's rules
    return "";
  llvm::sys::path::append(path, "flashc");
  return path.str().str();
}

std::string tools::findPtxas() {
  if (auto path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  if (auto path =
          llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *path;
  return "";
}

std::string tools::findPtxCompiler() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&tools::findPtxCompiler), &info))
    return "";
  llvm::SmallString<128> self;
  if (llvm::sys::fs::real_path(info.dli_fname, self))
    return "";
  for (llvm::StringRef folder : {".", "../lib", "../../lib"}) {
    llvm::SmallString<128> path = llvm::sys::path::parent_path(self);
    llvm::sys::path::append(path, folder, "libflashc-ptx-compiler.so");
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}
