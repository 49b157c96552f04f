// convert-warp-to-nvvm, values in registers: fills, maps, row reductions and
// votes. Layouts are those of WarpDialect.td.
#include "KernelEmitter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <fmt/format.h>

using namespace mlir;
using namespace flashc;

static bool isPacked(Type element) {
  return element.isF16() || element.isBF16();
}

void KernelEmitter::emitFill(warp::FillOp op) {
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  FragmentLayout layout(type, warps());
  Value value;
  if (isPacked(type.getElementType())) {
    uint64_t bits = cast<FloatAttr>(op.getValue())
                        .getValue()
                        .bitcastToAPInt()
                        .getZExtValue();
    value = i32(int32_t(bits | bits << 16));
  } else {
    value = arith::ConstantOp::create(b, cast<TypedAttr>(op.getValue()));
  }
  fragments[op.getFragment()] =
      Registers(layout.registers(isPacked(type.getElementType())), value);
}

// The scalar that element `at` of a map reads from one of its inputs.
Value KernelEmitter::mapInput(Value input, const ElementPosition &at) {
  auto type = cast<warp::FragmentType>(input.getType());
  FragmentLayout layout(type, warps());
  ArrayRef<Value> registers = fragments[input];
  if (type.getRank() == 1)
    return registers[FragmentLayout::row(at.rowTile, at.half)];
  if (layout.isColumns)
    return registers[at.columnTile * 2 + at.column];
  if (!isPacked(type.getElementType()))
    return registers[layout.element(at.rowTile, at.columnTile, at.half,
                                    at.column)];
  Value pair = registers[layout.pair(at.rowTile, at.columnTile, at.half)];
  auto vectorType = VectorType::get(2, type.getElementType());
  Value vector = LLVM::BitcastOp::create(b, vectorType, pair);
  return LLVM::ExtractElementOp::create(b, vector, i32(at.column));
}

// Two f32 rounded to a packed pair, `low` in the lower half.
static Value packPair(ImplicitLocOpBuilder &b, Value low, Value high,
                      Type element, bool hasBF16) {
  auto vectorType = VectorType::get(2, element);
  Value packed;
  auto rounding =
      NVVM::FPRoundingModeAttr::get(b.getContext(), NVVM::FPRoundingMode::RN);
  if (element.isF16() && hasBF16)
    packed = NVVM::ConvertF32x2ToF16x2Op::create(b, vectorType, high, low,
                                                 Value(), rounding);
  else if (element.isBF16())
    packed = NVVM::ConvertF32x2ToBF16x2Op::create(b, vectorType, high, low,
                                                  Value(), rounding);
  else { // sm_75 converts one at a time
    Value vector = LLVM::UndefOp::create(b, vectorType);
    for (int32_t index : {0, 1}) {
      Value half = arith::TruncFOp::create(b, element, index ? high : low);
      Value position = arith::ConstantOp::create(b, b.getI32IntegerAttr(index));
      vector = LLVM::InsertElementOp::create(b, vector, half, position);
    }
    packed = vector;
  }
  return LLVM::BitcastOp::create(b, b.getI32Type(), packed);
}

