// convert-warp-to-nvvm: last of our levels. In: `warp.kernel`s with puts,
// pending counts and offsets in place. Out: `llvm.func` kernels of `arith`,
// `scf`, LLVM and NVVM ops, which upstream's conversions finish.
//
// This file holds the function, its arguments and the control flow.
#include "KernelEmitter.h"

#include "flashc/Conversion/Passes.h"
#include "flashc/Support/TargetInfo.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace flashc {
#define GEN_PASS_DEF_CONVERTWARPTONVVM
#include "Conversion/ConversionPasses.h.inc"

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
/// sizeof(CUtensorMap).
constexpr int64_t kTensorMapBytes = 128;
constexpr StringLiteral kSharedSymbol = "flashc_shared";

KernelEmitter::KernelEmitter(warp::KernelOp kernel,
                             const MachineFeatures &features)
    : kernel(kernel), features(features), b(kernel.getLoc(), OpBuilder(kernel)),
      mapList(warp::getTensorMaps(kernel)) {}

// A view's parameters, in order: pointer, dynamic sizes (i32), dynamic strides
// (i64, elements).
static void appendParameterTypes(MemRefType type, SmallVectorImpl<Type> &out) {
  MLIRContext *context = type.getContext();
  out.push_back(LLVM::LLVMPointerType::get(context, kGlobalSpace));
  out.append(type.getNumDynamicDims(), IntegerType::get(context, 32));
  auto [strides, offset] = type.getStridesAndOffset();
  if (!type.getLayout().isIdentity())
    out.append(llvm::count_if(strides, ShapedType::isDynamic),
               IntegerType::get(context, 64));
}

// Blocks that a multiprocessor is to hold. A kernel that only moves data, but
// for a second way that hardly ever runs, gets no more registers than leave
// room for several: what it waits for is memory. With head dim 64 and two
// blocks an H200 took 71 us for 16384 tokens of 32 heads, a third of which was
// waiting.
int32_t KernelEmitter::countResidentBlocks() {
  constexpr int64_t kShort = 32, kLong = 64; // elements of a thread
  if (kernel.getGroups())
    return 1;
  int32_t blocks = 1;
  kernel.walk([&](warp::AnyNotFiniteOp op) {
    auto type = op.getFragment().getType();
    if (type.getOf() == 0) {
      int64_t own = ShapedType::getNumElements(type.getShape()) / threads();
      blocks = own <= kShort ? 4 : own <= kLong ? 3 : 2;
    }
  });
  return blocks;
}

LLVM::LLVMFuncOp KernelEmitter::createFunction() {
  MLIRContext *context = b.getContext();
  SmallVector<Type> parameters;
  for (Type type : kernel.getArgumentTypes())
    appendParameterTypes(cast<MemRefType>(type), parameters);
  size_t firstMap = parameters.size();
  parameters.append(mapList.size(), LLVM::LLVMPointerType::get(context));
  if (kernel.isPersistent()) // the counter of tiles
    parameters.push_back(LLVM::LLVMPointerType::get(context, kGlobalSpace));
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), parameters);
  auto func = LLVM::LLVMFuncOp::create(b, kernel.getSymName(), type);
  for (size_t i = 0; i < mapList.size(); ++i) {
    auto set = [&](StringRef name, Attribute value) {
      func.setArgAttr(firstMap + i, name, value);
    };
    set(LLVM::LLVMDialect::getByValAttrName(),
        TypeAttr::get(
            LLVM::LLVMArrayType::get(b.getI8Type(), kTensorMapBytes)));
    set(LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(64));
    set(NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  }
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                b.getDenseI32ArrayAttr({int32_t(threads()), 1, 1}));
  func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                b.getI32IntegerAttr(countResidentBlocks()));
  // Flush denormals: ex2.approx does, and it keeps max and fma to one
  // instruction.
  func.setPassthroughAttr(b.getArrayAttr(b.getStrArrayAttr(
      {"denormal-fp-math-f32", "preserve-sign,preserve-sign"})));
  return func;
}

void KernelEmitter::bindArguments(LLVM::LLVMFuncOp func) {
  Block *entry = &func.getBody().front();
  unsigned next = 0;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    View view;
    view.type = cast<MemRefType>(argument.getType());
    view.ptr = entry->getArgument(next++);
    for (int64_t size : view.type.getShape())
      view.sizes.push_back(
          ShapedType::isDynamic(size) ? entry->getArgument(next++) : i32(size));
    auto [strides, offset] = view.type.getStridesAndOffset();
    if (view.type.getLayout().isIdentity()) {
      // Row-major: each stride is the product of the sizes after it.
      view.strides.resize(strides.size());
      Value stride = i64(1);
      for (int64_t dim = strides.size() - 1; dim >= 0; --dim) {
        view.strides[dim] = stride;
        if (dim)
          stride = arith::MulIOp::create(b, stride, wide(view.sizes[dim]));
      }
    } else {
      for (int64_t stride : strides)
        view.strides.push_back(ShapedType::isDynamic(stride)
                                   ? entry->getArgument(next++)
                                   : i64(stride));
    }
    views[argument] = view;
  }
  for (size_t i = 0; i < mapList.size(); ++i)
    tensorMaps.push_back(entry->getArgument(next++));
  if (kernel.isPersistent())
    counter = entry->getArgument(next++);
}

