// From a description to the compiler's input and to the cache's key.
#include "flashc/Jit/Spec.h"

#include "flashc/Jit/ShapeClass.h"
#include "flashc/Support/Error.h"

#include "llvm/ADT/Hashing.h"

using namespace flashc;
using namespace flashc::jit;

size_t KernelSpecHash::operator()(const KernelSpec &spec) const {
  const AttentionSpec &a = spec.attention;
  // What most often differs; all of it is compared.
  return llvm::hash_combine(
      a.name, a.headDim, a.valueHeadDim, a.heads, a.kvHeads, a.dtype, a.mask,
      a.kvLengths, a.withLse, a.batch, a.queries, a.keys, a.score, spec.mlir,
      spec.tiles, spec.alignment, spec.length, spec.gradients.has_value());
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
jit::buildModule(const KernelSpec &spec, mlir::MLIRContext &context) {
  if (spec.mlir.empty())
    return buildAttnModule(spec.attention, context);
  return parseModule(spec.mlir, "module", context);
}

CompileOptions jit::optionsFor(const KernelSpec &spec, const TargetInfo &target,
                               int64_t sram) {
  const AttentionSpec &a = spec.attention;
  CompileOptions options;
  options.arch = target.arch;
  options.sram = spec.sram ? spec.sram : sram;
  options.tiles = spec.tiles;
  options.stages = spec.stages;
  options.warps = spec.warps;
  if (spec.gradients) {
    options.backward = true;
    options.gradients = spec.gradients->captures;
    options.lseGradient = spec.gradients->lseGradient;
    options.deterministic = spec.gradients->deterministic;
  }
  if (target.isCPU) {
    options.vectorBits = hostVectorBits();
    return options;
  }
  options.alignment = spec.alignment ? spec.alignment : 16;
  bool exact = a.queries && a.keys;
  options.length =
      exact ? std::max(a.queries, a.keys) : lengthClass(spec.length);
  return options;
}

llvm::Expected<CacheKey> jit::keyOf(mlir::ModuleOp module,
                                    const CompileOptions &options,
                                    llvm::StringRef assembler) {
  llvm::Expected<Lowering> canonical = lowerTo(module, options, Stage::Attn);
  if (!canonical)
    return canonical.takeError();
  std::string text = fmt::format(
      "{}\ntarget {}\nsram {}\ntiles {}\nstages {}\nwarps {}\nalignment "
      "{}\nlength {}\nvector bits {}\nassembler {}\n",
      compilerVersion(), options.arch, options.sram, options.tiles,
      options.stages, options.warps, options.alignment, options.length,
      options.vectorBits, assembler.str());
  if (options.backward)
    text += fmt::format("gradients, deterministic {}\n", options.deterministic);
  llvm::raw_string_ostream os(text);
  canonical->module->print(os);
  return CacheKey(std::move(text));
}
