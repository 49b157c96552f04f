// A kernel's launch. What was found out about the arrays of one launch is kept
// for the next, which most often has the same.
#include "flashc/Jit/Kernel.h"

#include "flashc/Compiler/MaskText.h"
#include "flashc/Compiler/Module.h"
#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::jit;

Kernel::Kernel(CachedKernel kernel, TargetInfo target)
    : kernel(std::move(kernel)), target(std::move(target)) {}

Kernel::Kernel(CachedKernel kernel, TargetInfo target,
               std::shared_ptr<const Device> device, Module module)
    : kernel(std::move(kernel)), target(std::move(target)),
      device(std::move(device)), module(std::move(module)) {}

Kernel::Kernel(std::string name, Manifest manifest, TargetInfo target,
               std::unique_ptr<CpuKernel> cpu, unsigned threads)
    : target(std::move(target)), cpu(std::move(cpu)), threads(threads) {
  KernelImage image{
      std::move(name), this->target.arch, "", "", std::move(manifest), ""};
  // It reads single elements.
  image.manifest.alignment = image.manifest.dtype == "f32" ? 4 : 2;
  kernel = {std::make_shared<const KernelImage>(std::move(image)),
            CacheOrigin::Compiled};
}

int64_t Kernel::registers() const {
  return module ? module->registers() : manifest().registers;
}

int64_t Kernel::spillBytes() const {
  return module ? module->localBytes() : manifest().spillBytes;
}

llvm::Error Kernel::launch(llvm::ArrayRef<ArrayArg> args,
                           cuda::StreamHandle stream) const {
  if (cpu)
    return runOnCPU(args);
  if (!module)
    return makeError("kernel '{}' was compiled for {} without a device; make "
                     "the context with a device to launch it",
                     image().name, image().arch);
  std::shared_ptr<const Prepared> prepared;
  {
    std::lock_guard guard(mutex);
    prepared = last;
  }
  if (!prepared || llvm::ArrayRef(prepared->args) != args) {
    auto made = prepare(args);
    if (!made)
      return made.takeError();
    prepared = std::move(*made);
  }
  return module->launch(prepared->packed, stream);
}

llvm::Expected<std::shared_ptr<const Kernel::Prepared>>
Kernel::prepare(llvm::ArrayRef<ArrayArg> args) const {
  llvm::Expected<PackedArguments> packed = module->pack(args);
  if (!packed)
    return packed.takeError();
  auto made = std::make_shared<Prepared>();
  made->args.assign(args.begin(), args.end());
  made->packed = std::move(*packed);
  std::lock_guard guard(mutex);
  last = made;
  return made;
}

llvm::Error Kernel::runOnCPU(llvm::ArrayRef<ArrayArg> args) const {
  llvm::Expected<PackedArguments> packed =
      packArguments(image().name, manifest(), args);
  if (!packed)
    return packed.takeError();
  auto together = packHeads(manifest(), args);
  if (together)
    args = *together;
  llvm::SmallVector<CpuArgument, 8> list;
  for (const ArrayArg &arg : args)
    list.push_back(
        {reinterpret_cast<void *>(arg.pointer), arg.shape, arg.strides});
  return cpu->run(list, threads);
}

llvm::Expected<std::string> Kernel::explain(const ProblemSize &size) const {
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  context->loadDialect<attn::AttnDialect>();
  llvm::Expected<mlir::Attribute> mask = parseMask(manifest().mask, *context);
  if (!mask)
    return mask.takeError();
  Manifest loaded = manifest();
  loaded.registers = registers();
  loaded.spillBytes = spillBytes();
  return flashc::explain(loaded, *mask, target, size);
}
