//===- BackwardKernel.cpp - A kernel of the backward, and its blocks ------===//
//
// Used by convert-attn-to-tile. The parts that the kernels of an attn.backward
// are put together from. Scores stand with a row for each key and a column for
// each query: then P and dS are the left factors of dV = P dO and dK = dS Q as
// they come, and only dQ = dS^T K needs a transposed one.
//
//===----------------------------------------------------------------------===//
#include "BackwardKernel.h"

#include "MaskSets.h"

#include "flashc/Analysis/Schedule.h"
#include "flashc/Conversion/AttnToTile/ScheduleAttr.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {

BackwardKernel::BackwardKernel(OpBuilder &builder, attn::BackwardOp op,
                               const BufferList &buffers,
                               tile::ScheduleAttr schedule,
                               ArrayRef<IntegerSet> sets)
    : b(op.getLoc(), builder), op(op), buffers(buffers), schedule(schedule),
      sets(sets), element(op.getQuery().getType().getElementType()),
      q(schedule.getQ()), kv(schedule.getKv()),
      headDim(getBackwardColumns(op.getHeadDim(), toSchedule(schedule))),
      valueDim(getBackwardColumns(op.getValueHeadDim(), toSchedule(schedule))),
      whole(schedule) {}

/// Warps of a block of a plain kernel, at most: its tiles stay small then.
static constexpr int64_t kPlainWarps = 4, kPlainWarpRows = 16;

int64_t BackwardKernel::getPlainRows() const {
  int64_t warps = std::min(whole.getWarps(), kPlainWarps);
  return warps == 1 ? q : kPlainWarpRows * warps;
}

void BackwardKernel::setPlain(bool isPlain) {
  schedule = whole;
  if (!isPlain)
    return;
  schedule = tile::ScheduleAttr::get(
      b.getContext(), getPlainRows(), whole.getKv(), /*stages=*/1,
      std::min(whole.getWarps(), kPlainWarps), whole.getQInRegisters(),
      whole.getSram(), kPlainWarpRows, /*roles=*/tile::RolesAttr());
}

void BackwardKernel::setSingleStage() {
  schedule = tile::ScheduleAttr::get(
      b.getContext(), whole.getQ(), whole.getKv(), /*stages=*/1,
      whole.getWarps(), whole.getQInRegisters(), whole.getSram(),
      whole.getWarpRows(), /*roles=*/tile::RolesAttr());
}

void BackwardKernel::setQueryForm(bool isQueryForm) {
  if (isQueryForm != rowsAreQueries)
    std::swap(q, kv);
  rowsAreQueries = isQueryForm;
}

/// Rows of a block of the side that is summed over where a tile is computed
/// again: the least that a tensor core takes.
static constexpr int64_t kRedoRows = 16;

SmallVector<Value>
BackwardKernel::buildRedo(Value any, ValueRange results,
                          function_ref<SmallVector<Value>()> body) {
  auto branch = scf::IfOp::create(b, results.getTypes(), any,
                                  /*withElseRegion=*/!results.empty());
  OpBuilder::InsertionGuard guard(b);
  if (!results.empty()) {
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, results);
  }
  b.setInsertionPointToStart(branch.thenBlock());
  isRedo = true;
  int64_t &summed = rowsAreQueries ? kv : q;
  int64_t before = std::exchange(summed, kRedoRows);
  SmallVector<Value> again = body();
  if (!results.empty())
    scf::YieldOp::create(b, again);
  summed = before;
  isRedo = false;
  return SmallVector<Value>(branch.getResults());
}

void BackwardKernel::begin(StringRef name, ArrayRef<std::string> arguments,
                           ArrayRef<std::string> outputs, Place batchPlace,
                           Place headsPlace, Place blocksPlace, int64_t rows,
                           bool descending) {
  SmallVector<std::string> all(arguments);
  llvm::append_range(all, outputs);
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (auto [i, argument] : llvm::enumerate(all)) {
    const Buffer &buffer = buffers.get(argument);
    types.push_back(buffer.type);
    NamedAttrList list(buffer.attributes);
    list.set("tile.argument", b.getStringAttr(argument));
    if (i >= arguments.size())
      list.set("tile.output", b.getUnitAttr());
    attributes.push_back(list.getDictionary(b.getContext()));
  }
  auto place = [&](Place at) -> SmallVector<int64_t> {
    auto found = llvm::find(all, at.buffer);
    if (found == all.end())
      return {};
    return {int64_t(found - all.begin()), at.dim};
  };
  auto grid = tile::GridAttr::get(b.getContext(), place(batchPlace),
                                  place(headsPlace), place(blocksPlace), rows);
  auto kernel = tile::KernelOp::create(
      b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
      schedule, grid, b.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr());
  Block *entry =
      b.createBlock(&kernel.getBody(), {}, types,
                    SmallVector<Location>(types.size(), op.getLoc()));
  for (auto [argument, value] : llvm::zip_equal(all, entry->getArguments()))
    views[argument] = value;
  auto program = tile::ProgramOp::create(
      b, startsAtLast,
      isAbreast ? b.getI64IntegerAttr(getSharedBytes()) : IntegerAttr(),
      descending);
  batch = program.getBatch();
  head = program.getHead();
  block = program.getBlock();
  if (Value query = view("q"))
    sq = dim(query, 2);
  if (Value key = view("k"))
    sk = dim(key, 2);
  SmallVector<Value> captures;
  for (const std::string &capture : buffers.getCaptures())
    if (Value captured = view(capture))
      captures.push_back(captured);
  if (captures.size() == buffers.getCaptures().size())
    cloner.emplace(b, captures);
}

