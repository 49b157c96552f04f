// convert-warp-to-nvvm, data movement: buffers, channels, and the copies
// between global and shared memory.
//
// A buffer is copied slab by slab in pieces of 16 bytes: thread t has piece
// t % pieces of row t / pieces, and then every (threads / pieces)-th row. So
// neighbouring threads read neighbouring addresses, and a thread's swizzle
// stays the same.
#include "KernelEmitter.h"

#include "flashc/Conversion/Passes.h"

#include <fmt/format.h>
#include <numeric>

using namespace mlir;
using namespace flashc;

int64_t KernelEmitter::copyBytes(MemRefType view) const {
  int64_t bytes = features.alignment ? features.alignment : 16;
  return std::gcd<int64_t>(std::gcd<int64_t>(bytes, 16),
                           view.getShape().back() * 2);
}

void KernelEmitter::emitAlloc(warp::AllocOp op) {
  int64_t offset = op.getOffset().value_or(0);
  buffers[op.getBuffer()] =
      kernel.getGroups() ? sharedAt(offset) : gep(shared, offset);
}

void KernelEmitter::emitChannel(warp::ChannelOp op) {
  channels[op.getChannel()] = {gep(shared, op.getOffset().value_or(0)), op,
                               channels.size()};
}

Value KernelEmitter::slot(const Channel &channel, Value block) {
  warp::ChannelOp op = channel.op;
  auto type = cast<warp::ChannelType>(op.getChannel().getType());
  if (type.getDepth() == 1)
    return channel.base;
  Value nth =
      arith::SubIOp::create(b, toI32(scalar(block)), toI32(scalar(op.getLo())));
  Value index = arith::RemUIOp::create(b, nth, i32(type.getDepth()));
  return gep(
      channel.base,
      arith::MulIOp::create(b, index, i32(type.getBytes() / type.getDepth())));
}

void KernelEmitter::commitCopies() {
  if (features.hasCpAsync)
    NVVM::CpAsyncCommitGroupOp::create(b);
}

void KernelEmitter::waitForCopies(int64_t pending) {
  if (features.hasCpAsync)
    NVVM::CpAsyncWaitGroupOp::create(b, pending);
  NVVM::Barrier0Op::create(b);
}

// This thread's place in row 0 of a channel's head, for a put. In a loop beside
// the channel one pointer a channel lives, which LLVM must not take apart again
// into base and offset; all else is made anew. A channel that is opened in a
// loop has its head from there: registers are shorter still, and copies of the
// head and of the thread's id keep LLVM from hoisting what follows from them.
Value KernelEmitter::channelAddress(warp::PutOp put, const Channel &channel) {
  warp::ChannelOp from = channel.op;
  const View &view = views[from.getView()];
  auto type =
      cast<warp::ChannelType>(from.getChannel().getType()).getBufferType();
  if (!isa<warp::KernelOp>(from->getParentOp())) {
    Value head = inlineAsm(b.getI32Type(), "mov.b32 $0, $1;", "=r,r",
                           toI32(scalar(from.getHead())));
    Value offset = headOffset(view, scalar(from.getBatch()), toIndex(head));
    return threadAddress(view, elementAddress(view, offset), type);
  }
  auto make = [&] {
    Value address = threadAddress(
        view, headAddress(view, from.getBatch(), from.getHead()), type);
    return inlineAsm(address.getType(), "mov.b64 $0, $1;", "=l,l", address);
  };
  if (isa<warp::KernelOp>(put->getParentOp()))
    return make();
  return atEntry(fmt::format("channel{}", channel.id), make);
}