// Runs the body for neighbouring elements (a pair of columns, or one row) and
// appends each result's register.
LogicalResult KernelEmitter::emitMapElements(warp::MapOp op,
                                             ArrayRef<Value> origin,
                                             ArrayRef<ElementPosition> group,
                                             MutableArrayRef<Registers> out) {
  Block &body = op.getBody().front();
  Operation *yield = body.getTerminator();
  SmallVector<SmallVector<Value, 2>> results(op.getNumResults());
  SmallVector<bool> rounded(op.getNumResults(), false);
  for (const ElementPosition &at : group) {
    IRMapping map(scalars);
    size_t argument = 0;
    for (Value input : op.getInputs())
      map.map(body.getArgument(argument++), mapInput(input, at));
    for (auto [dim, base] : llvm::enumerate(origin)) {
      int64_t offset = dim == 0 ? at.rowTile * 16 + at.half * 8
                                : at.columnTile * 8 + at.column;
      Value position = arith::AddIOp::create(b, base, i32(offset));
      map.map(body.getArgument(argument++), toIndex(position));
    }
    for (Operation &inner : body.without_terminator()) {
      // A final rounding to 16 bits is done for both columns at once.
      auto round = dyn_cast<arith::TruncFOp>(inner);
      if (round && round->hasOneUse() && !at.rankOne &&
          *round->user_begin() == yield && round.getIn().getType().isF32()) {
        map.map(round.getResult(), map.lookupOrDefault(round.getIn()));
        rounded[round->use_begin()->getOperandNumber()] = true;
        continue;
      }
      if (convertPosition(&inner, origin, map))
        continue;
      if (failed(emitScalar(&inner, map)))
        return failure();
    }
    for (auto [values, value] : llvm::zip(results, yield->getOperands()))
      values.push_back(map.lookupOrDefault(value));
  }
  for (auto [index, values] : llvm::enumerate(results)) {
    Type element = cast<warp::FragmentType>(op.getResult(index).getType())
                       .getElementType();
    if (!isPacked(element)) {
      out[index].append(values);
      continue;
    }
    if (!rounded[index])
      for (Value &value : values)
        value = arith::ExtFOp::create(b, b.getF32Type(), value);
    out[index].push_back(
        packPair(b, values[0], values[1], element, features.hasBF16));
  }
  return success();
}

Value KernelEmitter::rowOrigin(Value origin, warp::FragmentType type) {
  Deal deal(type.getRows(), warps());
  std::string key = fmt::format("row{}:{}", deal.warpRows, deal.parts);
  Value laneRow = atEntry(key, [&]() -> Value {
    Value quad = arith::ShRUIOp::create(b, lane, i32(2));
    Value first =
        arith::MulIOp::create(b, warpGroup(deal.parts), i32(deal.warpRows));
    return arith::AddIOp::create(b, first, quad);
  });
  Value row = arith::AddIOp::create(b, toI32(scalar(origin)), laneRow);
  // What a mask derives from its rows is cheap to make and many registers to
  // keep: the copy keeps LLVM from hoisting it.
  return inlineAsm(b.getI32Type(), "mov.b32 $0, $1;", "=r,r", row);
}

Value KernelEmitter::columnOrigin(Value origin, warp::FragmentType type) {
  FragmentLayout layout(type, warps());
  std::string key = "column";
  if (layout.parts > 1)
    key += fmt::format("{}:{}", layout.columns(), layout.parts);
  Value laneColumn = atEntry(key, [&]() -> Value {
    Value inQuad = arith::AndIOp::create(b, lane, i32(3));
    Value column = arith::ShLIOp::create(b, inQuad, i32(1));
    if (layout.parts == 1)
      return column;
    Value first = arith::MulIOp::create(b, columnPart(layout.parts),
                                        i32(layout.columns()));
    return arith::AddIOp::create(b, column, first);
  });
  return arith::AddIOp::create(b, toI32(scalar(origin)), laneColumn);
}

Value KernelEmitter::warpGroup(int64_t parts) {
  if (parts == 1)
    return warpId;
  return arith::AndIOp::create(b, warpId, i32(warps() / parts - 1));
}

Value KernelEmitter::columnPart(int64_t parts) {
  return arith::DivUIOp::create(b, warpId, i32(warps() / parts));
}

// The lane's elements in the order of its registers, in groups that share one:
// a pair of columns, or one row.
void KernelEmitter::forEachElements(
    warp::FragmentType type,
    llvm::function_ref<void(ArrayRef<ElementPosition>)> body) {
  FragmentLayout layout(type, warps());
  int64_t rowTiles = layout.isColumns ? 1 : layout.rowTiles;
  for (int64_t rowTile = 0; rowTile < rowTiles; ++rowTile) {
    if (type.getRank() == 1) {
      for (int64_t half : {0, 1})
        body({{rowTile, 0, half, 0, true}});
      continue;
    }
    for (int64_t column = 0; column < layout.columnTiles; ++column)
      for (int64_t half = 0; half < (layout.isColumns ? 1 : 2); ++half)
        body({{rowTile, column, half, 0, false},
              {rowTile, column, half, 1, false}});
  }
}

