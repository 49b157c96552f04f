//===- AttnToTile.cpp - convert-attn-to-tile ------------------------------===//
//
// The border between level 1 and level 2. In: func.funcs that hold one
// attn.forward on their arguments, or one attn.backward. Out: a tile.kernel of
// the same name for each of them, and for a backward others beside it.
// Functions without attention stay as they are.
//
//===----------------------------------------------------------------------===//
#include "BackwardKernel.h"
#include "KernelBuilder.h"
#include "MaskSets.h"

#include "flashc/Analysis/Candidates.h"
#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"
#include "flashc/Conversion/Passes.h"
#include "flashc/Dialect/Attn/IR/Attn.h"
#include "flashc/Dialect/Tile/IR/Tile.h"
#include "flashc/Support/TargetInfo.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTATTNTOTILE
#include "Conversion/ConversionPasses.h.inc"

namespace {
constexpr StringLiteral kOutputAttr = "tile.output";

/// The one attention op of `func`, checked to be all that the function does;
/// null after an error.
attn::AttentionInterface findAttention(func::FuncOp func) {
  attn::AttentionInterface found;
  for (Operation &op : func.getBody().front().without_terminator()) {
    auto candidate = dyn_cast<attn::AttentionInterface>(op);
    if (!candidate) {
      op.emitOpError()
          << "stands in function '" << func.getName()
          << "' beside attention, but a kernel holds nothing else; "
             "move it to the caller or into the score region";
      return {};
    }
    if (found) {
      candidate->emitOpError()
          << "is the second one in function '" << func.getName()
          << "', but a kernel holds one; split the function";
      return {};
    }
    found = candidate;
  }
  return found;
}

LogicalResult checkArguments(func::FuncOp func, attn::AttentionInterface op) {
  llvm::BitVector used(func.getNumArguments());
  for (Value operand : op->getOperands())
    used.set(cast<BlockArgument>(operand).getArgNumber());
  if (int unused = used.find_first_unset(); unused >= 0)
    return func.emitOpError()
           << "argument #" << unused << " is not an operand of "
           << op->getName()
           << ", but a kernel's arguments are its operands; drop it";
  return success();
}

LogicalResult checkReturn(func::FuncOp func, attn::ForwardOp op) {
  Operation *end = func.getBody().front().getTerminator();
  unsigned count = end->getNumOperands();
  bool inOrder = count >= 1 && count <= 2 &&
                 end->getOperand(0) == op.getOutput() &&
                 (count == 1 || end->getOperand(1) == op.getLse());
  if (!inOrder)
    return end->emitOpError()
           << "returns " << count
           << " values, but a kernel gives O, or O and LSE, of its "
              "attn.forward; return these in this order";
  return success();
}

LogicalResult checkReturn(func::FuncOp func, attn::BackwardOp op) {
  Operation *end = func.getBody().front().getTerminator();
  if (llvm::equal(end->getOperands(), op.getResults()))
    return success();
  return end->emitOpError()
         << "returns " << end->getNumOperands()
         << " values, but the kernels of an attn.backward give all its "
         << op->getNumResults() << " results; return these in this order";
}

/// A kernel with the arguments of `func` in the order of the op's operands,
/// then the outputs.
tile::KernelOp createKernel(OpBuilder &b, func::FuncOp func, attn::ForwardOp op,
                            tile::ScheduleAttr schedule) {
  SmallVector<Type> types;
  SmallVector<Attribute> argAttrs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto tensor = cast<RankedTensorType>(operand.getType());
    types.push_back(
        i < 3 ? getViewType(tensor, op.getLayout())
              : MemRefType::get(tensor.getShape(), tensor.getElementType()));
    DictionaryAttr attrs =
        func.getArgAttrDict(cast<BlockArgument>(operand).getArgNumber());
    argAttrs.push_back(attrs ? attrs : b.getDictionaryAttr({}));
  }
  auto output =
      b.getDictionaryAttr(b.getNamedAttr(kOutputAttr, b.getUnitAttr()));
  types.push_back(getViewType(op.getOutput().getType(), op.getLayout()));
  argAttrs.push_back(output);
  if (func.getNumResults() == 2) {
    types.push_back(getRowViewType(op.getLse().getType()));
    argAttrs.push_back(output);
  }
  return tile::KernelOp::create(
      b, func.getLoc(), func.getName(), b.getFunctionType(types, {}), schedule,
      /*grid=*/tile::GridAttr(), b.getArrayAttr(argAttrs),
      /*res_attrs=*/ArrayAttr());
}

KernelViews getViews(attn::ForwardOp op, ArrayRef<BlockArgument> arguments,
                     bool withLse) {
  KernelViews views;
  size_t next = 0;
  views.query = arguments[next++];
  views.key = arguments[next++];
  views.value = arguments[next++];
  if (op.getKvLengths())
    views.kvLengths = arguments[next++];
  for (size_t i = 0; i < op.getCaptures().size(); ++i)
    views.captures.push_back(arguments[next++]);
  views.output = arguments[next++];
  if (withLse)
    views.lse = arguments[next++];
  return views;
}

