// A compiled kernel and what its arguments must be. convert-tile-to-cpu leaves
// the latter in the attribute tile.cpu_kernel: grid, scratch bytes, memref
// types.
#include "flashc/Target/CPU.h"

#include "Jit.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace flashc {

static constexpr StringLiteral kAttribute = "tile.cpu_kernel";

static llvm::SmallVector<LLVM::LLVMFuncOp> findKernels(ModuleOp module) {
  llvm::SmallVector<LLVM::LLVMFuncOp> found;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>())
    if (func->hasAttrOfType<DictionaryAttr>(kAttribute) &&
        !func.isDeclaration() && !func.getName().starts_with("_mlir_ciface_"))
      found.push_back(func);
  return found;
}

/// One of the grid's places.
static CpuKernel::Place placeOf(DictionaryAttr facts, StringRef name) {
  auto place = facts.getAs<DenseI64ArrayAttr>(name).asArrayRef();
  if (place.empty())
    return {};
  return {place[0], place[1]};
}

llvm::Error CpuKernel::describe(DictionaryAttr facts) {
  scratch = facts.getAs<IntegerAttr>("scratch_bytes").getInt();
  rows = facts.getAs<IntegerAttr>("rows").getInt();
  batchPlace = placeOf(facts, "batch");
  headsPlace = placeOf(facts, "heads");
  blocksPlace = placeOf(facts, "blocks");
  inOrder = facts.getAs<BoolAttr>("in_order").getValue();
  oneByOne = facts.getAs<BoolAttr>("one_by_one").getValue();
  for (Attribute attribute : facts.getAs<ArrayAttr>("arguments")) {
    auto type = cast<MemRefType>(cast<TypeAttr>(attribute).getValue());
    Parameter parameter;
    parameter.shape.assign(type.getShape().begin(), type.getShape().end());
    parameter.contiguous = type.getLayout().isIdentity();
    int64_t offset = 0;
    if (!parameter.contiguous &&
        failed(type.getStridesAndOffset(parameter.strides, offset)))
      return llvm::createStringError(
          "kernel '%s' has an argument that is not strided; "
          "use strided<...> layouts",
          kernelName.c_str());
    llvm::raw_string_ostream(parameter.type) << type;
    parameters.push_back(std::move(parameter));
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::unique_ptr<CpuKernel>>>
CpuKernel::createAll(ModuleOp module) {
  llvm::SmallVector<LLVM::LLVMFuncOp> funcs = findKernels(module);
  if (funcs.empty())
    return llvm::createStringError(
        "module has no CPU kernel; lower a tile.kernel with buildCPUPipeline");
  auto compiled = compileForHost(module, funcs);
  if (!compiled)
    return compiled.takeError();
  std::shared_ptr<llvm::orc::LLJIT> jit = std::move(*compiled);
  std::vector<std::unique_ptr<CpuKernel>> kernels;
  for (auto [number, func] : llvm::enumerate(funcs)) {
    std::unique_ptr<CpuKernel> kernel(new CpuKernel);
    kernel->kernelName = func.getName();
    if (llvm::Error error =
            kernel->describe(func->getAttrOfType<DictionaryAttr>(kAttribute)))
      return std::move(error);
    auto entry = jit->lookup(packedEntry(number));
    if (!entry)
      return entry.takeError();
    kernel->entry = entry->toPtr<Entry>();
    kernel->jit = jit;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

llvm::Expected<std::unique_ptr<CpuKernel>> CpuKernel::create(ModuleOp module) {
  llvm::SmallVector<LLVM::LLVMFuncOp> funcs = findKernels(module);
  if (funcs.size() > 1)
    return llvm::createStringError(
        "module has two kernels, '%s' and '%s', but CpuKernel is one; "
        "compile them one by one",
        funcs[0].getName().str().c_str(), funcs[1].getName().str().c_str());
  auto kernels = createAll(module);
  if (!kernels)
    return kernels.takeError();
  return std::move(kernels->front());
}

CpuKernel::~CpuKernel() = default;

} // namespace flashc
