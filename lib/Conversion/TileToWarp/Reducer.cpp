// The main kernel of a backward whose warps have roles, of
// convert-tile-to-warp: the reducer.
//
// In an iteration it multiplies dS^T K in parts of 64 rows, whose elements it
// adds as they come. Where sums are in order (and there is room for that),
// parts are on their way out while the next part's product runs: part i is sent
// behind the start of product i + 1, the last one behind that of the next
// pair's first. The loads ahead stand behind the start of a product, too.
#include "GradientConverter.h"

using namespace mlir;

namespace flashc {

/// Rows of a part, which are wgmma's.
static constexpr int64_t kPart = 64;

LogicalResult GradientConverter::reduce() {
  beginRole(warp::RoleKind::Reducer, roles().getProducer());
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  for (Operation &op : kernel.getBody().front()) {
    if (&op == loop)
      break;
    if (auto program = dyn_cast<tile::ProgramOp>(op)) {
      if (failed(convertProgram(program)))
        return failure();
      blockNumber = program.getBlock();
    } else if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (isStreamed(load))
        sendBlock(load, values);
    } else if (op.getNumResults() && op.getNumRegions() == 0 &&
               llvm::all_of(op.getResultTypes(), isScalar) &&
               llvm::all_of(op.getOperands(),
                            [&](Value x) { return values.contains(x); })) {
      builder.clone(op, values);
    }
  }
  buildReducerLoop();
  return success();
}

void GradientConverter::sendBlock(tile::LoadOp load, IRMapping &scalars) {
  auto scalar = [&](Value value) { return cloneScalar(value, scalars); };
  tile::LoadOp beside = valuesOf.lookup(load);
  warp::SendOp::create(builder, load.getLoc(), lookup(load.getView()),
                       scalar(load.getBatch()), scalar(load.getHead()),
                       scalar(load.getRow()),
                       beside ? lookup(beside.getView()) : Value(),
                       rings.lookup(load), Value(), Value());
}

