// A description's way: kernels at hand, cache, compiler, device.
#include "flashc/Jit/Context.h"

#include "flashc/Support/Error.h"

using namespace flashc;
using namespace flashc::jit;

static unsigned threadsOf(const ContextOptions &options) {
  return options.threads ? options.threads
                         : std::max(1u, std::thread::hardware_concurrency());
}

Context::Context(ContextOptions given)
    : options(std::move(given)), cache(options.cache),
      kernels(options.maxKernels), programs(options.maxKernels),
      workers(std::make_unique<Workers>(threadsOf(options))) {}

Context::~Context() = default;

llvm::Expected<std::shared_ptr<Context>>
Context::create(ContextOptions options,
                std::shared_ptr<const cuda::Driver> driver) {
  std::shared_ptr<Context> context(new Context(std::move(options)));
  if (llvm::Error error = context->open(std::move(driver)))
    return std::move(error);
  return context;
}

llvm::Error Context::open(std::shared_ptr<const cuda::Driver> driver) {
  bool onDevice =
      options.target != "cpu" && (options.device >= 0 || options.cudaContext);
  if (!onDevice && options.target.empty())
    return makeError("neither a target nor a device is given; give a target "
                     "such as sm_80 or cpu, or the number of a GPU");
  if (onDevice) {
    if (!driver) {
      auto loaded = cuda::Driver::load();
      if (!loaded)
        return loaded.takeError();
      driver = std::move(*loaded);
    }
    auto attached =
        Device::attach(std::move(driver), options.device, options.cudaContext);
    if (!attached)
      return attached.takeError();
    device = std::move(*attached);
  }
  if (options.target.empty()) {
    llvm::Expected<std::string> arch = newestArchFor(device->sm());
    if (!arch)
      return arch.takeError();
    options.target = *arch;
  }
  llvm::Expected<TargetInfo> target = lookupTarget(options.target);
  if (!target)
    return target.takeError();
  info = std::move(*target);
  sram = info.sharedBytesPerBlock;
  if (device)
    sram = std::min(sram, device->sharedBytesPerBlock());
  return llvm::Error::success();
}

/// Whether cubins for `target` run on the device.
static bool takesCubins(const TargetInfo &target, const Device *device) {
  return !device || target.sm == device->sm();
}

llvm::Expected<const Assembler *> Context::assembler() {
  if (!takesCubins(info, device.get()))
    return nullptr;
  std::lock_guard guard(mutex);
  if (!assemblerOpened) {
    auto opened = openAssembler(options.assembler);
    if (!opened)
      return opened.takeError();
    openedAssembler = std::move(*opened);
    assemblerOpened = true;
  }
  return openedAssembler.get();
}

llvm::Expected<std::shared_ptr<const Kernel>>
Context::compile(const KernelSpec &spec, const ProgressFunction &progress) {
  auto found = kernels.get(
      spec, [&] { return make(spec, progress); },
      [](const KernelPointer &) { return uint64_t(1); });
  if (!found)
    return found.takeError();
  return std::move(found->value);
}

/// The step of the compiler's stage.
static Step stepOf(Stage stage) {
  return stage == Stage::PTX     ? Step::Emit
         : stage == Stage::Cubin ? Step::Assemble
                                 : Step::Lower;
}

llvm::Expected<std::shared_ptr<const Kernel>>
Context::make(const KernelSpec &spec, const ProgressFunction &progress) {
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
    return makeOnCPU(**module, compileOptions);
  }
  llvm::Expected<const Assembler *> assembler = this->assembler();
  if (!assembler)
    return assembler.takeError();
  llvm::Expected<CacheKey> key =
      keyOf(**module, compileOptions, *assembler ? (*assembler)->name() : "");
  if (!key)
    return key.takeError();
  llvm::Expected<CachedKernel> kernel =
      cache.getOrCompile(*key, [&](const CacheKey &) {
        return compileToGPU(**module, compileOptions, *assembler,
                            [&](Stage stage) { begin(stepOf(stage)); });
      });
  if (!kernel)
    return kernel.takeError();
  begin(Step::Load);
  return loadImage(std::move(*kernel));
}

llvm::Expected<std::shared_ptr<const Kernel>>
Context::makeOnCPU(mlir::ModuleOp module, const CompileOptions &options) {
  Manifest manifest;
  auto kernel = compileToCPU(module, options, &manifest);
  if (!kernel)
    return kernel.takeError();
  std::string name = (*kernel)->name();
  name.resize(llvm::StringRef(name).rfind('.')); // "attention.cpu"
  return std::make_shared<const Kernel>(std::move(name), std::move(manifest),
                                        info, std::move(*kernel),
                                        this->options.threads);
}

llvm::Expected<std::shared_ptr<const Kernel>>
Context::loadImage(CachedKernel kernel) const {
  llvm::Expected<TargetInfo> target = lookupTarget(kernel.image->arch);
  if (!target)
    return target.takeError();
  if (!device)
    return std::make_shared<const Kernel>(std::move(kernel),
                                          std::move(*target));
  llvm::Expected<Module> module = Module::load(*device, *kernel.image);
  if (!module)
    return module.takeError();
  return std::make_shared<const Kernel>(std::move(kernel), std::move(*target),
                                        device, std::move(*module));
}

std::shared_ptr<Pending> Context::compileAsync(KernelSpec spec,
                                               ProgressFunction progress) {
  auto pending = std::make_shared<Pending>();
  workers->add([this, pending, spec = std::move(spec),
                progress = std::move(progress)](bool mayRun) {
    if (mayRun)
      pending->finish(compile(spec, progress));
    else
      pending->finish(makeError("the context was freed before this kernel was "
                                "compiled; keep it until the kernel is there"));
  });
  return pending;
}
