// A shared backward on its way through the compiler.
#ifndef FLASHC_TEST_CASES_GRADIENTMODULE_H
#define FLASHC_TEST_CASES_GRADIENTMODULE_H

#include "flashc/Compiler/Compiler.h"
#include "flashc/Reference/GradientCases.h"

namespace flashc::test {

/// Equal keys: one program serves both cases.
std::string gradientKey(const reference::GradientCase &test);

/// The module of the case's forward, and the options that ask for its
/// gradients, with target and alignment still to be set.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
moduleOf(const reference::GradientCase &test, mlir::MLIRContext &context);
CompileOptions optionsOf(const reference::GradientCase &test);

/// The numbers of a tensor that is one row.
std::vector<float> flat(const reference::HostTensor &row);

/// Backwards by warps with roles, for sm_90a: lengths, masks and groups of
/// heads of each head dim that has that form.
std::vector<reference::GradientCase> roleCases();

/// The same with score functions, with a number of keys for each batch, with
/// sums in a fixed order, and of other head dims.
std::vector<reference::GradientCase> roleVariantCases();

/// The numerical cases that have that form, of the kinds that are about what is
/// masked, empty or far from zero.
std::vector<reference::GradientCase> roleNumericalCases();

/// A program for a GPU, or why there is none; as CompiledCase.
struct CompiledGradients {
  std::optional<ProgramImage> image;
  std::string error, refusedTiles;
};
CompiledGradients compileGradients(const reference::GradientCase &test,
                                   const std::string &arch,
                                   int64_t alignment = 0,
                                   const Assembler *assembler = nullptr);

/// A tensor full of NaN, so that an element that is never written shows.
reference::HostTensor unwritten(const reference::HostTensor &like,
                                reference::Layout layout);

/// What a kernel made of the cases, judged in order.
class GradientJudge {
public:
  /// Empty, or what is wrong. Cases that are to be the same bits as others are
  /// held against them if `comparesBits`, which sums in any order are not.
  std::string judge(const reference::GradientCase &test,
                    reference::Gradients result, bool comparesBits = true);
  /// The largest rms(error) / rms(unfused error) so far.
  double worstRatio() const { return worst; }
  /// The name of the case that had it.
  const std::string &worstCase() const { return worstName; }

private:
  std::map<std::string, reference::Gradients> earlier;
  double worst = 0;
  std::string worstName;
};

bool sameBits(const reference::Gradients &a, const reference::Gradients &b);

} // namespace flashc::test

#endif // FLASHC_TEST_CASES_GRADIENTMODULE_H