LogicalResult KernelEmitter::emit() {
  for (Type type : kernel.getArgumentTypes())
    if (auto view = cast<MemRefType>(type);
        view.getElementType().isBF16() && !features.hasBF16)
      return kernel.emitOpError()
             << "needs sm_80 (bf16 mma.sync), but the target is "
             << features.arch << "; use f16 or a newer arch";
  // Kernels with a grid of their own have sums in f32 too; what they multiply
  // is in shared memory, which holds no f32.
  for (Type type : kernel.getArgumentTypes())
    if (auto view = cast<MemRefType>(type);
        !kernel.getGrid() && view.getRank() == 4 &&
        !view.getLayout().isIdentity() && view.getElementType().isF32())
      return kernel.emitOpError()
             << "has f32 tensors, but tensor-core products are exact for f16 "
                "and bf16 only; use one of these or the cpu target";
  auto module = kernel->getParentOfType<ModuleOp>();
  if (!module.lookupSymbol(kSharedSymbol)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                           /*isConstant=*/false, LLVM::Linkage::External,
                           kSharedSymbol, Attribute(), /*alignment=*/1024,
                           kSharedSpace);
  }
  LLVM::LLVMFuncOp func = createFunction();
  Block *entry = func.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  bindArguments(func);
  shared = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), kSharedSpace),
      kSharedSymbol);
  awaitKernelBefore();
  if (kernel.getGroups())
    return emitRoles();
  startSegment();
  if (failed(emitBlock(kernel.getBody().front())))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  return success();
}

// Kernels with a grid of their own run one behind the other, and each may be
// started while the blocks of the one before are at their ends. It lets the
// next one do so once all of its own blocks run, and waits for all that the one
// before has written; launched otherwise, for nothing.
void KernelEmitter::awaitKernelBefore() {
  if (!features.hasDependentLaunch || !kernel.getGrid())
    return;
  asmVoid("griddepcontrol.launch_dependents;", "~{memory}", {});
  asmVoid("griddepcontrol.wait;", "~{memory}", {});
}

// Everything that follows derives its thread's place from a thread id read
// anew, so that no such value lives through the loop before, where registers
// are short. The side effect keeps LLVM from seeing that it is the same one.
void KernelEmitter::startSegment() {
  thread = inlineAsm(b.getI32Type(), "mov.u32 $0, %tid.x;", "=r", {});
  lane = arith::AndIOp::create(b, thread, i32(31));
  warpId = arith::ShRUIOp::create(b, thread, i32(5));
  beginSegment();
}

void KernelEmitter::beginSegment() {
  entryValues.clear();
  Block *before = b.getInsertionBlock();
  Block *after = b.createBlock(before->getParent());
  b.setInsertionPointToEnd(before);
  entryEnd = LLVM::BrOp::create(b, after);
  b.setInsertionPointToEnd(after);
}

LogicalResult KernelEmitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (failed(emitOp(&op)))
      return failure();
  return success();
}

