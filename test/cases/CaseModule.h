// A shared case on its way through the compiler.
#ifndef FLASHC_TEST_CASES_CASEMODULE_H
#define FLASHC_TEST_CASES_CASEMODULE_H

#include "flashc/Compiler/Compiler.h"
#include "flashc/Reference/Cases.h"

namespace flashc::test {

/// The attn module of a case: its MLIR text where it has one, else its numbers.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
moduleOf(const reference::TestCase &test, mlir::MLIRContext &context);

/// A case's kernel for a GPU, or why there is none.
struct CompiledCase {
  std::optional<KernelImage> image;
  std::string error;
  /// The tiles asked for by name do not fit the target, so `auto` was used;
  /// this is what the compiler said.
  std::string refusedTiles;
};
CompiledCase compileCase(const reference::TestCase &test,
                         const std::string &arch, int64_t alignment = 0,
                         const Assembler *assembler = nullptr);

/// Whether a refusal of tiles names a budget, as it must.
bool namesBudget(llvm::StringRef refusal);

/// Draws `first` to `first + count - 1`, without f32, which no GPU kernel has.
std::vector<reference::TestCase> gpuDraws(uint64_t first, uint64_t count,
                                          reference::DrawOptions options);

} // namespace flashc::test

#endif // FLASHC_TEST_CASES_CASEMODULE_H
