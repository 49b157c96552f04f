#ifndef FLASHC_ATTN_INTERFACES
#define FLASHC_ATTN_INTERFACES

include "mlir/IR/OpBase.td"

def Attn_AttentionInterface : OpInterface<"AttentionInterface"> {
  let cppNamespace = "::flashc::attn";
  let description = [{
    What `attn.forward` and `attn.backward` share: which attention it is. Q, K, V, the key lengths, the captured tensors and the
    score region mean the same in both.
  }];
  let methods = [
    InterfaceMethod<"", "::mlir::TypedValue<::mlir::RankedTensorType>", "getQuery">,
    InterfaceMethod<"", "::mlir::TypedValue<::mlir::RankedTensorType>", "getKey">,
    InterfaceMethod<"", "::mlir::TypedValue<::mlir::RankedTensorType>", "getValue">,
    InterfaceMethod<"", "::mlir::TypedValue<::mlir::RankedTensorType>", "getKvLengths">,
    InterfaceMethod<"", "::mlir::Operation::operand_range", "getCaptures">,
    InterfaceMethod<"", "::std::optional<::llvm::APFloat>", "getScale">,
    InterfaceMethod<"", "::std::optional<::mlir::Attribute>", "getMask">,
    InterfaceMethod<"", "void", "setMaskAttr", (ins "::mlir::Attribute":$mask)>,
    InterfaceMethod<"", "::flashc::attn::Layout", "getLayout">,
    InterfaceMethod<"", "::mlir::Region &", "getScore">];
  let extraSharedClassDeclaration = [{
    /// Positions of length and heads in the four-dimensional tensors of this op's layout; batch is first.
    unsigned getLengthDim() { return $_op.getLayout() == ::flashc::attn::Layout::BSHD ? 1 : 2; }
    unsigned getHeadsDim() { return $_op.getLayout() == ::flashc::attn::Layout::BSHD ? 2 : 1; }
    /// D and Dv: always static.
    int64_t getHeadDim() { return $_op.getQuery().getType().getDimSize(3); }
    int64_t getValueHeadDim() { return $_op.getValue().getType().getDimSize(3); }
    /// `scale`, or its default 1/sqrt(D).
    double getScaleValue() { return ::flashc::attn::getScaleOrDefault($_op.getScale(), $_op.getQuery().getType().getDimSize(3)); }
    bool hasScore() { return !$_op.getScore().empty(); }
  }];
}

#endif
