// Running the kernels of a program: arrays by name, and the workspace that they
// share.
#include "flashc/Target/CPU/Program.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace flashc;

llvm::Expected<CpuProgram> CpuProgram::create(mlir::ModuleOp module,
                                              ProgramManifest manifest) {
  auto kernels = CpuKernel::createAll(module);
  if (!kernels)
    return kernels.takeError();
  if (kernels->size() != manifest.kernels.size())
    return makeError(
        "module has {} CPU kernels, but its manifest {}; take both "
        "from one compilation",
        kernels->size(), manifest.kernels.size());
  CpuProgram program;
  program.manifest = std::move(manifest);
  program.kernels = std::move(*kernels);
  return program;
}

namespace {
/// The arrays of one run.
class Run {
public:
  Run(const ProgramManifest &manifest,
      const llvm::StringMap<CpuArgument> &arrays)
      : manifest(manifest), arrays(arrays) {}

  llvm::Error addWorkspaces();
  llvm::Expected<std::vector<CpuArgument>>
  argumentsOf(const ProgramKernel &kernel) const;

private:
  llvm::Expected<CpuArgument> find(const std::string &name,
                                   const std::string &reader) const;

  const ProgramManifest &manifest;
  const llvm::StringMap<CpuArgument> &arrays;
  llvm::StringMap<CpuArgument> workspaces;
  std::vector<std::unique_ptr<float[]>> memory;
};
} // namespace

llvm::Expected<CpuArgument> Run::find(const std::string &name,
                                      const std::string &reader) const {
  if (auto at = workspaces.find(name); at != workspaces.end())
    return at->second;
  if (auto at = arrays.find(name); at != arrays.end())
    return at->second;
  return makeError(
      "kernel '{}' takes the array '{}', but there is none of that "
      "name; pass it",
      reader, name);
}

llvm::Error Run::addWorkspaces() {
  llvm::Expected<ProgramSizes> problem = problemSizes(
      manifest,
      [&](llvm::StringRef name) -> std::optional<llvm::ArrayRef<int64_t>> {
        auto at = arrays.find(name);
        if (at == arrays.end())
          return std::nullopt;
        return at->second.sizes;
      });
  if (!problem)
    return problem.takeError();
  for (int64_t capture : manifest.zeroedGradients) {
    auto gradient = arrays.find(ProgramManifest::gradientOf(capture));
    if (gradient != arrays.end()) // one that is missing is said later
      std::memset(gradient->second.data, 0,
                  manifest.getGradientBytes(capture, *problem));
  }
  for (const Workspace &workspace : manifest.workspaces) {
    auto size = workspaceSizes(workspace, *problem);
    if (!size)
      return size.takeError();
    llvm::Expected<int64_t> count = countElements(workspace.name, *size);
    if (!count)
      return count.takeError();
    // Zeros, all of them.
    memory.emplace_back(new (std::nothrow) float[size_t(*count)]());
    if (!memory.back())
      return makeError("the gradients' workspace '{}' takes {} bytes, which "
                       "there are not; split the batch",
                       workspace.name, *count * int64_t(sizeof(float)));
    workspaces[workspace.name] = {memory.back().get(), *size, {}};
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<CpuArgument>>
Run::argumentsOf(const ProgramKernel &kernel) const {
  std::vector<CpuArgument> list;
  for (const std::string &name : kernel.arguments) {
    auto array = find(name, kernel.name);
    if (!array)
      return array.takeError();
    list.push_back(*array);
  }
  return list;
}

llvm::Error CpuProgram::run(const llvm::StringMap<CpuArgument> &arrays,
                            unsigned threads) const {
  Run run(manifest, arrays);
  if (llvm::Error error = run.addWorkspaces())
    return error;
  std::vector<std::vector<CpuArgument>> arguments;
  for (auto [kernel, description] :
       llvm::zip_equal(kernels, manifest.kernels)) {
    auto list = run.argumentsOf(description);
    if (!list)
      return list.takeError();
    if (llvm::Error error = kernel->check(*list))
      return error;
    arguments.push_back(std::move(*list));
  }
  for (auto [kernel, list] : llvm::zip_equal(kernels, arguments))
    if (llvm::Error error = kernel->run(list, threads))
      return error;
  return llvm::Error::success();
}
