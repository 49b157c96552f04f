// The small ops that the rest of the lowering is written in.
#include "KernelEmitter.h"

using namespace mlir;

namespace flashc {

Value KernelEmitter::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
}
Value KernelEmitter::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}
Value KernelEmitter::toI32(Value index) {
  return arith::IndexCastOp::create(b, b.getI32Type(), index);
}
Value KernelEmitter::toIndex(Value value) {
  return arith::IndexCastOp::create(b, b.getIndexType(), value);
}
Value KernelEmitter::wide(Value value) {
  return arith::ExtSIOp::create(b, b.getI64Type(), value);
}
Value KernelEmitter::inlineAsm(Type type, const std::string &text,
                               StringRef constraints, ValueRange operands,
                               bool hasSideEffects) {
  auto dialect =
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT);
  return LLVM::InlineAsmOp::create(
             b, type, operands, text, constraints, hasSideEffects,
             /*is_align_stack=*/false, LLVM::TailCallKind::None, dialect,
             ArrayAttr())
      .getResult(0);
}
void KernelEmitter::asmVoid(const std::string &text, StringRef constraints,
                            ValueRange operands) {
  auto dialect =
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT);
  LLVM::InlineAsmOp::create(b, TypeRange(), operands, text, constraints,
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::TailCallKind::None,
                            dialect, ArrayAttr());
}
SmallVector<Value> KernelEmitter::asmMany(ArrayRef<Type> types,
                                          const std::string &text,
                                          StringRef constraints,
                                          ValueRange operands) {
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  Value all = inlineAsm(type, text, constraints, operands);
  Registers out;
  for (size_t i = 0; i < types.size(); ++i)
    out.push_back(LLVM::ExtractValueOp::create(b, all, int64_t(i)));
  return out;
}
Value KernelEmitter::gep(Value base, Value bytes) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{bytes});
}
Value KernelEmitter::gep(Value base, int64_t bytes) {
  if (bytes == 0)
    return base;
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}
Value KernelEmitter::elementAddress(const View &view, Value elements) {
  return LLVM::GEPOp::create(b, view.ptr.getType(), view.type.getElementType(),
                             view.ptr, ArrayRef<LLVM::GEPArg>{elements});
}
Value KernelEmitter::headOffset(const View &view, Value batch, Value head) {
  Value x = arith::MulIOp::create(b, wide(toI32(batch)), view.strides[0]);
  Value y = arith::MulIOp::create(b, wide(toI32(head)), view.strides[1]);
  return arith::AddIOp::create(b, x, y);
}

// The same, made where it is used and not in front of a loop: four products are
// cheaper there than the registers that live through it. The copies keep LLVM
// from hoisting what follows from them.
Value KernelEmitter::headOffsetHere(const View &view, Value batch, Value head) {
  auto copy = [&](Value value) {
    return toIndex(
        inlineAsm(b.getI32Type(), "mov.b32 $0, $1;", "=r,r", toI32(value)));
  };
  return headOffset(view, copy(batch), copy(head));
}

Value KernelEmitter::atEntry(const std::string &key,
                             llvm::function_ref<Value()> make) {
  auto [it, isNew] = entryValues.try_emplace(key);
  if (isNew) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(entryEnd);
    it->second = make();
  }
  return it->second;
}

void KernelEmitter::callWithCondition(Value condition,
                                      llvm::function_ref<void()> then) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  then();
}

} // namespace flashc
