// Passes that start and end on the `warp` level.
#ifndef FLASHC_DIALECT_WARP_TRANSFORMS_PASSES_H
#define FLASHC_DIALECT_WARP_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace flashc::warp {
#define GEN_PASS_DECL
#include "Warp/WarpPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "Warp/WarpPasses.h.inc"
} // namespace flashc::warp

#endif // FLASHC_DIALECT_WARP_TRANSFORMS_PASSES_H
