//===- AttnToTile.cpp - convert-attn-to-tile ------------------------------===//
//
// The border between level 1 and level 2. In: func.funcs that hold one
// attn.forward on their arguments. Out: a tile.kernel of the same name for each
// of them. Functions without attention stay as they are.
//
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"
#include "MaskSets.h"

#include "flashc/Analysis/Schedule.h"
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

/// The one attn.forward of `func`, checked to be all that the function does;
/// null after an error.
attn::ForwardOp findForward(func::FuncOp func) {
  attn::ForwardOp forward;
  for (Operation &op : func.getBody().front().without_terminator()) {
    auto candidate = dyn_cast<attn::ForwardOp>(op);
    if (!candidate) {
      op.emitOpError()
          << "stands in function '" << func.getName()
          << "' beside attn.forward, but a kernel holds nothing else; "
             "move it to the caller or into the score region";
      return {};
    }
    if (forward) {
      candidate.emitOpError()
          << "is the second one in function '" << func.getName()
          << "', but a kernel holds one; split the function";
      return {};
    }
    forward = candidate;
  }
  return forward;
}

LogicalResult checkSignature(func::FuncOp func, attn::ForwardOp op) {
  llvm::BitVector used(func.getNumArguments());
  for (Value operand : op->getOperands())
    used.set(cast<BlockArgument>(operand).getArgNumber());
  if (int unused = used.find_first_unset(); unused >= 0)
    return func.emitOpError()
           << "argument #" << unused
           << " is not an operand of attn.forward, but a kernel's "
              "arguments are its operands; drop it";
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
      b.getArrayAttr(argAttrs), /*res_attrs=*/ArrayAttr());
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
      op.walk([&](attn::ForwardOp left) {
        if (!left->getParentOfType<func::FuncOp>()) {
          left.emitOpError()
              << "is not in a function, so it has no kernel; put it "
                 "alone into a func.func";
          signalPassFailure();
        }
      });
  }

  LogicalResult convert(func::FuncOp func, const TargetInfo &target);
  ScheduleRequest getRequest(attn::ForwardOp op);
};

tile::RolesAttr getRoles(const Schedule &schedule, MLIRContext *context) {
  if (!schedule.roles)
    return {};
  const RoleChoices &roles = *schedule.roles;
  auto rescale = roles.rescale == RescaleKind::Lazy   ? tile::Rescale::Lazy
                 : roles.rescale == RescaleKind::Late ? tile::Rescale::Late
                                                      : tile::Rescale::Always;
  return tile::RolesAttr::get(context, roles.groups, roles.producerRegisters,
                              roles.consumerRegisters, roles.overlap,
                              roles.turns, rescale, roles.apart);
}

/// Keys to the left and to the right of the diagonal that a row may see; -1:
/// all.
std::pair<int64_t, int64_t> getBand(Attribute mask) {
  if (isa_and_nonnull<attn::CausalAttr>(mask))
    return {-1, 0};
  if (auto window = dyn_cast_or_null<attn::WindowAttr>(mask))
    return {window.getLeft(), window.getRight()};
  std::pair<int64_t, int64_t> band = {-1, -1};
  auto conjunction = dyn_cast_or_null<attn::AndAttr>(mask);
  if (!conjunction)
    return band;
  // -1 as an unsigned number is larger than every bound.
  auto least = [](int64_t a, int64_t b) {
    return uint64_t(a) < uint64_t(b) ? a : b;
  };
  for (Attribute part : conjunction.getParts()) {
    auto [left, right] = getBand(part);
    band = {least(band.first, left), least(band.second, right)};
  }
  return band;
}

ScheduleRequest ConvertAttnToTile::getRequest(attn::ForwardOp op) {
  ScheduleRequest request;
  request.headDim = op.getHeadDim();
  request.valueHeadDim = op.getValueHeadDim();
  Type element = op.getQuery().getType().getElementType();
  request.element = element.isF16()    ? ElementKind::F16
                    : element.isBF16() ? ElementKind::BF16
                                       : ElementKind::F32;
  request.hasScore = op.hasScore();
  request.isMasked = op.getMask().has_value() || op.getKvLengths();
  std::tie(request.left, request.right) = getBand(op.getMaskAttr());
  request.tiles = tiles;
  request.stages = stages;
  request.warps = warps;
  request.alignment = alignment;
  request.length = length;
  return request;
}

LogicalResult ConvertAttnToTile::convert(func::FuncOp func,
                                         const TargetInfo &target) {
  bool hasAttention =
      func.walk([](attn::ForwardOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!hasAttention)
    return success();
  if (!func.getBody().hasOneBlock())
    return func.emitOpError()
           << "has " << func.getBody().getBlocks().size()
           << " blocks, but a kernel's function has one; remove the branches";
  attn::ForwardOp op = findForward(func);
  if (!op || failed(checkSignature(func, op)))
    return failure();
  llvm::Expected<Schedule> schedule = chooseSchedule(getRequest(op), target);
  if (!schedule)
    return op.emitOpError() << llvm::toString(schedule.takeError());
  SmallVector<IntegerSet> sets =
      maskToSets(op.getMask().value_or(Attribute()), &getContext());
  OpBuilder b(func);
  auto attr = tile::ScheduleAttr::get(&getContext(), schedule->q, schedule->kv,
                                      schedule->stages, schedule->warps,
                                      schedule->qInRegisters, schedule->sram,
                                      getRoles(*schedule, &getContext()));
  tile::KernelOp kernel = createKernel(b, func, op, attr);
  Block *entry = b.createBlock(
      &kernel.getBody(), {}, kernel.getArgumentTypes(),
      SmallVector<Location>(kernel.getArgumentTypes().size(), op.getLoc()));
  KernelViews views =
      getViews(op, SmallVector<BlockArgument>(entry->getArguments()),
               func.getNumResults() == 2);
  buildKernelBody(b, op, attr, views, sets);
  func.erase();
  return success();
}
} // namespace
} // namespace flashc
