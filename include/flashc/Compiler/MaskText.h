//===- MaskText.h - Masks as people type them -------------------*- C++ -*-===//
#ifndef FLASHC_COMPILER_MASKTEXT_H
#define FLASHC_COMPILER_MASKTEXT_H

#include "mlir/IR/Attributes.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mlir {
class MLIRContext;
}

namespace flashc {

/// The mask attribute of a text such as `causal & window(128,0) | prefix(16)`,
/// null where every key is visible ("none"). Atoms: none, causal,
/// causal-topleft, window(L,R) and window-topleft(L,R) with -1 for no bound,
/// prefix(N), key-length. `!` binds tightest, then `&`, then `|`; parentheses
/// group. The error names the column (from 1) and what was expected there.
llvm::Expected<mlir::Attribute> parseMask(llvm::StringRef text,
                                          mlir::MLIRContext &context);

/// The text of a mask; "none" for null. `parseMask` reads it back.
std::string printMask(mlir::Attribute mask);

} // namespace flashc

#endif // FLASHC_COMPILER_MASKTEXT_H
