//===- Program.cpp - Arrays by name, workspaces, launches -----------------===//
//
// In: a program's image and arrays by name. Out: its kernels run one after the
// other. Workspaces stand one behind the other in the caller's memory.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Program.h"

#include "flashc/Support/Error.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace flashc;

/// Workspaces start at multiples of this.
static constexpr size_t kAlignment = 256;

llvm::Expected<ProgramSizes>
flashc::problemSizes(const ProgramManifest &manifest,
                     const llvm::StringMap<ArrayArg> &arrays) {
  return problemSizes(
      manifest,
      [&](llvm::StringRef name) -> std::optional<llvm::ArrayRef<int64_t>> {
        auto at = arrays.find(name);
        if (at == arrays.end())
          return std::nullopt;
        return at->second.shape;
      });
}

llvm::Expected<Program> Program::load(const Device &device,
                                      const ProgramImage &image) {
  if (image.kernels.size() != image.manifest.kernels.size())
    return makeError("program has {} kernels, but its manifest {}; take both "
                     "from one compilation",
                     image.kernels.size(), image.manifest.kernels.size());
  Program program;
  program.device = &device;
  program.info = image.manifest;
  for (const KernelImage &kernel : image.kernels) {
    llvm::Expected<Module> module = Module::load(device, kernel);
    if (!module)
      return module.takeError();
    program.kernels.push_back(std::move(*module));
  }
  return program;
}

static llvm::Expected<ArrayArg> lookUp(const llvm::StringMap<ArrayArg> &arrays,
                                       const std::string &name) {
  auto at = arrays.find(name);
  if (at != arrays.end())
    return at->second;
  return makeError("the gradients take the array '{}', but there is none of "
                   "that name; pass it",
                   name);
}

namespace {
/// The arrays of one launch, workspaces among them.
struct Placed {
  llvm::StringMap<ArrayArg> arrays;
  std::vector<std::pair<cuda::Pointer, size_t>> zeroed;
  size_t bytes = 0;
};
} // namespace

static llvm::Expected<Placed> place(const ProgramManifest &manifest,
                                    const llvm::StringMap<ArrayArg> &arrays,
                                    cuda::Pointer workspace) {
  llvm::Expected<ProgramSizes> sizes = problemSizes(manifest, arrays);
  if (!sizes)
    return sizes.takeError();
  Placed placed{arrays, {}, 0};
  for (int64_t capture : manifest.zeroedGradients) {
    auto gradient = arrays.find(ProgramManifest::gradientOf(capture));
    size_t bytes = manifest.getGradientBytes(capture, *sizes);
    if (gradient != arrays.end() && bytes) // one that is missing is said later
      placed.zeroed.push_back({gradient->second.pointer, bytes});
  }
  for (const Workspace &space : manifest.workspaces) {
    auto shape = workspaceSizes(space, *sizes);
    if (!shape)
      return shape.takeError();
    ArrayArg array{workspace + placed.bytes, *shape, {}};
    array.strides.resize(shape->size());
    int64_t stride = 1;
    for (size_t n = shape->size(); n-- > 0; stride *= (*shape)[n])
      array.strides[n] = stride;
    llvm::Expected<int64_t> count = countElements(space.name, *shape);
    if (!count)
      return count.takeError();
    size_t bytes = size_t(*count) * sizeof(float);
    if (space.zeroed && bytes)
      placed.zeroed.push_back({array.pointer, bytes});
    placed.arrays[space.name] = std::move(array);
    placed.bytes += llvm::alignTo(bytes, kAlignment);
  }
  return placed;
}

llvm::Expected<size_t>
Program::workspaceBytes(const llvm::StringMap<ArrayArg> &arrays) const {
  llvm::Expected<Placed> placed = place(info, arrays, 0);
  if (!placed)
    return placed.takeError();
  return placed->bytes;
}

/// Blocks of a kernel's grid.
static llvm::Expected<uint32_t> countBlocks(const ProgramKernel &kernel,
                                            llvm::ArrayRef<ArrayArg> args) {
  auto sizeOf = [&](const GridPlace &place) {
    return place.param < 0 ? 1 : args[place.param].shape[place.dim];
  };
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  int64_t pairs = sizeOf(kernel.batch) * sizeOf(kernel.heads);
  int64_t blocks = llvm::divideCeil(sizeOf(kernel.blocks), kernel.rows);
  int64_t all = 0;
  if (llvm::MulOverflow(pairs, blocks, all) || all > kMost)
    return makeError("kernel '{}': {} heads of all batches x {} blocks are "
                     "more than the {} blocks of a grid; split the batch",
                     kernel.name, pairs, blocks, kMost);
  return static_cast<uint32_t>(all);
}

llvm::Expected<PackedProgram>
Program::pack(const llvm::StringMap<ArrayArg> &arrays,
              cuda::Pointer workspace) const {
  llvm::Expected<Placed> placed = place(info, arrays, workspace);
  if (!placed)
    return placed.takeError();
  Device::Current current(*device); // to look at addresses
  if (llvm::Error error = current.check())
    return std::move(error);
  PackedProgram packed;
  packed.zeroed = placed->zeroed;
  llvm::StringSet<> checked; // a call of the driver each
  for (auto [kernel, module] : llvm::zip_equal(info.kernels, kernels)) {
    std::vector<ArrayArg> args;
    for (const std::string &name : kernel.arguments) {
      llvm::Expected<ArrayArg> array = lookUp(placed->arrays, name);
      if (!array)
        return array.takeError();
      // A tensor map has one row at least, which a kernel may load for nothing.
      if (llvm::is_contained(array->shape, 0))
        array->pointer = workspace;
      args.push_back(std::move(*array));
    }
    auto arguments = packArrays(kernel.name, module.manifest(), args);
    if (!arguments)
      return arguments.takeError();
    if (llvm::Error error =
            packTensorMaps(kernel.name, module.manifest(), args, *arguments))
      return std::move(error);
    for (auto [name, array] : llvm::zip_equal(kernel.arguments, args))
      if (!llvm::is_contained(array.shape, 0) && checked.insert(name).second)
        if (llvm::Error error = device->checkReadable(array.pointer))
          return makeError("array '{}': {}", name,
                           llvm::toString(std::move(error)));
    llvm::Expected<uint32_t> grid = countBlocks(kernel, args);
    if (!grid)
      return grid.takeError();
    arguments->grid = *grid;
    arguments->threads = static_cast<uint32_t>(module.manifest().threads());
    packed.kernels.push_back(std::move(*arguments));
  }
  return packed;
}

llvm::Error Program::launch(const PackedProgram &packed,
                            cuda::StreamHandle stream) const {
  {
    Device::Current current(*device);
    if (llvm::Error error = current.check())
      return error;
    for (auto [pointer, bytes] : packed.zeroed)
      if (llvm::Error error = device->driver().check(
              device->driver().memsetD8Async(pointer, 0, bytes, stream),
              "the gradients' workspace", "cuMemsetD8Async",
              "an earlier kernel may have failed: run it under "
              "compute-sanitizer"))
        return error;
  }
  // The first one waits for what the stream had before, of whatever kind.
  bool isFirst = true;
  for (auto [module, arguments, kernel] :
       llvm::zip_equal(kernels, packed.kernels, info.kernels)) {
    if (llvm::Error error =
            module.launch(arguments, stream, !isFirst && kernel.waits))
      return error;
    isFirst &= arguments.grid == 0;
  }
  return llvm::Error::success();
}