void KernelEmitter::emitPut(warp::PutOp op) {
  const Channel channel = channels[op.getChannel()];
  warp::ChannelOp from = channel.op;
  auto type = cast<warp::ChannelType>(from.getChannel().getType());
  const View &view = views[from.getView()];
  Value block = toI32(scalar(op.getBlock()));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, block,
                                       toI32(scalar(from.getHi())));
  callWithCondition(inside, [&] {
    // A channel that is opened in a loop: see channelAddress.
    if (!isa<warp::KernelOp>(from->getParentOp()))
      copyThread = inlineAsm(b.getI32Type(), "mov.u32 $0, %tid.x;", "=r", {});
    Value row =
        inlineAsm(b.getI32Type(),
                  fmt::format("mul.lo.s32 $0, $1, {};", type.getShape()[0]),
                  "=r,r", block);
    Value limit =
        from.getLimit() ? toI32(scalar(from.getLimit())) : view.sizes[2];
    Value start = headAddress(view, from.getBatch(), from.getHead());
    Value own = channelAddress(op, channel);
    copyTileIn(view, start, own, row, limit, slot(channel, op.getBlock()),
               type.getBufferType());
    copyThread = Value();
  });
  commitCopies();
}

// Gets that follow each other wait as one, at the first.
void KernelEmitter::emitGet(warp::GetOp op) {
  auto isGet = [](Operation *at) { return isa_and_nonnull<warp::GetOp>(at); };
  if (!isGet(op->getPrevNode())) {
    int64_t pending = op.getPending().value_or(0);
    for (Operation *at = op->getNextNode(); isGet(at); at = at->getNextNode())
      pending = std::min<int64_t>(
          pending, cast<warp::GetOp>(at).getPending().value_or(0));
    waitForCopies(pending);
  }
  buffers[op.getBuffer()] = slot(channels[op.getChannel()], op.getBlock());
}

void KernelEmitter::emitCopyIn(warp::CopyInOp op) {
  const View &view = views[op.getView()];
  Value limit = op.getLimit() ? toI32(scalar(op.getLimit())) : view.sizes[2];
  auto type = cast<warp::BufferType>(op.getBuffer().getType());
  Value start = headAddress(view, op.getBatch(), op.getHead());
  copyTileIn(view, start, threadAddress(view, start, type),
             toI32(scalar(op.getRow())), limit, buffers[op.getBuffer()], type);
  commitCopies();
}

KernelEmitter::CopyPlan KernelEmitter::planCopy(warp::BufferType type) {
  CopyPlan plan;
  plan.swizzle = Swizzle{type.getSegment()};
  plan.rowsPerStep = threads() / plan.swizzle.pieces();
  std::string key = fmt::format("copy{}", type.getSegment());
  Value own = copyThread ? copyThread : thread;
  auto place = [&](StringRef what, llvm::function_ref<Value()> make) -> Value {
    return copyThread ? make() : atEntry(key + what.str(), make);
  };
  plan.row = place("row", [&]() -> Value {
    return arith::DivUIOp::create(b, own, i32(plan.swizzle.pieces()));
  });
  plan.column = place("column", [&]() -> Value {
    Value piece = arith::AndIOp::create(b, own, i32(plan.swizzle.pieces() - 1));
    return arith::ShLIOp::create(b, piece, i32(3));
  });
  plan.lane = place("lane", [&]() -> Value {
    Value group =
        arith::DivUIOp::create(b, plan.row, i32(plan.swizzle.rowGroup()));
    Value permuted = arith::XOrIOp::create(
        b, arith::AndIOp::create(b, group, i32(plan.swizzle.pieces() - 1)),
        arith::ShRUIOp::create(b, plan.column, i32(3)));
    return arith::AddIOp::create(
        b, arith::MulIOp::create(b, plan.row, i32(plan.swizzle.pitch())),
        arith::ShLIOp::create(b, permuted, i32(4)));
  });
  return plan;
}

// Element 0 of (batch, head).
Value KernelEmitter::headAddress(const View &view, Value batch, Value head) {
  return elementAddress(view, headOffset(view, scalar(batch), scalar(head)));
}

