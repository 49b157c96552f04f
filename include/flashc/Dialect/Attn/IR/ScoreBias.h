// Score functions that add something to the score.
#ifndef FLASHC_DIALECT_ATTN_IR_SCOREBIAS_H
#define FLASHC_DIALECT_ATTN_IR_SCOREBIAS_H

#include "flashc/Dialect/Attn/IR/Attn.h"

#include <optional>

namespace flashc::attn {

/// A score region that is fma(slope, term, score): `slope` is the same for all
/// scores of a head, and the score is read nowhere else.
struct ScoreBias {
  mlir::math::FmaOp sum;
  mlir::Value slope, term;
};

/// The region of `op` as such a sum; none where it is another, or where there
/// is none.
std::optional<ScoreBias> matchScoreBias(AttentionInterface op);

/// Whether an argument of its region for which `isOne` holds is a part of what
/// `value` is computed from.
bool dependsOn(mlir::Value value,
               llvm::function_ref<bool(mlir::BlockArgument)> isOne);

/// Whether `value` does not depend on the score, the query or the key of the
/// region that it stands in.
bool isSameForHead(mlir::Value value);

/// Whether the term of `bias` is j - i or |j - i| (ALiBi).
bool isDistance(const ScoreBias &bias);

} // namespace flashc::attn

#endif // FLASHC_DIALECT_ATTN_IR_SCOREBIAS_H
