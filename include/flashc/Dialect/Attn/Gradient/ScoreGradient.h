// Symbolic derivatives of score functions.
#ifndef FLASHC_DIALECT_ATTN_GRADIENT_SCOREGRADIENT_H
#define FLASHC_DIALECT_ATTN_GRADIENT_SCOREGRADIENT_H

#include "flashc/Dialect/Attn/IR/Attn.h"

namespace flashc::attn {

/// Fills the gradient region of `op`, which must be empty, with the reverse
/// mode derivative of its score region: ds for the scaled score, and an
/// `attn.add_gradient` for each read of a captured tensor that `gradients`
/// lists. What the derivative needs of the score function is computed again
/// there. All derivatives are f32, whatever the types of the values; the region
/// is simplified by the canonicalizer and CSE.
///
/// At the kinks of `absf` the derivative is 0, at those of maximum, minimum and
/// clamp it is that of the first of two equal operands. Integers and
/// comparisons carry no gradient. An op on the way from the score or from such
/// a capture to the result that rounds (floor, fptosi, ...), or reinterprets
/// bits, is an error at that op.
llvm::LogicalResult buildScoreGradient(BackwardOp op);

} // namespace flashc::attn

#endif // FLASHC_DIALECT_ATTN_GRADIENT_SCOREGRADIENT_H