void BackwardKernel::end() {
  tile::ReturnOp::create(b);
  b.setInsertionPointAfter(b.getInsertionBlock()->getParentOp());
  views.clear();
  cloner.reset();
  sq = sk = keyLength = limit = Value();
}

/// Bytes that the blocks of a head share for each row: of Q, dO and dQ's sum.
int64_t BackwardKernel::getSharedBytes() const {
  return 2 * (headDim + valueDim) + 4 * headDim;
}

Value BackwardKernel::blocksOf(Value size, int64_t rows) {
  Value rounded = arith::AddIOp::create(b, size, index(rows - 1));
  return arith::DivUIOp::create(b, rounded, index(rows));
}

ResultRange
BackwardKernel::loop(Value lo, Value hi, ValueRange init,
                     function_ref<SmallVector<Value>(Value, ValueRange)> body,
                     Value step) {
  auto loop = scf::ForOp::create(
      b, lo, hi, step ? step : index(1), init,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(i.getParentBlock());
        scf::YieldOp::create(b, body(i, carried));
      });
  return loop.getResults();
}

Value BackwardKernel::load(Value view, Value batch, Value head, Value row,
                           ArrayRef<int64_t> shape, Value limit) {
  Type type = llvm::cast<MemRefType>(view.getType()).getElementType();
  return tile::LoadOp::create(b, RankedTensorType::get(shape, type), view,
                              batch, head, row, limit);
}

Value BackwardKernel::cast(Value tile, Type type) {
  auto from = llvm::cast<RankedTensorType>(tile.getType());
  if (from.getElementType() == type)
    return tile;
  return tile::buildMap(b, from.clone(type), tile, {}, [&](ValueRange x) {
    Value y = type.isF32() ? Value(arith::ExtFOp::create(b, type, x[0]))
                           : Value(arith::TruncFOp::create(b, type, x[0]));
    return SmallVector<Value>{y};
  })[0];
}

Value BackwardKernel::scaled(Value tile) {
  return tile::buildMap(b, tile.getType(), tile, {}, [&](ValueRange x) {
    Value scale = tile::buildF32(b, float(op.getScaleValue()));
    return SmallVector<Value>{arith::MulFOp::create(b, x[0], scale)};
  })[0];
}

Value BackwardKernel::buildGroup() {
  return b.createOrFold<arith::DivUIOp>(dim(view("q"), 1), dim(view("k"), 1));
}

/// kv_lengths[b], kept inside 0..Sk, or Sk.
void BackwardKernel::buildKeyLength(Value batch) {
  keyLength = sk;
  limit = {};
  Value lengths = view("kv_lengths");
  if (!lengths)
    return;
  Value length = memref::LoadOp::create(b, lengths, ValueRange{batch});
  length = arith::IndexCastOp::create(b, b.getIndexType(), length);
  length = arith::MaxSIOp::create(b, length, index(0));
  limit = keyLength = arith::MinSIOp::create(b, length, sk);
}

KeyBlock BackwardKernel::loadKeys(Value batch, Value keyHead, Value firstKey) {
  return {firstKey,
          load(view("k"), batch, keyHead, firstKey, {kv, headDim}, limit),
          load(view("v"), batch, keyHead, firstKey, {kv, valueDim}, limit)};
}

QueryBlock BackwardKernel::loadQueries(Value batch, Value head,
                                       Value firstRow) {
  return {batch, head, firstRow,
          load(view("q"), batch, head, firstRow, {q, headDim}),
          load(view("do"), batch, head, firstRow, {q, valueDim}),
          loadValues(isPadded() ? "lse_rows" : "lse", batch, head, firstRow),
          // Warps with roles read it where the copies that bring it are.
          isPadded() ? Value() : loadValues("delta", batch, head, firstRow)};
}

/// A value for each query: for each row of a pair's tiles, or for each column.
Value BackwardKernel::loadValues(StringRef name, Value batch, Value head,
                                 Value row) {
  if (rowsAreQueries)
    return load(view(name), batch, head, row, {q});
  return load(view(name), batch, head, row, {1, q});
}

/// Whether a score's gradient is made of the new score's by one factor, which
/// is computed with the new score: a kernel with roles does not keep scores.
bool BackwardKernel::hasFactors() {
  return isPadded() && op.hasScore() && !op.hasPlainScoreGradient();
}

