#include "common/Environment.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <cstdlib>

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
