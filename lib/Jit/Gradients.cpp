// Gradients: the way from a description through the cache, and the launch.
#include "flashc/Jit/Gradients.h"

#include "flashc/Jit/Context.h"
#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::jit;

Gradients::Gradients(ProgramManifest manifest, Images images, TargetInfo target)
    : info(std::move(manifest)), kernels(std::move(images)),
      targetInfo(std::move(target)) {}

Gradients::Gradients(Images images, TargetInfo target,
                     std::shared_ptr<const Device> device, Program given)
    : info(given.manifest()), kernels(std::move(images)),
      targetInfo(std::move(target)), device(std::move(device)),
      program(std::move(given)) {}

Gradients::Gradients(CpuProgram given, TargetInfo target, unsigned threads)
    : info(given.getManifest()), targetInfo(std::move(target)),
      cpu(std::move(given)), threads(threads) {}

CacheOrigin Gradients::origin() const {
  return kernels.empty() ? CacheOrigin::Compiled : kernels.front().origin;
}

llvm::Expected<size_t>
Gradients::workspaceBytes(const llvm::StringMap<ArrayArg> &arrays) const {
  if (cpu)
    return 0;
  if (program)
    return program->workspaceBytes(arrays);
  return makeError("the gradients were compiled for {} without a device; make "
                   "the context with a device to run them",
                   targetInfo.arch);
}

/// What a launch on a device checks of its arrays.
static llvm::Error checkOnCPU(const ProgramManifest &program,
                              const llvm::StringMap<ArrayArg> &arrays) {
  llvm::Expected<ProgramSizes> sizes = problemSizes(program, arrays);
  if (!sizes)
    return sizes.takeError();
  for (const ProgramKernel &kernel : program.kernels) {
    Manifest manifest;
    std::vector<ArrayArg> args;
    for (const KernelParam &param : kernel.params) {
      auto at = arrays.find(param.name);
      if (at == arrays.end())
        continue; // a workspace, or it is missing and the run says so
      manifest.params.push_back(param);
      args.push_back(at->second);
    }
    // It reads single elements.
    manifest.alignment = program.dtype == "f32" ? 4 : 2;
    auto packed = packArrays(kernel.name, manifest, args);
    if (!packed)
      return packed.takeError();
  }
  return llvm::Error::success();
}

llvm::Error Gradients::launch(const llvm::StringMap<ArrayArg> &arrays,
                              cuda::Pointer workspace,
                              cuda::StreamHandle stream) const {
  if (cpu) {
    if (llvm::Error error = checkOnCPU(info, arrays))
      return error;
    llvm::StringMap<CpuArgument> list;
    for (const auto &array : arrays)
      list[array.first()] = {reinterpret_cast<void *>(array.second.pointer),
                             array.second.shape, array.second.strides};
    return cpu->run(list, threads);
  }
  llvm::Expected<size_t> bytes = workspaceBytes(arrays);
  if (!bytes)
    return bytes.takeError();
  if (*bytes && workspace % 16 != 0)
    return makeError("the gradients' workspace is at {:#x}, but has to be at a "
                     "multiple of 16 bytes; move it",
                     workspace);
  llvm::Expected<PackedProgram> packed = program->pack(arrays, workspace);
  if (!packed)
    return packed.takeError();
  return program->launch(*packed, stream);
}

namespace {
/// The kernels of one program through the cache: each has an entry of its own,
/// whose manifest holds that of the program. Whoever compiles the first one
/// compiles all, and stores the others before the first is seen.
class CachedProgram {
public:
  CachedProgram(KernelCache &cache, const CacheKey &key,
                llvm::function_ref<llvm::Expected<ProgramImage>()> compile)
      : cache(cache), key(key), compile(compile) {}

  llvm::Expected<CachedKernel> get(size_t number) {
    CacheKey own(fmt::format("{}\nkernel {}", key.text(), number));
    return cache.getOrCompile(
        own, [&](const CacheKey &) { return compileOne(number); });
  }

private:
  llvm::Expected<KernelImage> compileOne(size_t number) {
    bool isFirst = !compiled;
    if (isFirst) {
      llvm::Expected<ProgramImage> made = compile();
      if (!made)
        return made.takeError();
      compiled = std::move(*made);
    }
    for (size_t other = 1;
         isFirst && number == 0 && other < compiled->kernels.size(); ++other) {
      llvm::Expected<CachedKernel> stored = get(other);
      if (!stored)
        return stored.takeError();
    }
    if (number >= compiled->kernels.size())
      return makeError("gradients have {} kernels, but kernel {} is asked for",
                       compiled->kernels.size(), number);
    return compiled->kernels[number];
  }

  KernelCache &cache;
  const CacheKey &key;
  llvm::function_ref<llvm::Expected<ProgramImage>()> compile;
  std::optional<ProgramImage> compiled;
};
} // namespace

llvm::Expected<std::shared_ptr<const Gradients>>
Context::compileGradients(const KernelSpec &spec,
                          const ProgressFunction &progress) {
  if (!spec.gradients)
    return makeError("the description asks for no gradients; say which");
  auto found = programs.get(
      spec, [&] { return makeGradients(spec, progress); },
      [](const GradientsPointer &) { return uint64_t(1); });
  if (!found)
    return found.takeError();
  return std::move(found->value);
}

llvm::Expected<std::shared_ptr<const Gradients>>
Context::makeGradients(const KernelSpec &spec,
                       const ProgressFunction &progress) {
  auto begin = [&](Step step) {
    if (progress)
      progress(step);
  };
  begin(Step::LookUp);
  std::unique_ptr<mlir::MLIRContext> context = makeContext();
  auto module = buildModule(spec, *context);
  if (!module)
    return module.takeError();
  CompileOptions compileOptions = optionsFor(spec, info, sram);
  if (info.isCPU) {
    begin(Step::Lower);
    llvm::Expected<CpuProgram> program =
        compileProgramToCPU(**module, compileOptions);
    if (!program)
      return program.takeError();
    return std::make_shared<const Gradients>(std::move(*program), info,
                                             options.threads);
  }
  llvm::Expected<const Assembler *> assembler = this->assembler();
  if (!assembler)
    return assembler.takeError();
  llvm::Expected<CacheKey> key =
      keyOf(**module, compileOptions, *assembler ? (*assembler)->name() : "");
  if (!key)
    return key.takeError();
  auto compileAll = [&] {
    begin(Step::Lower);
    return compileProgramToGPU(**module, compileOptions, *assembler);
  };
  CachedProgram cached(cache, *key, compileAll);
  ProgramImage image;
  Gradients::Images kernels;
  do {
    llvm::Expected<CachedKernel> kernel = cached.get(kernels.size());
    if (!kernel)
      return kernel.takeError();
    if (kernels.empty()) {
      llvm::Expected<ProgramManifest> manifest =
          ProgramManifest::parse(kernel->image->manifest.program);
      if (!manifest)
        return manifest.takeError();
      image.manifest = std::move(*manifest);
    }
    kernels.push_back(std::move(*kernel));
  } while (kernels.size() < image.manifest.kernels.size());
  begin(Step::Load);
  if (!device)
    return std::make_shared<const Gradients>(std::move(image.manifest),
                                             std::move(kernels), info);
  for (const CachedKernel &kernel : kernels)
    image.kernels.push_back(*kernel.image);
  llvm::Expected<Program> program = Program::load(*device, image);
  if (!program)
    return program.takeError();
  return std::make_shared<const Gradients>(std::move(kernels), info, device,
                                           std::move(*program));
}