// Columns that are counted from the block's first one are small whole numbers,
// for which LLVM would convert each sum anew, and do so in front of the loop at
// the cost of a register each: a copy keeps their range from it.
static bool countsFromBlock(warp::MapOp op) {
  return op.getOrigin().size() == 2 &&
         isConstantIntValue(op.getOrigin()[1], 0) &&
         !op.getBody().getOps<arith::SIToFPOp>().empty();
}

LogicalResult KernelEmitter::emitMap(warp::MapOp op) {
  SmallVector<Registers> out(op.getNumResults());
  auto type = cast<warp::FragmentType>(op.getResult(0).getType());
  SmallVector<Value, 2> origin;
  for (auto [dim, first] : llvm::enumerate(op.getOrigin()))
    origin.push_back(dim == 0 ? rowOrigin(first, type)
                              : columnOrigin(first, type));
  if (countsFromBlock(op))
    origin[1] = inlineAsm(b.getI32Type(), "mov.b32 $0, $1;", "=r,r", origin[1]);
  bool isOk = true;
  forEachElements(type, [&](ArrayRef<ElementPosition> group) {
    isOk = isOk && succeeded(emitMapElements(op, origin, group, out));
  });
  if (!isOk)
    return failure();
  for (auto [result, registers] : llvm::zip(op.getResults(), out))
    fragments[result] = registers;
  return success();
}

Value KernelEmitter::combine(warp::ReduceKind kind, Value x, Value y) {
  if (kind == warp::ReduceKind::Max)
    return arith::MaxNumFOp::create(b, x, y);
  return arith::AddFOp::create(b, x, y);
}

// The four lanes of a quad hold one row.
Value KernelEmitter::quadReduce(warp::ReduceKind kind, Value value) {
  for (int64_t distance : {1, 2}) {
    Value other =
        NVVM::ShflOp::create(b, b.getF32Type(), i32(-1), value, i32(distance),
                             i32(31), NVVM::ShflKind::bfly, UnitAttr());
    value = combine(kind, value, other);
  }
  return value;
}

void KernelEmitter::emitReduce(warp::ReduceOp op) {
  auto type = cast<warp::FragmentType>(op.getFragment().getType());
  auto initType = cast<warp::FragmentType>(op.getInit().getType());
  FragmentLayout layout(type, warps());
  warp::ReduceKind kind = op.getKind();
  ArrayRef<Value> in = fragments[op.getFragment()];
  Registers out;
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      // Two chains, one a column of the lane's pairs: a single one is bound by
      // the latency of its additions.
      SmallVector<Value, 2> chains;
      for (int64_t column : {0, 1}) {
        Value chain = in[layout.element(rowTile, 0, half, column)];
        for (int64_t tile = 1; tile < layout.columnTiles; ++tile)
          chain = combine(kind, chain,
                          in[layout.element(rowTile, tile, half, column)]);
        chains.push_back(chain);
      }
      Value value = combine(kind, chains[0], chains[1]);
      if (!initType.getPartial())
        value = quadReduce(kind, value);
      Value init = fragments[op.getInit()][out.size()];
      out.push_back(combine(kind, init, value));
    }
  fragments[op.getResult()] = out;
}

void KernelEmitter::emitCollect(warp::CollectOp op) {
  Registers out;
  for (Value part : Registers(fragments[op.getParts()]))
    out.push_back(quadReduce(warp::ReduceKind::Add, part));
  fragments[op.getResult()] = out;
}

void KernelEmitter::emitAny(warp::AnyOp op) {
  scalars.map(op.getResult(), voteAny(fragments[op.getConditions()]));
}