struct ConvertAttnToTile : impl::ConvertAttnToTileBase<ConvertAttnToTile> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<TargetInfo> target = lookupTarget(arch, sram);
    if (!target) {
      getOperation().emitError() << llvm::toString(target.takeError());
      return signalPassFailure();
    }
    for (auto func :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(convert(func, *target)))
        signalPassFailure();
    for (Operation &op : *getOperation().getBody())
      op.walk([&](attn::AttentionInterface left) {
        if (!left->getParentOfType<func::FuncOp>()) {
          left->emitOpError()
              << "is not in a function, so it has no kernel; put it "
                 "alone into a func.func";
          signalPassFailure();
        }
      });
  }

  LogicalResult convert(func::FuncOp func, const TargetInfo &target);
  LogicalResult convertForward(func::FuncOp func, attn::ForwardOp op,
                               tile::ScheduleAttr schedule);
  LogicalResult convertBackward(func::FuncOp func, attn::BackwardOp op,
                                tile::ScheduleAttr schedule);
  ScheduleRequest getRequest(attn::AttentionInterface op);
  llvm::Expected<Schedule> getSchedule(attn::AttentionInterface op,
                                       const TargetInfo &target);
};

ScheduleRequest ConvertAttnToTile::getRequest(attn::AttentionInterface op) {
  ScheduleRequest request = getScheduleRequest(op);
  request.tiles = tiles;
  request.stages = stages;
  request.warps = warps;
  request.alignment = alignment;
  request.length = length;
  return request;
}

/// The one that is asked for by its text, else the chosen one.
llvm::Expected<Schedule>
ConvertAttnToTile::getSchedule(attn::AttentionInterface op,
                               const TargetInfo &target) {
  ScheduleRequest request = getRequest(op);
  if (schedule.empty())
    return chooseSchedule(request, target);
  llvm::Expected<Schedule> asked = parseSchedule(schedule, &getContext());
  if (!asked)
    return asked;
  if (llvm::Error error = checkSchedule(request, *asked, target))
    return std::move(error);
  return asked;
}

LogicalResult ConvertAttnToTile::convertForward(func::FuncOp func,
                                                attn::ForwardOp op,
                                                tile::ScheduleAttr schedule) {
  if (failed(checkReturn(func, op)))
    return failure();
  SmallVector<IntegerSet> sets =
      maskToSets(op.getMask().value_or(Attribute()), &getContext());
  OpBuilder b(func);
  tile::KernelOp kernel = createKernel(b, func, op, schedule);
  Block *entry = b.createBlock(
      &kernel.getBody(), {}, kernel.getArgumentTypes(),
      SmallVector<Location>(kernel.getArgumentTypes().size(), op.getLoc()));
  KernelViews views =
      getViews(op, SmallVector<BlockArgument>(entry->getArguments()),
               func.getNumResults() == 2);
  buildKernelBody(b, op, schedule, views, sets);
  return success();
}

LogicalResult ConvertAttnToTile::convertBackward(func::FuncOp func,
                                                 attn::BackwardOp op,
                                                 tile::ScheduleAttr schedule) {
  if (failed(checkReturn(func, op)))
    return failure();
  SmallVector<IntegerSet> sets =
      maskToSets(op.getMask().value_or(Attribute()), &getContext(),
                 /*boundQueries=*/true);
  OpBuilder b(func);
  buildBackwardKernels(b, func, op, schedule, sets);
  return success();
}

LogicalResult ConvertAttnToTile::convert(func::FuncOp func,
                                         const TargetInfo &target) {
  bool hasAttention = func.walk([](attn::AttentionInterface) {
                            return WalkResult::interrupt();
                          })
                          .wasInterrupted();
  if (!hasAttention)
    return success();
  if (!func.getBody().hasOneBlock())
    return func.emitOpError()
           << "has " << func.getBody().getBlocks().size()
           << " blocks, but a kernel's function has one; remove the branches";
  attn::AttentionInterface op = findAttention(func);
  if (!op || failed(checkArguments(func, op)))
    return failure();
  llvm::Expected<Schedule> chosen = getSchedule(op, target);
  if (!chosen)
    return op->emitOpError() << llvm::toString(chosen.takeError());
  tile::ScheduleAttr attr = toAttr(*chosen, &getContext());
  auto forward = dyn_cast<attn::ForwardOp>(op.getOperation());
  if (failed(forward
                 ? convertForward(func, forward, attr)
                 : convertBackward(
                       func, cast<attn::BackwardOp>(op.getOperation()), attr)))
    return failure();
  func.erase();
  return success();
}
} // namespace
} // namespace flashc
