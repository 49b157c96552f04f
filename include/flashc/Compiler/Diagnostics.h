//===- Diagnostics.h - MLIR's diagnostics as one llvm::Error ----*- C++ -*-===//
#ifndef FLASHC_COMPILER_DIAGNOSTICS_H
#define FLASHC_COMPILER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"

#include <string>

namespace flashc {

/// Keeps the first error of a scope, with its notes, instead of printing it.
/// What follows a first error is most often its echo.
class FirstError : public mlir::ScopedDiagnosticHandler {
public:
  explicit FirstError(mlir::MLIRContext *context);
  /// The error as text, `file:line:column: text` where the place is known. If
  /// nothing was reported, `otherwise` is the text.
  llvm::Error take(llvm::StringRef otherwise);

private:
  std::string text;
};

} // namespace flashc

#endif // FLASHC_COMPILER_DIAGNOSTICS_H