/// `value` for the coordinates that `scalars` has.
Value GradientConverter::cloneScalar(Value value, IRMapping &scalars) {
  if (Value known = scalars.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    cloneScalar(operand, scalars);
  builder.clone(*op, scalars);
  return scalars.lookup(value);
}

void GradientConverter::mapCoordinates(const Coordinates &at,
                                       IRMapping &scalars) {
  const auto *next = at.begin();
  for (BlockArgument argument : loop.getRegionIterArgs())
    if (argument.getType().isIndex())
      scalars.map(argument, *next++);
}

/// The pair behind the one at `at`.
GradientConverter::Coordinates
GradientConverter::advance(const Coordinates &at) {
  IRMapping scalars = values;
  mapCoordinates(at, scalars);
  Coordinates next;
  for (Value value : loop.getYieldedValues())
    if (value.getType().isIndex())
      next.push_back(cloneScalar(value, scalars));
  return next;
}

GradientConverter::Coordinates GradientConverter::advance(Coordinates at,
                                                          int64_t times) {
  for (int64_t i = 0; i < times; ++i)
    at = advance(at);
  return at;
}

Value GradientConverter::less(Value x, Value y) {
  return arith::CmpIOp::create(builder, loop.getLoc(),
                               arith::CmpIPredicate::slt, x, y);
}

/// Under the condition that there is such a pair. Its place is computed in
/// front, as the branch is one of the protocol.
void GradientConverter::sendIf(Value more, tile::LoadOp load,
                               const Coordinates &at) {
  IRMapping scalars = values;
  mapCoordinates(at, scalars);
  for (Value value : {load.getBatch(), load.getHead(), load.getRow()})
    cloneScalar(value, scalars);
  auto branch = scf::IfOp::create(builder, load.getLoc(), more,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  sendBlock(load, scalars);
}

/// A ring's slots are full ahead of the products, but for the one that was
/// sent before the loop.
SmallVector<GradientConverter::Ahead> GradientConverter::findAhead() {
  SmallVector<Ahead> result;
  for (auto load : loop.getBody()->getOps<tile::LoadOp>()) {
    if (!isStreamed(load))
      continue;
    int64_t before = llvm::count_if(
        kernel.getBody().getOps<tile::LoadOp>(), [&](tile::LoadOp other) {
          return rings.lookup(other) == rings.lookup(load);
        });
    int64_t depth =
        cast<warp::RingType>(rings.lookup(load).getType()).getDepth();
    result.push_back({load, std::max<int64_t>(depth - before, 1)});
  }
  return result;
}

/// As wide as registers allow; the last ones of a row narrower, where slots
/// would not take turns from one pair to the next.
SmallVector<GradientConverter::Part> GradientConverter::splitSums() {
  auto type = cast<RankedTensorType>(accumulate.getTile().getType());
  int64_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  int64_t depth = getSumSlots();
  SmallVector<int64_t> widths;
  for (int64_t left = columns; left > 0; left -= widths.back())
    widths.push_back(std::min(getPartColumns(), left));
  while (rows / kPart * int64_t(widths.size()) % depth != 0) {
    widths.back() /= 2;
    widths.push_back(widths.back());
  }
  SmallVector<Part> parts;
  for (int64_t row = 0; row < rows; row += kPart) {
    int64_t column = 0;
    for (int64_t width : widths) {
      parts.push_back({row, column, width});
      column += width;
    }
  }
  return parts;
}

GradientConverter::Target GradientConverter::targetOf(const Coordinates &at) {
  IRMapping scalars = values;
  mapCoordinates(at, scalars);
  Value row = cloneScalar(accumulate.getRow(), scalars);
  Value head = cloneScalar(accumulate.getHead(), scalars);
  Value follows = accumulate.getFollows();
  return {head, row, follows ? cloneScalar(follows, scalars) : Value()};
}

/// Slots of the staging room; without one, parts are added as they come.
int64_t GradientConverter::getSumSlots() {
  return staging ? cast<warp::StagingType>(staging.getType()).getDepth() : 1;
}

/// The first of a part's rows.
Value GradientConverter::rowOf(const Part &part, const Target &target) {
  if (!part.row)
    return target.row;
  Location loc = accumulate.getLoc();
  return arith::AddIOp::create(
      builder, loc, target.row,
      arith::ConstantIndexOp::create(builder, loc, part.row));
}

void GradientConverter::addPacked(Value product, const Part &part,
                                  const Target &target) {
  Location loc = accumulate.getLoc();
  warp::AddPackedOp::create(builder, loc, product, lookup(accumulate.getView()),
                            lookup(accumulate.getBatch()), target.head,
                            rowOf(part, target), part.column);
}

void GradientConverter::sendSums(const Part &part, int64_t slot,
                                 const Target &target) {
  Location loc = accumulate.getLoc();
  warp::SendSumsOp::create(builder, loc, staging, slot,
                           lookup(accumulate.getView()),
                           lookup(accumulate.getBatch()), target.head,
                           rowOf(part, target), part.column, part.columns);
}

void GradientConverter::beginSums(const Target &target) {
  if (target.follows)
    warp::BeginSumsOp::create(builder, accumulate.getLoc(),
                              lookup(accumulate.getTurns()),
                              lookup(accumulate.getBatch()), target.head,
                              target.row, lookup(blockNumber), target.follows);
}

void GradientConverter::endSums(const Target &target) {
  if (target.follows)
    warp::EndSumsOp::create(builder, accumulate.getLoc(),
                            lookup(accumulate.getTurns()),
                            lookup(accumulate.getBatch()), target.head,
                            target.row, lookup(blockNumber));
}

/// The part behind whose start a load's slot is free. Where parts are added
/// from registers, that may wait for memory, and loads stand as far in front as
/// they can: dO's behind the first part, as all have read that of the pair
/// before, and Q's, which the product for dK reads meanwhile, behind the
/// second. (Long blocks have two parts, of which either is as good.)
size_t GradientConverter::getSendPart(tile::LoadOp load, size_t last) {
  int64_t rows = cast<RankedTensorType>(load.getTile().getType()).getDimSize(0);
  if (staging || rows > kPart)
    return last;
  for (Operation *user : ofQueries.getLhs().getUsers()) {
    auto dot = dyn_cast<tile::DotOp>(user);
    auto argument =
        dot ? dyn_cast<BlockArgument>(dot.getRhs()) : BlockArgument();
    if (argument &&
        loop.getTiedLoopYieldedValue(argument)->get() == load.getTile())
      return std::min<size_t>(1, last);
  }
  return 0;
}

void GradientConverter::buildReducerLoop() {
  Location loc = loop.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value pairs = lookup(loop.getUpperBound()), zero = index(0);
  Coordinates first;
  for (Value init : loop.getInitArgs())
    if (init.getType().isIndex())
      first.push_back(lookup(init));
  SmallVector<Ahead> ahead = findAhead();
  int64_t least = ahead.front().pairs, most = 0;
  for (const Ahead &ring : ahead) {
    least = std::min(least, ring.pairs);
    most = std::max(most, ring.pairs);
  }
  Coordinates at = first, leading;
  for (int64_t pair = 0; pair < most; ++pair) {
    if (pair == least)
      leading = at;
    Value more = less(index(pair), pairs);
    for (const Ahead &ring : ahead)
      if (pair < ring.pairs)
        sendIf(more, ring.load, at);
    at = advance(at);
  }
  if (least == most)
    leading = at;

  Value keys = warp::ReceiveOp::create(
      builder, loc, cast<warp::RingType>(keyRing.getType()).getBufferType(),
      keyRing, Value(), Value());
  SmallVector<Part> parts = splitSums();
  auto slotOf = [&](size_t part) { return int64_t(part) % getSumSlots(); };
  size_t last = parts.size() - 1;

  // Carried: the pair before, whose last sums are on their way, and the one
  // that is sent ahead.
  SmallVector<Value> inits(first);
  llvm::append_range(inits, leading);
  size_t size = first.size();
  auto body = [&](OpBuilder &, Location, Value pair, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(pair.getParentBlock());
    Coordinates before(carried.take_front(size));
    Coordinates there(carried.slice(size, size));
    Value isSecond = less(zero, pair);
    Coordinates here = advance(before);
    for (auto [value, start] : llvm::zip_equal(here, first))
      value = arith::SelectOp::create(builder, loc, isSecond, value, start);
    Target target = targetOf(here), lastTarget;
    auto ifSecond = [&](llvm::function_ref<void()> then) {
      auto branch = scf::IfOp::create(builder, loc, isSecond,
                                      /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      then();
    };
    auto type = cast<warp::RingType>(scoreRing.getType());
    Value scores = warp::ReceiveOp::create(builder, loc, type.getBufferType(),
                                           scoreRing, Value(), Value());
    for (auto [i, part] : llvm::enumerate(parts)) {
      auto result =
          warp::FragmentType::get(builder.getContext(), {kPart, part.columns},
                                  builder.getF32Type(), false);
      Value product = warp::WgmmaOp::create(
          builder, loc, result, scores, keys, Value(), /*transpose_a=*/true,
          /*transpose_b=*/false, type.getShape()[0],
          builder.getDenseI64ArrayAttr({part.row, part.column}));
      if (i == 0)
        lastTarget = targetOf(before);
      if (i == (staging ? 1 : 0)) {
        if (lastTarget.follows)
          ifSecond([&] { endSums(lastTarget); });
        beginSums(target);
      }
      if (staging && i > 0)
        sendSums(parts[i - 1], slotOf(i - 1), target);
      else if (staging)
        ifSecond([&] { sendSums(parts[last], slotOf(last), lastTarget); });
      for (const Ahead &ring : ahead) {
        if (i != getSendPart(ring.load, last))
          continue;
        Value number =
            arith::AddIOp::create(builder, loc, pair, index(ring.pairs));
        sendIf(less(number, pairs), ring.load,
               advance(there, ring.pairs - least));
      }
      if (staging)
        warp::StageSumsOp::create(builder, loc, product, staging, slotOf(i));
      else
        addPacked(product, part, target);
    }
    SmallVector<Value> results(here);
    llvm::append_range(results, advance(there));
    scf::YieldOp::create(builder, loc, results);
  };
  auto reducing =
      scf::ForOp::create(builder, loc, zero, pairs, index(1), inits, body);
  Target target = targetOf(Coordinates(reducing.getResults().take_front(size)));
  auto branch = scf::IfOp::create(builder, loc, less(zero, pairs),
                                  /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (staging)
    sendSums(parts[last], slotOf(last), target);
  endSums(target);
}

} // namespace flashc
