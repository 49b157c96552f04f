// From the LLVM dialect to LLVM IR and PTX, in process.
#include "flashc/Target/NVPTX.h"

#include "flashc/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace llvm;

namespace flashc {

// PTX ISA 8.0 (CUDA 12.0) is the oldest that has all we emit for sm_75 to
// sm_89, 8.1 (CUDA 12.1) has reductions of vectors: older drivers take them,
// too.
static StringRef getPtxFeature(const TargetInfo &target) {
  return target.hasRoles ? "+ptx81" : "+ptx80";
}

static Expected<std::unique_ptr<TargetMachine>>
createMachine(const TargetInfo &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *backend = TargetRegistry::lookupTarget(triple, message);
  if (!backend)
    return createStringError(message);
  TargetOptions options;
  return std::unique_ptr<TargetMachine>(backend->createTargetMachine(
      triple, target.arch, getPtxFeature(target), options, Reloc::PIC_,
      std::nullopt, CodeGenOptLevel::Aggressive));
}

// The code is straight-line and unrolled as its schedule says: a few scalar
// passes do all that -O2 would, in a third of the time.
constexpr StringLiteral kPasses = "function(sroa,early-cse,instcombine<no-"
                                  "verify-fixpoint>,simplifycfg)";

static Error optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, kPasses))
    return error;
  passes.run(module, modules);
  return Error::success();
}

// Asm at which lanes or warps meet has to stay one instruction: LLVM may copy
// any other into both sides of a branch, where each side waits for the other.
// (The NVVM intrinsics say so themselves.)
static void markConvergent(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      if (!call || !call->isInlineAsm())
        continue;
      StringRef text =
          cast<InlineAsm>(call->getCalledOperand())->getAsmString();
      if (text.contains(".sync") || text.contains("bar.") ||
          text.contains(".aligned"))
        call->setConvergent();
    }
}

static Expected<std::unique_ptr<Module>>
translate(mlir::ModuleOp module, TargetMachine &machine, LLVMContext &context) {
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
  module->getContext()->appendDialectRegistry(registry);
  std::unique_ptr<Module> result =
      mlir::translateModuleToLLVMIR(module, context, "flashc");
  if (!result)
    return createStringError("the kernel has ops that LLVM IR cannot express; "
                             "see the diagnostics above");
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  markConvergent(*result);
  std::string message;
  raw_string_ostream stream(message);
  if (verifyModule(*result, &stream))
    return createStringError("LLVM refused the generated kernel: " + message);
  if (Error error = optimize(*result, machine))
    return error;
  return result;
}

Expected<std::unique_ptr<Module>> translateToLLVM(mlir::ModuleOp module,
                                                  const TargetInfo &target,
                                                  LLVMContext &context) {
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  return translate(module, **machine, context);
}

Expected<std::string> translateToLLVMText(mlir::ModuleOp module,
                                          const TargetInfo &target) {
  LLVMContext context;
  auto translated = translateToLLVM(module, target, context);
  if (!translated)
    return translated.takeError();
  std::string text;
  raw_string_ostream stream(text);
  (*translated)->print(stream, nullptr);
  return text;
}

// LLVM has no option for these passes; what adds them to a pass manager asks it
// (docs/decisions/023-compile-time.md).
namespace {
struct LeanPasses : legacy::PassManager {
  void add(Pass *pass) override {
    static constexpr StringLiteral kLeftOut[] = {
        "Straight line strength reduction", "Global Value Numbering",
        "Nary reassociation"};
    if (is_contained(kLeftOut, pass->getPassName()))
      delete pass;
    else
      legacy::PassManager::add(pass);
  }
};
} // namespace

Expected<std::string> translateToPTX(mlir::ModuleOp module,
                                     const TargetInfo &target,
                                     BackendEffort effort) {
  auto machine = createMachine(target);
  if (!machine)
    return machine.takeError();
  LLVMContext context;
  auto translated = translate(module, **machine, context);
  if (!translated)
    return translated.takeError();
  SmallString<0> ptx;
  raw_svector_ostream stream(ptx);
  LeanPasses lean;
  legacy::PassManager full;
  legacy::PassManager &passes = effort == BackendEffort::Lean ? lean : full;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return createStringError("LLVM's NVPTX backend cannot emit assembly");
  passes.run(**translated);
  return ptx.str().str();
}

} // namespace flashc
