//===- Program.cpp - Arrays by name, workspaces, launches -----------------===//
//
// In: a program's image and arrays by name. Out: its kernels run one after the
// other. Workspaces stand one behind the other in the caller's memory.
//
//===----------------------------------------------------------------------===//
#include "flashc/Runtime/Program.h"

#include "flashc/Support/Error.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace flashc;

/// Workspaces start at multiples of this.
static constexpr size_t kAlignment = 256;

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

static size_t elements(llvm::ArrayRef<int64_t> sizes) {
  size_t count = 1;
  for (int64_t size : sizes)
    count *= size_t(size);
  return count;
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

static llvm::Expected<ProgramSizes>
sizesOf(const ProgramManifest &manifest,
        const llvm::StringMap<ArrayArg> &arrays) {
  ProgramSizes result;
  for (const char *name : {"q", "k"}) {
    llvm::Expected<ArrayArg> array = lookUp(arrays, name);
    if (!array)
      return array.takeError();
    if (array->shape.size() != 4)
      return makeError("array '{}' has rank {}, but needs 4 (batch, head, "
                       "length, head dim); reshape it",
                       name, array->shape.size());
    bool isQuery = name[0] == 'q';
    result.batch = array->shape[0];
    (isQuery ? result.heads : result.kvHeads) = array->shape[1];
    (isQuery ? result.queries : result.keys) = array->shape[2];
  }
  for (size_t i = 0; i < manifest.captures.size(); ++i) {
    llvm::Expected<ArrayArg> array =
        lookUp(arrays, "capture" + std::to_string(i));
    if (!array)
      return array.takeError();
    result.captures.push_back(int64_t(elements(array->shape)));
  }
  return result;
}

/// The shapes that arrays of one problem have.
static llvm::Error checkShapes(const llvm::StringMap<ArrayArg> &arrays,
                               const ProgramSizes &s) {
  if (s.kvHeads == 0 ? s.heads != 0 : s.heads % s.kvHeads != 0)
    return makeError("{} query heads cannot share {} key heads; make the first "
                     "a multiple of the second",
                     s.heads, s.kvHeads);
  for (llvm::StringRef name :
       {"q", "o", "do", "lse", "dlse", "dq", "k", "v", "dk", "dv"}) {
    auto at = arrays.find(name);
    if (at == arrays.end())
      continue; // packing asks for those that are needed
    bool isKey = name.ends_with("k") || name.ends_with("v");
    int64_t want[] = {s.batch, isKey ? s.kvHeads : s.heads,
                      isKey ? s.keys : s.queries};
    for (size_t dim = 0; dim < 3 && dim < at->second.shape.size(); ++dim)
      if (at->second.shape[dim] != want[dim])
        return makeError("array '{}': dimension {} has size {}, but {} is "
                         "needed beside the other arrays; pass arrays of one "
                         "problem",
                         name.str(), dim, at->second.shape[dim], want[dim]);
  }
  auto lengths = arrays.find("kv_lengths");
  if (lengths != arrays.end() && lengths->second.shape.size() == 1 &&
      lengths->second.shape[0] != s.batch)
    return makeError("array 'kv_lengths' has {} lengths, but there are {} "
                     "batches; give one for each",
                     lengths->second.shape[0], s.batch);
  return llvm::Error::success();
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
  llvm::Expected<ProgramSizes> sizes = sizesOf(manifest, arrays);
  if (!sizes)
    return sizes.takeError();
  if (llvm::Error error = checkShapes(arrays, *sizes))
    return std::move(error);
  Placed placed{arrays, {}, 0};
  for (const Workspace &space : manifest.workspaces) {
    auto shape = workspaceSizes(space, *sizes);
    if (!shape)
      return shape.takeError();
    ArrayArg array{workspace + placed.bytes, *shape, {}};
    array.strides.resize(shape->size());
    int64_t stride = 1;
    for (size_t n = shape->size(); n-- > 0; stride *= (*shape)[n])
      array.strides[n] = stride;
    size_t bytes = elements(*shape) * sizeof(float);
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
  PackedProgram packed;
  packed.zeroed = placed->zeroed;
  for (auto [kernel, module] : llvm::zip_equal(info.kernels, kernels)) {
    std::vector<ArrayArg> args;
    for (const std::string &name : kernel.arguments) {
      llvm::Expected<ArrayArg> array = lookUp(placed->arrays, name);
      if (!array)
        return array.takeError();
      args.push_back(std::move(*array));
    }
    auto arguments = packArrays(kernel.name, module.manifest(), args);
    if (!arguments)
      return arguments.takeError();
    if (llvm::Error error =
            packTensorMaps(kernel.name, module.manifest(), args, *arguments))
      return std::move(error);
    for (auto [name, array] : llvm::zip_equal(kernel.arguments, args))
      if (!llvm::is_contained(array.shape, 0))
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
  for (auto [module, arguments] : llvm::zip_equal(kernels, packed.kernels))
    if (llvm::Error error = module.launch(arguments, stream))
      return error;
  return llvm::Error::success();
}
