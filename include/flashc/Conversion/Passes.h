// The passes that cross from one level to the next.
#ifndef FLASHC_CONVERSION_PASSES_H
#define FLASHC_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace flashc {
#define GEN_PASS_DECL
#include "Conversion/ConversionPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "Conversion/ConversionPasses.h.inc"
} // namespace flashc

#endif // FLASHC_CONVERSION_PASSES_H
