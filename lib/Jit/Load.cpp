// Kernels compiled before, from files.
#include "flashc/Jit/Context.h"

#include "flashc/Support/Error.h"
#include "flashc/Support/KernelFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace flashc;
using namespace flashc::jit;
namespace fs = llvm::sys::fs;

bool Context::runsHere(const KernelImage &image) const {
  llvm::Expected<TargetInfo> target = lookupTarget(image.arch);
  if (!target) {
    llvm::consumeError(target.takeError());
    return false;
  }
  if (target->isCPU)
    return false;
  if (!device)
    return target->arch == info.arch;
  bool cubinRuns = !image.cubin.empty() && target->sm == device->sm();
  bool ptxRuns =
      !image.ptx.empty() && (target->hasRoles ? target->sm == device->sm()
                                              : target->sm <= device->sm());
  return cubinRuns || ptxRuns;
}

/// The manifests of a folder, sorted. A kernel called `name` has files that
/// begin with it, up to the first point.
static std::vector<std::string> manifestsIn(const std::string &folder,
                                            llvm::StringRef name) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error)) {
    llvm::StringRef file = llvm::sys::path::filename(it->path());
    if (file.ends_with(".json") &&
        (name.empty() || file.split('.').first == name))
      out.push_back(it->path());
  }
  llvm::sort(out);
  return out;
}

/// sm_90a before sm_90.
static int ageOf(const KernelImage &image) {
  TargetInfo target = llvm::cantFail(lookupTarget(image.arch));
  return 2 * target.sm + target.hasRoles;
}

llvm::Expected<std::shared_ptr<const Kernel>>
Context::load(const std::string &path, const std::string &name) {
  auto kernelOf = [&](KernelImage image) {
    return loadImage({std::make_shared<const KernelImage>(std::move(image)),
                      CacheOrigin::Disk});
  };
  if (!fs::is_directory(path)) {
    llvm::Expected<KernelImage> image = readKernelFiles(path);
    if (!image)
      return image.takeError();
    return kernelOf(std::move(*image));
  }
  std::optional<KernelImage> best;
  std::string archs, stem;
  for (const std::string &file : manifestsIn(path, name)) {
    llvm::Expected<KernelImage> image = readKernelFiles(file);
    if (!image)
      return image.takeError();
    llvm::StringRef called = llvm::sys::path::filename(file).split('.').first;
    if (name.empty() && !stem.empty() && called != stem)
      return makeError("folder '{}' has kernels '{}' and '{}'; say which to "
                       "load",
                       path, stem, called.str());
    stem = called.str();
    archs += (archs.empty() ? "" : ", ") + image->arch;
    if (runsHere(*image) && (!best || ageOf(*image) > ageOf(*best)))
      best = std::move(*image);
  }
  if (best)
    return kernelOf(std::move(*best));
  std::string here =
      device ? fmt::format("{} (sm_{})", device->name(), device->sm())
             : info.arch;
  if (archs.empty())
    return makeError("folder '{}' has no kernel '{}'; ship {}.json and its "
                     "code",
                     path, name, name.empty() ? "NAME" : name);
  return makeError(
      "folder '{}' has the kernel '{}' for {}, but {} runs none of "
      "them; compile it for this target",
      path, stem, archs, here);
}