/// score(scale * s) for each element and, if there are such, its derivative.
void BackwardKernel::buildScoreFunction(Pair &pair, const QueryBlock &queries,
                                        Value firstKey) {
  SmallVector<Type> types(hasFactors() ? 2 : 1, pair.scores.getType());
  auto body = [&](ValueRange x) {
    Value scale = tile::buildF32(b, float(op.getScaleValue()));
    Value score = arith::MulFOp::create(b, x[0], scale);
    auto [query, key] = coordinates(x[1], x[2]);
    SmallVector<Value> scalars = {score, queries.batch, queries.head, query,
                                  key};
    SmallVector<Value> results = {
        cloner->clone(op.getScore().front(), scalars)};
    if (types.size() > 1) {
      scalars.push_back(tile::buildF32(b, 1.0f));
      SmallVector<Addition> additions;
      results.push_back(
          cloner->clone(op.getScoreGradient().front(), scalars, &additions));
    }
    return results;
  };
  auto [first, second] = coordinates(queries.firstRow, firstKey);
  ResultRange results =
      tile::buildMap(b, types, pair.scores, {first, second}, body);
  pair.newScores = results[0];
  if (types.size() > 1)
    pair.factors = results[1];
}

/// The gradient region on each element. Where p is 0 so are its results: a
/// masked score may be NaN, and a derivative infinite.
void BackwardKernel::buildScoreGradient(Pair &pair, const QueryBlock &queries,
                                        Value firstKey) {
  Block &region = op.getScoreGradient().front();
  size_t count = wantsAdditions
                     ? llvm::range_size(region.getOps<attn::AddGradientOp>())
                     : 0;
  if (count == 0 && op.hasPlainScoreGradient())
    return;
  SmallVector<Type> types(1 + count, pair.scores.getType());
  auto body = [&](ValueRange x) {
    Value scale = tile::buildF32(b, float(op.getScaleValue()));
    Value score = arith::MulFOp::create(b, x[0], scale);
    auto [query, key] = coordinates(x[3], x[4]);
    Value scalars[] = {score, queries.batch, queries.head, query, key, x[2]};
    SmallVector<Addition> additions;
    SmallVector<Value> results = {cloner->clone(region, scalars, &additions)};
    for (const Addition &addition : ArrayRef(additions).take_front(count))
      results.push_back(addition.value);
    Value zero = tile::buildF32(b, 0.0f);
    Value none =
        arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[1], zero);
    for (Value &result : results)
      result = arith::SelectOp::create(b, none, zero, result);
    return results;
  };
  auto [first, second] = coordinates(queries.firstRow, firstKey);
  ResultRange results =
      tile::buildMap(b, types, {pair.scores, pair.probs, pair.scoreGradient},
                     {first, second}, body);
  pair.scoreGradient = results[0];
  pair.additions.assign(results.begin() + 1, results.end());
}

Pair BackwardKernel::buildPair(const QueryBlock &queries,
                               const KeyBlock &keys) {
  Pair pair;
  Value zero = rowsAreQueries ? tile::buildSplat(b, {q, kv}, 0.0f)
                              : tile::buildSplat(b, {kv, q}, 0.0f);
  auto product = [&](Value ofKeys, Value ofQueries) {
    Value left = rowsAreQueries ? ofQueries : ofKeys;
    Value right = rowsAreQueries ? ofKeys : ofQueries;
    return tile::DotOp::create(b, left, right, zero, /*transpose_a=*/false,
                               /*transpose_b=*/true, /*guarded=*/false);
  };
  pair.scores = product(keys.key, queries.query);
  pair.newScores = pair.scores;
  if (op.hasScore())
    buildScoreFunction(pair, queries, keys.firstKey);
  SmallVector<Attribute> setAttrs =
      llvm::map_to_vector(sets, [](IntegerSet set) -> Attribute {
        return IntegerSetAttr::get(set);
      });
  Value scores = tile::MaskOp::create(
      b, pair.scores.getType(), pair.newScores, queries.firstRow, keys.firstKey,
      ValueRange{sq, keyLength}, b.getArrayAttr(setAttrs),
      /*transposed=*/!rowsAreQueries);
  float scale = op.hasScore() ? 1.0f : float(op.getScaleValue());
  pair.probs = tile::ProbsOp::create(
      b, scores.getType(), scores, queries.lse,
      tile::ExpBaseAttr::get(b.getContext(), tile::ExpBase::E),
      b.getF32FloatAttr(scale),
      /*as_exponent=*/isPadded() ? b.getUnitAttr() : UnitAttr());
  Value delta = queries.delta;
  if (!delta)
    delta = loadValues("delta", queries.batch, queries.head, queries.firstRow);
  Value gradient = product(keys.value, queries.outputGradient);
  pair.scoreGradient = tile::ProbsGradientOp::create(
      b, scores.getType(), pair.probs, gradient, delta, /*guarded=*/true);
  if (pair.factors)
    pair.scoreGradient = tile::buildMap(
        b, scores.getType(), {pair.scoreGradient, pair.factors}, {},
        [&](ValueRange x) {
          return SmallVector<Value>{arith::MulFOp::create(b, x[0], x[1])};
        })[0];
  else if (op.hasScore())
    buildScoreGradient(pair, queries, keys.firstKey);
  return pair;
}
} // namespace flashc
