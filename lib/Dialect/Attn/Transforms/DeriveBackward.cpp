//===- DeriveBackward.cpp - attn-derive-backward --------------------------===//
//
// Runs first, where gradients are wanted. In: functions that hold one
// attn.forward on their arguments. Out: functions that hold the attn.backward
// of it.
//
//===----------------------------------------------------------------------===//
#include "flashc/Dialect/Attn/Gradient/ScoreGradient.h"
#include "flashc/Dialect/Attn/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace flashc::attn {
#define GEN_PASS_DEF_ATTNDERIVEBACKWARD
#include "Attn/AttnPasses.h.inc"

namespace {
/// Operands that are arguments of the new function as they were of the old one.
LogicalResult checkOperands(ForwardOp op, func::FuncOp func) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (argument && argument.getOwner() == &func.getBody().front())
      continue;
    return op.emitOpError() << "operand #" << i << " is computed by another op "
                            << "of '" << func.getName()
                            << "', but a function whose gradients are wanted "
                               "holds attention on its arguments; pass it in";
  }
  return success();
}

struct AttnDeriveBackward : impl::AttnDeriveBackwardBase<AttnDeriveBackward> {
  using Base::Base;

  void runOnOperation() override {
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      SmallVector<ForwardOp> ops;
      func.walk([&](ForwardOp op) { ops.push_back(op); });
      if (ops.size() > 1) {
        ops[1].emitOpError()
            << "is the second one in function '" << func.getName()
            << "', but gradients are derived for one; split "
               "the function";
        return signalPassFailure();
      }
      if (ops.size() == 1 && failed(derive(func, ops.front())))
        return signalPassFailure();
    }
  }

  LogicalResult checkGradients(ForwardOp op);
  LogicalResult derive(func::FuncOp func, ForwardOp op);
  BackwardOp buildBackward(ImplicitLocOpBuilder &b, ForwardOp op,
                           ValueRange sameOperands, ValueRange added);
};

LogicalResult AttnDeriveBackward::checkGradients(ForwardOp op) {
  int64_t captures = op.getCaptures().size();
  for (auto [position, number] : llvm::enumerate(gradients)) {
    if (number < 0 || number >= captures)
      return op.emitOpError()
             << "has " << captures << " captures, but the gradient of capture "
             << number << " is asked for; count from 0";
    if (position > 0 && number <= gradients[position - 1])
      return op.emitOpError()
             << "expects the numbers of captures in ascending order, but "
             << number << " comes behind " << gradients[position - 1]
             << "; sort them";
  }
  return success();
}

/// `sameOperands` are those of the forward, `added` O, LSE, dO and dLSE.
BackwardOp AttnDeriveBackward::buildBackward(ImplicitLocOpBuilder &b,
                                             ForwardOp op,
                                             ValueRange sameOperands,
                                             ValueRange added) {
  SmallVector<Type> types = {op.getQuery().getType(), op.getKey().getType(),
                             op.getValue().getType()};
  for (int64_t number : gradients)
    types.push_back(op.getCaptures()[number].getType());
  constexpr unsigned kInputs = 3;
  bool hasLengths = bool(op.getKvLengths());
  auto backward = BackwardOp::create(
      b, types, sameOperands[0], sameOperands[1], sameOperands[2], added[0],
      added[1], added[2], dlse ? added[3] : Value(),
      hasLengths ? sameOperands[kInputs] : Value(),
      sameOperands.drop_front(kInputs + hasLengths), op.getScaleAttr(),
      op.getMaskAttr(), op.getLayoutAttr(),
      b.getDenseI64ArrayAttr(llvm::to_vector(gradients)),
      deterministic ? b.getUnitAttr() : UnitAttr());
  IRMapping mapping;
  op.getScore().cloneInto(&backward.getScore(), mapping);
  return backward;
}

LogicalResult AttnDeriveBackward::derive(func::FuncOp func, ForwardOp op) {
  if (failed(checkOperands(op, func)) || failed(checkGradients(op)))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), func);
  SmallVector<Type> inputs(func.getArgumentTypes());
  Type output = op.getOutput().getType(), rows = op.getLse().getType();
  SmallVector<Type> added = {output, rows, output};
  if (dlse)
    added.push_back(rows);
  llvm::append_range(inputs, added);
  auto derived = func::FuncOp::create(b, (func.getName() + "_backward").str(),
                                      b.getFunctionType(inputs, {}));
  derived.setVisibility(func.getVisibility());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (DictionaryAttr attributes = func.getArgAttrDict(i))
      derived.setArgAttrs(i, attributes);
  Block *entry = derived.addEntryBlock();
  b.setInsertionPointToStart(entry);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(
        entry->getArgument(cast<BlockArgument>(operand).getArgNumber()));
  BackwardOp backward = buildBackward(
      b, op, operands, entry->getArguments().take_back(added.size()));
  if (failed(buildScoreGradient(backward)))
    return failure();
  func::ReturnOp::create(b, backward.getResults());
  derived.setType(b.getFunctionType(inputs, backward->getResultTypes()));
  func.erase();
  return success();
}
} // namespace
} // namespace flashc::attn
