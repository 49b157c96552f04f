// Running the kernels of a program: arrays by name, and the workspace that they
// share.
#include "flashc/Target/CPU/Program.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

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

static int64_t elements(llvm::ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
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
  llvm::Expected<ProgramSizes> sizes() const;

  const ProgramManifest &manifest;
  const llvm::StringMap<CpuArgument> &arrays;
  llvm::StringMap<CpuArgument> workspaces;
  std::vector<std::vector<float>> memory;
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

llvm::Expected<ProgramSizes> Run::sizes() const {
  ProgramSizes result;
  for (llvm::StringRef name : {"q", "k"}) {
    auto array = find(name.str(), manifest.kernels.front().name);
    if (!array)
      return array.takeError();
    if (array->sizes.size() != 4)
      return makeError("array '{}' has rank {}, but needs 4 (batch, head, "
                       "length, head dim); reshape it",
                       name.str(), array->sizes.size());
    bool isQuery = name == "q";
    result.batch = array->sizes[0];
    (isQuery ? result.heads : result.kvHeads) = array->sizes[1];
    (isQuery ? result.queries : result.keys) = array->sizes[2];
  }
  for (size_t i = 0; i < manifest.captures.size(); ++i) {
    auto array = find("capture" + std::to_string(i), manifest.captures[i]);
    if (!array)
      return array.takeError();
    result.captures.push_back(elements(array->sizes));
  }
  return result;
}

llvm::Error Run::addWorkspaces() {
  auto problem = sizes();
  if (!problem)
    return problem.takeError();
  for (const Workspace &workspace : manifest.workspaces) {
    auto size = workspaceSizes(workspace, *problem);
    if (!size)
      return size.takeError();
    memory.emplace_back(elements(*size)); // zeros, all of them
    workspaces[workspace.name] = {memory.back().data(), *size, {}};
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
