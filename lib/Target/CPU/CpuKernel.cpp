// A compiled kernel and what its arguments must be. convert-tile-to-cpu leaves
// the latter in the attribute tile.cpu_kernel: query block, scratch bytes,
// memref types.
#include "flashc/Target/CPU.h"

#include "Jit.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace flashc {

static constexpr StringLiteral kAttribute = "tile.cpu_kernel";

static llvm::Expected<LLVM::LLVMFuncOp> findKernel(ModuleOp module) {
  LLVM::LLVMFuncOp found;
  for (auto func : module.getOps<LLVM::LLVMFuncOp>()) {
    if (!func->hasAttrOfType<DictionaryAttr>(kAttribute) ||
        func.isDeclaration() || func.getName().starts_with("_mlir_ciface_"))
      continue;
    if (found)
      return llvm::createStringError(
          "module has two kernels, '%s' and '%s', but CpuKernel is one; "
          "compile them one by one",
          found.getName().str().c_str(), func.getName().str().c_str());
    found = func;
  }
  if (!found)
    return llvm::createStringError(
        "module has no CPU kernel; lower a tile.kernel with buildCPUPipeline");
  return found;
}

llvm::Expected<std::unique_ptr<CpuKernel>> CpuKernel::create(ModuleOp module) {
  auto func = findKernel(module);
  if (!func)
    return func.takeError();
  std::unique_ptr<CpuKernel> kernel(new CpuKernel);
  auto facts = (*func)->getAttrOfType<DictionaryAttr>(kAttribute);
  kernel->kernelName = func->getName();
  kernel->queryBlock = facts.getAs<IntegerAttr>("q_block").getInt();
  kernel->scratch = facts.getAs<IntegerAttr>("scratch_bytes").getInt();
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
          kernel->kernelName.c_str());
    llvm::raw_string_ostream(parameter.type) << type;
    kernel->parameters.push_back(std::move(parameter));
  }
  auto jit = compileForHost(module, *func);
  if (!jit)
    return jit.takeError();
  kernel->jit = std::move(*jit);
  auto entry = kernel->jit->lookup(kPackedEntry);
  if (!entry)
    return entry.takeError();
  kernel->entry = entry->toPtr<Entry>();
  return kernel;
}

CpuKernel::~CpuKernel() = default;

} // namespace flashc
