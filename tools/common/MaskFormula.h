// From the compiler's masks to the oracle's.
#ifndef FLASHC_TOOLS_COMMON_MASKFORMULA_H
#define FLASHC_TOOLS_COMMON_MASKFORMULA_H

#include "flashc/Reference/Problem.h"

#include "mlir/IR/Attributes.h"

namespace flashc::tools {

/// The mask as a formula, for the oracle; null sees every key.
reference::MaskExpr toMaskExpr(mlir::Attribute mask);

} // namespace flashc::tools

#endif // FLASHC_TOOLS_COMMON_MASKFORMULA_H
