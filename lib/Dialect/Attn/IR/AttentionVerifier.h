// The checks that attn.forward and attn.backward share, each with its sentence.
#ifndef FLASHC_LIB_DIALECT_ATTN_IR_ATTENTIONVERIFIER_H
#define FLASHC_LIB_DIALECT_ATTN_IR_ATTENTIONVERIFIER_H

#include "flashc/Dialect/Attn/IR/Attn.h"

namespace flashc::attn {

/// One tensor of an op, by the name that messages give it.
struct Named {
  Named(llvm::StringRef name, mlir::Value value)
      : name(name), type(llvm::cast<mlir::RankedTensorType>(value.getType())) {}
  llvm::StringRef name;
  mlir::RankedTensorType type;
};

/// Checks of one op. An op's own verifier calls them in an order in which none
/// reads what another has not seen to be there.
class AttentionVerifier {
public:
  /// `family` says in words which tensors share one element type.
  AttentionVerifier(AttentionInterface op, llvm::StringRef family)
      : op(op), family(family) {}

  /// Rank, encoding and element type of each, which is that of the query.
  llvm::LogicalResult tensors(llvm::ArrayRef<Named> list);
  /// A 3-D tensor of f32 for each row.
  llvm::LogicalResult rows(Named tensor);
  /// Sizes of Q, K and V beside each other.
  llvm::LogicalResult shapes();
  /// The query heads are a multiple of the key heads; `like` is a tensor with
  /// the query's heads.
  llvm::LogicalResult heads(Named like);
  llvm::LogicalResult kvLengths(llvm::ArrayRef<Named> list);
  llvm::LogicalResult scale();
  llvm::LogicalResult mask();

  llvm::LogicalResult headDim(Named tensor);
  llvm::LogicalResult agree(llvm::StringRef what, Named a, unsigned dimA,
                            Named b, unsigned dimB);
  /// Batch, length, heads and head dim of `a` and `b`.
  llvm::LogicalResult sameShape(Named a, Named b, llvm::StringRef lengthName);
  /// Batch, heads and length of a tensor beside those of a row tensor.
  llvm::LogicalResult sameRows(Named tensor, Named rows);

private:
  AttentionInterface op;

public:
  const Named query{"query", op.getQuery()}, key{"key", op.getKey()},
      value{"value", op.getValue()};

private:
  llvm::LogicalResult rank(Named tensor, int64_t rank, llvm::StringRef dims);
  llvm::LogicalResult element(Named tensor);
  llvm::LogicalResult encoding(Named tensor);

  llvm::StringRef family;
};

/// Captured tensors of any of the two ops.
llvm::LogicalResult verifyCaptures(AttentionInterface op);
/// The score region, where there is one.
llvm::LogicalResult verifyScore(AttentionInterface op);
/// The gradient region, where there is one.
llvm::LogicalResult verifyScoreGradient(BackwardOp op);

} // namespace flashc::attn

#endif // FLASHC_LIB_DIALECT_ATTN_IR_ATTENTIONVERIFIER_H
