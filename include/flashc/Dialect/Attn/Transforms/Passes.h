// Passes that start and end on the `attn` level.
#ifndef FLASHC_DIALECT_ATTN_TRANSFORMS_PASSES_H
#define FLASHC_DIALECT_ATTN_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace flashc::attn {
#define GEN_PASS_DECL
#include "Attn/AttnPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "Attn/AttnPasses.h.inc"
} // namespace flashc::attn

#endif // FLASHC_DIALECT_ATTN_TRANSFORMS_PASSES_H