LogicalResult KernelEmitter::emitOp(Operation *op) {
  b.setLoc(op->getLoc());
  auto done = [](auto &&emit) {
    emit();
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<warp::ReturnOp, warp::EndTileOp, scf::YieldOp, warp::RingOp,
            warp::StagingOp>([](auto) { return success(); })
      .Case([&](warp::TilesOp op) { return emitTiles(op); })
      .Case([&](warp::SendOp op) { return emitSend(op); })
      .Case([&](warp::ReceiveOp op) { return emitReceive(op); })
      .Case([&](warp::SkipOp op) { return emitSkip(op); })
      .Case([&](warp::AcquireOp op) { return emitAcquire(op); })
      .Case([&](warp::CommitOp op) { return done([&] { emitCommit(op); }); })
      .Case([&](warp::ReadValuesOp op) {
        return done([&] { emitReadValues(op); });
      })
      .Case([&](warp::StageSumsOp op) {
        return done([&] { emitStageSums(op); });
      })
      .Case(
          [&](warp::SendSumsOp op) { return done([&] { emitSendSums(op); }); })
      .Case([&](warp::StoreSumsOp op) {
        return done([&] { emitStoreSums(op); });
      })
      .Case([&](warp::BeginSumsOp op) {
        return done([&] { emitBeginSums(op); });
      })
      .Case([&](warp::EndSumsOp op) { return done([&] { emitEndSums(op); }); })
      .Case([&](warp::AddPackedOp op) {
        return done([&] { emitAddPacked(op); });
      })
      .Case([&](warp::ReclaimOp op) { return done([&] { emitReclaim(op); }); })
      .Case([&](warp::ReleaseOp op) { return done([&] { emitRelease(op); }); })
      .Case([&](warp::AdvanceOp op) { return done([&] { emitAdvance(op); }); })
      .Case([&](warp::WgmmaOp op) { return done([&] { emitWgmma(op); }); })
      .Case([&](warp::SettleOp op) { return done([&] { emitSettle(op); }); })
      .Case([&](warp::AwaitTurnOp op) {
        return done([&] { emitAwaitTurn(op); });
      })
      .Case(
          [&](warp::PassTurnOp op) { return done([&] { emitPassTurn(op); }); })
      .Case([&](warp::ClearRowsOp op) {
        return done([&] { emitClearRows(op); });
      })
      .Case([&](warp::FetchOp op) { return done([&] { emitFetch(op); }); })
      .Case(
          [&](warp::MmaFetchOp op) { return done([&] { emitMmaFetch(op); }); })
      .Case([&](warp::EmitOp op) { return done([&] { emitEmit(op); }); })
      .Case([&](warp::AliasOp op) {
        buffers[op.getResult()] = buffers[op.getBuffer()];
        return success();
      })
      .Case([&](scf::ForOp op) { return emitFor(op); })
      .Case([&](scf::IfOp op) { return emitIf(op); })
      .Case([&](warp::ProgramOp op) { return done([&] { emitProgram(op); }); })
      .Case([&](warp::GroupOp op) {
        scalars.map(op.getGroup(), toIndex(group));
        return success();
      })
      .Case([&](warp::FillOp op) { return done([&] { emitFill(op); }); })
      .Case([&](warp::MapOp op) { return emitMap(op); })
      .Case([&](warp::ReduceOp op) { return done([&] { emitReduce(op); }); })
      .Case([&](warp::CollectOp op) { return done([&] { emitCollect(op); }); })
      .Case([&](warp::AnyOp op) { return done([&] { emitAny(op); }); })
      .Case(
          [&](warp::AnyAboveOp op) { return done([&] { emitAnyAbove(op); }); })
      .Case([&](warp::AnyNotFiniteOp op) {
        return done([&] { emitAnyNotFinite(op); });
      })
      .Case([&](warp::LoadOp op) { return done([&] { emitLoad(op); }); })
      .Case([&](warp::MmaOp op) { return done([&] { emitMma(op); }); })
      .Case([&](warp::ScanOp op) { return done([&] { emitScan(op); }); })
      .Case([&](warp::ScrubOp op) { return done([&] { emitScrub(op); }); })
      .Case([&](warp::StoreOp op) { return done([&] { emitStore(op); }); })
      .Case([&](warp::AllocOp op) { return done([&] { emitAlloc(op); }); })
      .Case([&](warp::ChannelOp op) { return done([&] { emitChannel(op); }); })
      .Case([&](warp::PutOp op) { return done([&] { emitPut(op); }); })
      .Case([&](warp::GetOp op) { return done([&] { emitGet(op); }); })
      .Case([&](warp::CopyInOp op) { return done([&] { emitCopyIn(op); }); })
      .Case([&](warp::CopyOutOp op) { return done([&] { emitCopyOut(op); }); })
      .Case([&](warp::StoreRowsOp op) {
        return done([&] { emitStoreRows(op); });
      })
      .Case([&](warp::LoadValuesOp op) {
        return done([&] { emitLoadValues(op); });
      })
      .Case(
          [&](warp::LoadSumsOp op) { return done([&] { emitLoadSums(op); }); })
      .Case([&](warp::AddSumsOp op) { return done([&] { emitAddSums(op); }); })
      .Case([&](warp::ScatterOp op) { return emitScatter(op); })
      .Case([&](warp::WaitOp op) {
        return done([&] { waitForCopies(op.getPending().value_or(0)); });
      })
      .Case([&](warp::BarrierOp) {
        return done([&] { NVVM::Barrier0Op::create(b); });
      })
      .Default([&](Operation *op) { return emitScalar(op, scalars); });
}

// What a value of the level is on the machine: a fragment its registers, a
// buffer its shared address, anything else itself.
static void appendRegisterTypes(Type type, WarpGrid grid,
                                SmallVectorImpl<Type> &out) {
  if (isa<warp::BufferType>(type)) {
    out.push_back(IntegerType::get(type.getContext(), 32));
    return;
  }
  auto fragment = dyn_cast<warp::FragmentType>(type);
  if (!fragment) {
    out.push_back(type);
    return;
  }
  Type element = fragment.getElementType();
  bool packed = element.isF16() || element.isBF16();
  out.append(FragmentLayout(fragment, grid).registers(packed),
             packed ? Type(IntegerType::get(type.getContext(), 32)) : element);
}

void KernelEmitter::appendRegisters(Value value, Registers &out) {
  if (auto it = fragments.find(value); it != fragments.end())
    out.append(it->second);
  else if (isa<warp::BufferType>(value.getType()))
    out.push_back(buffers[value]);
  else
    out.push_back(scalar(value));
}

void KernelEmitter::bindRegisters(ValueRange values, ValueRange registers) {
  size_t next = 0;
  for (Value value : values) {
    SmallVector<Type> types;
    appendRegisterTypes(value.getType(), grid(), types);
    ValueRange part = registers.slice(next, types.size());
    next += types.size();
    if (isa<warp::FragmentType>(value.getType()))
      fragments[value] = Registers(part);
    else if (isa<warp::BufferType>(value.getType()))
      buffers[value] = part.front();
    else
      scalars.map(value, part.front());
  }
}

// Emits `from` at the end of `to`, with a terminator that yields its
// registers.
LogicalResult KernelEmitter::emitBody(Block &from, Block *to) {
  OpBuilder::InsertionGuard guard(b);
  if (to->mightHaveTerminator())
    to->getTerminator()->erase();
  b.setInsertionPointToEnd(to);
  if (failed(emitBlock(from)))
    return failure();
  Registers yielded;
  for (Value value : from.getTerminator()->getOperands())
    appendRegisters(value, yielded);
  scf::YieldOp::create(b, yielded);
  return success();
}

LogicalResult KernelEmitter::emitFor(scf::ForOp op) {
  bool isOutermost = isa<warp::KernelOp>(op->getParentOp());
  if (isOutermost)
    startSegment();
  Registers inits;
  for (Value init : op.getInitArgs())
    appendRegisters(init, inits);
  auto loop = scf::ForOp::create(b, scalar(op.getLowerBound()),
                                 scalar(op.getUpperBound()),
                                 scalar(op.getStep()), inits);
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  bindRegisters(op.getRegionIterArgs(), loop.getRegionIterArgs());
  if (failed(emitBody(*op.getBody(), loop.getBody())))
    return failure();
  bindRegisters(op.getResults(), loop.getResults());
  if (isa<warp::TilesOp>(op->getParentOp()) && !isProducer)
    return remakeTile(op);
  if (isa<warp::RoleOp>(op->getParentOp()) && !isProducer) {
    remakeLane();
    return remakeScalars(op);
  }
  if (!isOutermost)
    return success();
  startSegment();
  return remakeScalars(op);
}

// Whether this is the code of a group that a reducer stands beside.
bool KernelEmitter::isBesideReducer() {
  return !isProducer && !kernel.isPersistent() && kernel.getGroups();
}

LogicalResult KernelEmitter::emitIf(scf::IfOp op) {
  SmallVector<Type> types;
  for (Type type : op.getResultTypes())
    appendRegisterTypes(type, grid(), types);
  auto branch = scf::IfOp::create(b, types, scalar(op.getCondition()),
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/op.elseBlock() != nullptr);
  if (failed(emitBody(*op.thenBlock(), branch.thenBlock())) ||
      (op.elseBlock() && failed(emitBody(*op.elseBlock(), branch.elseBlock()))))
    return failure();
  bindRegisters(op.getResults(), branch.getResults());
  return success();
}

namespace {
struct ConvertWarpToNVVM : impl::ConvertWarpToNVVMBase<ConvertWarpToNVVM> {
  using Base::Base;
  void runOnOperation() override {
    auto target = lookupTarget(arch);
    if (!target) {
      getOperation().emitError(llvm::toString(target.takeError()));
      return signalPassFailure();
    }
    MachineFeatures features{arch,
                             target->hasCpAsync,
                             target->hasMmaK16,
                             target->hasBF16Mma,
                             target->hasDependentLaunch,
                             alignment};
    SmallVector<warp::KernelOp> kernels(
        getOperation().getOps<warp::KernelOp>());
    for (warp::KernelOp kernel : kernels) {
      if (kernel.getGroups() && !target->hasRoles) {
        kernel.emitOpError("needs sm_90a (TMA and wgmma), but the target is ")
            << arch << "; give that target to all passes";
        return signalPassFailure();
      }
      if (failed(KernelEmitter(kernel, features).emit()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};
} // namespace
} // namespace flashc