Value KernelEmitter::voteAny(ArrayRef<Value> conditions) {
  // Several chains: one of a whole tile would be bound by its latency.
  constexpr size_t kChains = 4;
  SmallVector<Value, kChains> chains;
  for (auto [i, condition] : llvm::enumerate(conditions)) {
    if (i < kChains)
      chains.push_back(condition);
    else
      chains[i % kChains] =
          arith::OrIOp::create(b, chains[i % kChains], condition);
  }
  Value some = chains.front();
  for (Value chain : ArrayRef(chains).drop_front())
    some = arith::OrIOp::create(b, some, chain);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(-1), some,
                                  NVVM::VoteSyncKind::any);
}

// NaN and infinity stay in a sum. Four chains, for the latency of additions.
void KernelEmitter::emitAnyNotFinite(warp::AnyNotFiniteOp op) {
  ArrayRef<Value> in = fragments[op.getFragment()];
  Registers sums(in.begin(), in.begin() + std::min<size_t>(4, in.size()));
  for (auto [i, value] : llvm::enumerate(in.drop_front(sums.size())))
    sums[i % sums.size()] =
        arith::AddFOp::create(b, sums[i % sums.size()], value);
  Value sum = sums.front();
  for (Value other : ArrayRef(sums).drop_front())
    sum = arith::AddFOp::create(b, sum, other);
  Value infinity = arith::ConstantOp::create(
      b, b.getF32FloatAttr(std::numeric_limits<float>::infinity()));
  Value isNot = arith::CmpFOp::create(b, arith::CmpFPredicate::UEQ,
                                      LLVM::FAbsOp::create(b, sum), infinity);
  scalars.map(op.getResult(), voteAny(isNot));
}

// Whether some element is below `floor`, which is itself below zero: as
// unsigned integers the floats below zero are above all others, and the lower
// the larger.
Value KernelEmitter::emitAnyBelow(ArrayRef<Value> in, FloatAttr floor) {
  Value limit = i32(int32_t(floor.getValue().bitcastToAPInt().getZExtValue()));
  SmallVector<Value, 2> chains;
  for (auto [i, value] : llvm::enumerate(in)) {
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), value);
    if (i < 2)
      chains.push_back(bits);
    else
      chains[i % 2] = arith::MaxUIOp::create(b, chains[i % 2], bits);
  }
  Value most = arith::MaxUIOp::create(b, chains[0], chains[1]);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, most, limit);
}

// Floats from +0 on compare as their bits do as signed integers, and all others
// are negative as integers: limits below zero are replaced by the least one.
// ptxas makes one instruction of two maxima in a row.
void KernelEmitter::emitAnyAbove(warp::AnyAboveOp op) {
  FragmentLayout layout(cast<warp::FragmentType>(op.getScores().getType()),
                        warps());
  ArrayRef<Value> in = fragments[op.getScores()];
  Type i32Type = b.getI32Type();
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
  auto bits = [&](Value value) -> Value {
    return arith::BitcastOp::create(b, i32Type, value);
  };
  Registers above;
  if (auto floor = op.getFloorAttr())
    above.push_back(emitAnyBelow(in, floor));
  size_t row = 0;
  for (int64_t rowTile = 0; rowTile < layout.rowTiles; ++rowTile)
    for (int64_t half : {0, 1}) {
      Value limit = fragments[op.getLimits()][row++];
      Value isFromZero =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OGE, limit, zero);
      limit = arith::SelectOp::create(b, isFromZero, bits(limit),
                                      i32(std::numeric_limits<int32_t>::min()));
      SmallVector<Value, 2> chains;
      for (int64_t column : {0, 1}) {
        Value chain = bits(in[layout.element(rowTile, 0, half, column)]);
        for (int64_t tile = 1; tile < layout.columnTiles; ++tile)
          chain = arith::MaxSIOp::create(
              b, chain, bits(in[layout.element(rowTile, tile, half, column)]));
        chains.push_back(chain);
      }
      above.push_back(arith::CmpIOp::create(
          b, arith::CmpIPredicate::sgt,
          arith::MaxSIOp::create(b, chains[0], chains[1]), limit));
    }
  scalars.map(op.getResult(), voteAny(above));
}