// This thread's first piece of the head's first rows.
Value KernelEmitter::threadAddress(const View &view, Value headStart,
                                   warp::BufferType type) {
  CopyPlan plan = planCopy(type);
  Value offset = arith::AddIOp::create(
      b, arith::MulIOp::create(b, wide(plan.row), view.strides[2]),
      wide(plan.column));
  return LLVM::GEPOp::create(b, headStart.getType(), view.type.getElementType(),
                             headStart, ArrayRef<LLVM::GEPArg>{offset});
}

// Calls `piece` for each of this thread's pieces: shared and global address,
// whether its row is inside, its column, and the first column of its slab.
// `own` is the thread's address for row 0 of the head.
void KernelEmitter::forEachPiece(
    const View &view, Value own, Value row, Value limit, Value buffer,
    warp::BufferType type,
    llvm::function_ref<void(Value address, Value global, Value inside,
                            Value column, int64_t firstColumn)>
        piece) {
  CopyPlan plan = planCopy(type);
  int64_t rows = type.getShape()[0], segment = type.getSegment();
  Value first = arith::AddIOp::create(b, row, plan.row);
  Value offset = arith::MulIOp::create(b, wide(row), view.strides[2]);
  Value global =
      LLVM::GEPOp::create(b, own.getType(), view.type.getElementType(), own,
                          ArrayRef<LLVM::GEPArg>{offset});
  Value step = opaqueProduct(view.strides[2], plan.rowsPerStep * 2);
  for (int64_t done = 0; done < rows; done += plan.rowsPerStep) {
    // With few threads a step is shorter than the swizzle's period.
    int64_t turn = done / plan.swizzle.rowGroup() % plan.swizzle.pieces();
    Value lanes =
        turn ? arith::XOrIOp::create(b, plan.lane, i32(turn * 16)).getResult()
             : plan.lane;
    Value inside = arith::CmpIOp::create(
        b, arith::CmpIPredicate::slt,
        arith::AddIOp::create(b, first, i32(done)), limit);
    auto copyRow = [&] {
      for (int64_t column = 0; column < type.getShape()[1]; column += segment) {
        Value address =
            gep(gep(buffer, lanes), column / segment * slabBytes(type) +
                                        done * plan.swizzle.pitch());
        Value own = arith::AddIOp::create(b, plan.column, i32(column));
        piece(address, gep(global, column * 2), inside, own, column);
      }
    };
    if (done + plan.rowsPerStep > rows)
      callWithCondition(arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                              plan.row, i32(rows - done)),
                        copyRow);
    else
      copyRow();
    if (done + plan.rowsPerStep < rows)
      global = gep(global, step);
  }
}

// stride * factor, made where it is used: a multiplication is cheaper than two
// registers that live through the loop. The side effect keeps LLVM from
// sharing it.
Value KernelEmitter::opaqueProduct(Value stride, int64_t factor) {
  return inlineAsm(b.getI64Type(),
                   fmt::format("mul.lo.s64 $0, $1, {};", factor), "=l,l",
                   stride);
}

// The type that moves `bytes` bytes in one instruction.
static Type transferType(OpBuilder &b, int64_t bytes) {
  if (bytes == 2)
    return b.getIntegerType(16);
  if (bytes == 4)
    return b.getI32Type();
  return VectorType::get(bytes / 4, b.getI32Type());
}

// Columns at or past the view's head dim are outside, whatever memory holds.
Value KernelEmitter::insideColumns(Value inside, Value column, int64_t offset,
                                   int64_t end, int64_t columns) {
  if (end <= columns)
    return inside;
  Value position = arith::AddIOp::create(b, column, i32(offset));
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, position,
                                     i32(columns));
  return arith::AndIOp::create(b, inside, fits);
}

