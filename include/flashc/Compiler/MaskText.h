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

/// Whether key `j` is visible to query `i`, by the formulas of the attributes'
/// texts and nothing else: the reference for tests and `--check`. `queries` is
/// Sq; `keys` is Sk, or this batch's entry of `kv_lengths`. Keys at and past
/// `keys` are never visible.
bool isVisible(mlir::Attribute mask, int64_t i, int64_t j, int64_t queries,
               int64_t keys);

} // namespace flashc

#endif // FLASHC_COMPILER_MASKTEXT_H
