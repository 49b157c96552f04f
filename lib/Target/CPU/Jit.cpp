// The end of the CPU path: the LLVM dialect to LLVM IR, LLVM's own optimizer
// for this very machine, and ORC. A module that buildCPUPipeline made comes in.
#include "Jit.h"

#include "flashc/Target/CPU.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace flashc {

int64_t hostVectorBits() {
  StringMap<bool> features = sys::getHostCPUFeatures();
  if (features.lookup("avx512f") && features.lookup("avx512bw") &&
      features.lookup("avx512dq") && features.lookup("avx512vl"))
    return 512;
  return features.lookup("avx2") && features.lookup("fma") ? 256 : 128;
}

static void initializeTargetOnce() {
  static const bool done = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)done;
}

static constexpr StringLiteral kPackedEntry = "flashc_packed_entry";

std::string packedEntry(size_t kernel) {
  return (kPackedEntry + Twine(kernel)).str();
}

/// void packed(batch, head, block, pointers) calls the C interface, whose other
/// arguments are pointers to memref descriptors.
static void addPackedEntry(Module &module, Function &kernel,
                           const std::string &name) {
  LLVMContext &context = module.getContext();
  Type *i64 = Type::getInt64Ty(context);
  Type *pointer = PointerType::getUnqual(context);
  auto *type = FunctionType::get(Type::getVoidTy(context),
                                 {i64, i64, i64, pointer}, false);
  auto *packed =
      Function::Create(type, Function::ExternalLinkage, name, module);
  IRBuilder<> b(BasicBlock::Create(context, "entry", packed));
  constexpr unsigned kIndices = 3;
  SmallVector<Value *> arguments;
  for (unsigned i = 0; i < kIndices; ++i)
    arguments.push_back(packed->getArg(i));
  for (unsigned i = kIndices; i < kernel.arg_size(); ++i) {
    Value *slot = b.CreateConstInBoundsGEP1_64(
        pointer, packed->getArg(kIndices), i - kIndices);
    arguments.push_back(b.CreateLoad(pointer, slot));
  }
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

// The kernel is loops of vector operations already, as its schedule says: what
// is left is to take addresses out of loops and to unroll the short ones. All
// of -O3 gives no faster code in 2.7 times the time
// (docs/decisions/023-compile-time.md).
constexpr StringLiteral kPasses =
    "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(loop-idiom,indvars,loop-unroll-full),"
    "sroa,gvn,instcombine<no-verify-fixpoint>,simplifycfg)";

static Error optimize(Module &module, TargetMachine &machine) {
  module.setDataLayout(machine.createDataLayout());
  module.setTargetTriple(machine.getTargetTriple());
  // Kernels are reached through their packed entries alone.
  for (Function &function : module)
    if (!function.isDeclaration() &&
        !function.getName().starts_with(kPackedEntry))
      function.setLinkage(GlobalValue::InternalLinkage);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graph;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, kPasses))
    return error;
  passes.run(module, modules);
  return Error::success();
}

Expected<std::unique_ptr<orc::LLJIT>>
compileForHost(mlir::ModuleOp module,
               ArrayRef<mlir::LLVM::LLVMFuncOp> kernels) {
  initializeTargetOnce();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);

  auto context = std::make_unique<LLVMContext>();
  std::unique_ptr<Module> code =
      mlir::translateModuleToLLVMIR(module, *context);
  for (size_t number = 0; number < kernels.size(); ++number) {
    mlir::LLVM::LLVMFuncOp kernel = kernels[number];
    std::string name = ("_mlir_ciface_" + kernel.getName()).str();
    Function *entry = code ? code->getFunction(name) : nullptr;
    if (!entry)
      return createStringError(
          "kernel '%s' has no form in LLVM IR; lower it with buildCPUPipeline",
          kernel.getName().str().c_str());
    addPackedEntry(*code, *entry, packedEntry(number));
  }

  auto target = orc::JITTargetMachineBuilder::detectHost();
  if (!target)
    return target.takeError();
  target->setCodeGenOptLevel(CodeGenOptLevel::Default);
  auto machine = target->createTargetMachine();
  if (!machine)
    return machine.takeError();
  if (Error error = optimize(*code, **machine))
    return error;

  auto jit = orc::LLJITBuilder().setJITTargetMachineBuilder(*target).create();
  if (!jit)
    return jit.takeError();
  // libm and memcpy come from this process.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*process));
  if (Error error = (*jit)->addIRModule(
          orc::ThreadSafeModule(std::move(code), std::move(context))))
    return std::move(error);
  return std::move(*jit);
}

} // namespace flashc