void KernelEmitter::copyTileIn(const View &view, Value headStart, Value own,
                               Value row, Value limit, Value buffer,
                               warp::BufferType type) {
  int64_t bytes = copyBytes(view.type), columns = view.type.getShape()[3];
  forEachPiece(view, own, row, limit, buffer, type,
               [&](Value address, Value source, Value inside, Value column,
                   int64_t firstColumn) {
                 for (int64_t done = 0; done < 16; done += bytes) {
                   Value valid =
                       insideColumns(inside, column, done / 2,
                                     firstColumn + type.getSegment(), columns);
                   copyPieceIn(gep(address, done), gep(source, done), valid,
                               headStart, bytes);
                 }
               });
}

// Zero where not valid; nothing is read then. The synchronous form reads the
// head's first element instead, which exists since some row is inside.
void KernelEmitter::copyPieceIn(Value to, Value from, Value valid, Value safe,
                                int64_t bytes) {
  if (features.hasCpAsync && bytes >= 4) {
    Value size = arith::SelectOp::create(b, valid, i32(bytes), i32(0));
    auto cache = bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                             : NVVM::LoadCacheModifierKind::CA;
    NVVM::CpAsyncOp::create(b, to, from, uint32_t(bytes), cache, size);
    return;
  }
  Type whole = transferType(b, bytes);
  Value address = arith::SelectOp::create(b, valid, from, safe);
  Value loaded = LLVM::LoadOp::create(b, whole, address,
                                      /*alignment=*/unsigned(bytes));
  Value zero = LLVM::ZeroOp::create(b, whole);
  Value value = LLVM::SelectOp::create(b, valid, loaded, zero);
  LLVM::StoreOp::create(b, value, to, unsigned(bytes));
}

void KernelEmitter::emitCopyOut(warp::CopyOutOp op) {
  const View &view = views[op.getView()];
  auto type = cast<warp::BufferType>(op.getBuffer().getType());
  int64_t bytes = copyBytes(view.type), columns = view.type.getShape()[3];
  Value own =
      threadAddress(view, headAddress(view, op.getBatch(), op.getHead()), type);
  forEachPiece(
      view, own, toI32(scalar(op.getRow())), view.sizes[2],
      buffers[op.getBuffer()], type,
      [&](Value address, Value target, Value inside, Value column,
          int64_t firstColumn) {
        Type transfer = transferType(b, bytes);
        for (int64_t done = 0; done < 16; done += bytes) {
          Value valid = insideColumns(inside, column, done / 2,
                                      firstColumn + type.getSegment(), columns);
          callWithCondition(valid, [&] {
            Value value = LLVM::LoadOp::create(b, transfer, gep(address, done),
                                               unsigned(bytes));
            LLVM::StoreOp::create(b, value, gep(target, done), unsigned(bytes));
          });
        }
      });
}

// The four lanes of a quad hold the same rows, and so do the warps of all parts
// of the columns: one of them writes.
Value KernelEmitter::isRowWriter(warp::FragmentType type) {
  Value writer =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                            arith::AndIOp::create(b, lane, i32(3)), i32(0));
  int64_t parts = Deal(type.getRows(), grid()).parts;
  if (parts == 1)
    return writer;
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                        columnPart(parts), i32(0));
  return arith::AndIOp::create(b, writer, isFirst);
}

void KernelEmitter::emitStoreRows(warp::StoreRowsOp op) {
  const View &view = views[op.getView()];
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, grid());
  Value headStart =
      headOffset(view, scalar(op.getBatch()), scalar(op.getHead()));
  Value first = rowOrigin(op.getRow(), type);
  Value writer = isRowWriter(type);
  Registers registers = fragments[op.getFragment()];
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value row = arith::AddIOp::create(b, first, i32(rowTile * 16 + half * 8));
      Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row,
                                           view.sizes[2]);
      callWithCondition(arith::AndIOp::create(b, writer, inside), [&] {
        Value offset = arith::AddIOp::create(
            b, headStart, arith::MulIOp::create(b, wide(row), view.strides[2]));
        LLVM::StoreOp::create(b, registers[FragmentLayout::row(rowTile, half)],
                              elementAddress(view, offset));
      });
    }
}
