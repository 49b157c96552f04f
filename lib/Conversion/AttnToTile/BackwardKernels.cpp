//===- BackwardKernels.cpp - The kernels of one attn.backward -------------===//
//
// Used by convert-attn-to-tile. In: an attn.backward. Out, in the order in
// which they run (docs/decisions/018):
//
//   NAME_delta   D = rowsum(dO * O) - dLSE, a program for each query block
//   NAME         dK, dV and the sum of dQ, a program for each key block
//   NAME_dq      dQ in its type, a program for each query block; of a
//                deterministic backward whose warps have no roles, and which
//                has no sum of dQ, all of it
//
// The first and the last one count their blocks down: each kernel begins with
// what the one before it left in the L2.
//
// Kernels with roles compute without a look at what is masked or large; what
// comes out not finite the last kernel computes again.
//
// and for each gradient of a capture a kernel that makes it of the tiles that
// the main kernel added to, one that gathers it, if it is of these forms, and
// one that sums it up (CaptureGradients.h).
//
//===----------------------------------------------------------------------===//
#include "CaptureGradients.h"
#include "MaskSets.h"

#include <limits>

using namespace mlir;

namespace flashc {
namespace {
/// The largest exponent that starts from an LSE in a rounded form: its last
/// place is 2^-13, an eighth of that of the 16-bit P.
constexpr float kLargestLse = 2048.0f;

class BackwardBuilder {
public:
  BackwardBuilder(OpBuilder &builder, func::FuncOp func, attn::BackwardOp op,
                  tile::ScheduleAttr schedule, ArrayRef<IntegerSet> sets);
  void build();

private:
  void buildDelta();
  void buildLseRows(Value row, int64_t rows);
  void buildMain();
  SmallVector<Value> buildHead(const KeyBlock &keys, Value head,
                               ValueRange carried);
  SmallVector<Value> buildStep(const KeyBlock &keys, Value head,
                               Value queryBlock, ValueRange carried);
  Value buildKeySum(Value keyHead, Value firstKey, bool ofKeys);
  void buildQueryGradient();
  Value buildQueryRedo(Value sum, Value row, int64_t rows);
  void buildKeyRedo(int64_t rows);
  Value buildQuerySum(Value firstRow);
  void buildQueryForm();
  Value dot(Value left, Value right, Value acc, bool transposeA) {
    return tile::DotOp::create(k.b, left, right, acc, transposeA,
                               /*transpose_b=*/false, hidesSome);
  }
  std::string named(StringRef suffix) { return (name + suffix).str(); }

  StringRef name;
  BufferList buffers;
  BackwardKernel k;
  SmallVector<CaptureForm> forms;
  /// What a pair of blocks is computed from.
  SmallVector<std::string> inputs;
  /// Whether captures that the main kernel writes the gradients of have sizes
  /// that allow it, by their numbers.
  llvm::DenseMap<int64_t, Value> exact;
  /// Some pair of a real query and a real key is not visible.
  bool hidesSome;
  /// dQ has a loop of its own: its sum is in order by itself.
  bool hasQueryForm;
};

/// The number of sums of a capture, in a workspace's words.
std::string wordOf(const CaptureForm &form) {
  std::string word = "capture " + std::to_string(form.capture);
  if (!form.isGathered)
    return word;
  word += " unless queries " + std::to_string(form.queryDim) + " keys " +
          std::to_string(form.keyDim);
  for (int64_t dim : form.otherDims)
    word += " one " + std::to_string(dim);
  return word;
}

BackwardBuilder::BackwardBuilder(OpBuilder &builder, func::FuncOp func,
                                 attn::BackwardOp op,
                                 tile::ScheduleAttr schedule,
                                 ArrayRef<IntegerSet> sets)
    : name(func.getName()), buffers(func, op, schedule),
      k(builder, op, buffers, schedule, sets), forms(findCaptureForms(op)),
      inputs({"q", "k", "v", "do", "lse", "delta"}),
      hasQueryForm(op.getDeterministic() && !schedule.getRoles()) {
  if (op.getKvLengths())
    inputs.push_back("kv_lengths");
  llvm::append_range(inputs, buffers.getCaptures());
  for (const CaptureForm &form : forms)
    buffers.addSums(form.capture, /*forEachHead=*/!form.isGathered,
                    wordOf(form));
  // Beyond the ends of queries and keys.
  constexpr unsigned kEnds = 2;
  hidesSome = sets.size() != 1 || sets.front().getNumConstraints() > kEnds;
  for (const CaptureForm &form : forms)
    if (form.isPlain && op.hasPlainScoreGradient() && schedule.getRoles()) {
      buffers.addDirect(form.capture,
                        /*isZeroed=*/hidesSome || bool(op.getKvLengths()));
      bool isOwn = form.batchDim >= 0 && form.headDim >= 0;
      if (!isOwn && !op.getDeterministic())
        buffers.addTiles(form.capture, form.batchDim < 0 ? "1" : "batch",
                         form.headDim < 0 ? "1" : "heads",
                         wordOfTiles(form, k.q, k.kv), k.q);
    }
}

void BackwardBuilder::buildDelta() {
  SmallVector<std::string> arguments = {"o", "do"};
  bool hasLse = buffers.has("dlse");
  if (hasLse)
    arguments.push_back("dlse");
  int64_t rows = k.getPlainRows();
  k.setPlain(true);
  bool isPadded = buffers.has("lse_rows");
  SmallVector<std::string> outputs = {"delta"};
  if (isPadded) {
    arguments.push_back("lse");
    llvm::append_range(outputs, ArrayRef<std::string>{"lse_rows", "dq_sum"});
  }
  k.begin(named("_delta"), arguments, outputs, {"o", 0}, {"o", 1},
          {isPadded ? "delta" : "o", 2}, rows, /*descending=*/true);
  Value row = k.mul(k.block, k.index(rows));
  auto load = [&](StringRef buffer) {
    return k.load(k.view(buffer), k.batch, k.head, row, {rows, k.valueDim});
  };
  Value output = load("o"), gradient = load("do");
  if (isPadded) { // while the tiles are on their way
    tile::StoreOp::create(k.b, tile::buildSplat(k.b, {rows, k.headDim}, 0.0f),
                          k.view("dq_sum"), k.batch, k.head, row);
    buildLseRows(row, rows);
  }
  output = k.cast(output, k.b.getF32Type());
  gradient = k.cast(gradient, k.b.getF32Type());
  Value products = tile::buildMap(
      k.b, output.getType(), {output, gradient}, {}, [&](ValueRange x) {
        return SmallVector<Value>{arith::MulFOp::create(k.b, x[0], x[1])};
      })[0];
  Value delta = tile::ReduceOp::create(k.b, tile::ReduceKind::Add, products,
                                       tile::buildSplat(k.b, {rows}, 0.0f),
                                       /*deferred=*/false);
  if (hasLse) {
    Value ofLse = k.load(k.view("dlse"), k.batch, k.head, row, {rows});
    delta = tile::buildMap(
        k.b, delta.getType(), {delta, ofLse}, {}, [&](ValueRange x) {
          return SmallVector<Value>{arith::SubFOp::create(k.b, x[0], x[1])};
        })[0];
  }
  tile::StoreOp::create(k.b, delta, k.view("delta"), k.batch, k.head, row);
  k.end();
  k.setPlain(false);
}

/// LSE in whole blocks, as what an exponent starts from. Rows past the end are
/// as those without a key: P is 0 there. An LSE so far from 0 that one
/// multiply-add for an exponent is not exact enough is NaN, and with it sums
/// that are computed again.
void BackwardBuilder::buildLseRows(Value row, int64_t rows) {
  Value lse = k.load(k.view("lse"), k.batch, k.head, row, {rows});
  Value end = k.dim(k.view("lse"), 2);
  Value result =
      tile::buildMap(k.b, lse.getType(), lse, row, [&](ValueRange x) {
        Value least =
            tile::buildF32(k.b, -std::numeric_limits<float>::infinity());
        Value none =
            arith::CmpFOp::create(k.b, arith::CmpFPredicate::OEQ, x[0], least);
        Value isPast =
            arith::CmpIOp::create(k.b, arith::CmpIPredicate::sge, x[1], end);
        Value isFar = arith::OrIOp::create(k.b, none, isPast);
        Value start = arith::MulFOp::create(
            k.b, x[0], tile::buildF32(k.b, -llvm::numbers::log2ef));
        Value isLarge = arith::CmpFOp::create(k.b, arith::CmpFPredicate::OGT,
                                              math::AbsFOp::create(k.b, start),
                                              tile::buildF32(k.b, kLargestLse));
        Value nan =
            tile::buildF32(k.b, std::numeric_limits<float>::quiet_NaN());
        start = arith::SelectOp::create(k.b, isLarge, nan, start);
        return SmallVector<Value>{
            arith::SelectOp::create(k.b, isFar, least, start)};
      })[0];
  tile::StoreOp::create(k.b, result, k.view("lse_rows"), k.batch, k.head, row);
}

/// One query block: (dK, dV, row sums of captures) to the same.
SmallVector<Value> BackwardBuilder::buildStep(const KeyBlock &keys, Value head,
                                              Value queryBlock,
                                              ValueRange carried) {
  Value firstRow = arith::MulIOp::create(k.b, queryBlock, k.index(k.q));
  QueryBlock queries = k.loadQueries(k.batch, head, firstRow);
  k.wantsAdditions = llvm::any_of(
      forms, [](const CaptureForm &form) { return !form.isGathered; });
  Pair pair = k.buildPair(queries, keys);
  k.wantsAdditions = false;
  SmallVector<Value> next(carried);
  Value probs = k.cast(pair.probs, k.element);
  Value gradient = k.cast(pair.scoreGradient, k.element);
  next[1] =
      dot(probs, queries.outputGradient, carried[1], /*transposeA=*/false);
  next[0] = dot(gradient, queries.query, carried[0], /*transposeA=*/false);
  if (!hasQueryForm) {
    Value ofQueries =
        dot(gradient, keys.key, tile::buildSplat(k.b, {k.q, k.headDim}, 0.0f),
            /*transposeA=*/true);
    // Which blocks of keys take turns is seen where the mask is.
    Value turns = k.view("dq_turns");
    tile::AccumulateOp::create(k.b, ofQueries, k.view("dq_sum"), k.batch, head,
                               firstRow, /*ordered=*/bool(turns), turns,
                               /*follows=*/Value());
  }
  size_t first = 2;
  for (const CaptureForm &form : forms) {
    if (isMadeBeside(k, form)) {
      Type of =
          getElementTypeOrSelf(k.op.getCaptures()[form.capture].getType());
      Value added = of == k.element ? gradient : pair.scoreGradient;
      if (isWrittenBeside(k, form))
        buildDirectStore(k, form, queries, keys, added,
                         exact.lookup(form.capture));
      if (isAddedBeside(k, form))
        buildTileSum(k, form, queries, keys, added);
    }
    if (form.isGathered)
      continue;
    SmallVector<Value> sums(ArrayRef(next).slice(first, countRowSums(form)));
    buildAdditions(k, form, queries, keys, pair, sums);
    for (Value sum : sums)
      next[first++] = sum;
  }
  return next;
}

/// All query blocks of one head: (dK, dV) to the same.
SmallVector<Value> BackwardBuilder::buildHead(const KeyBlock &keys, Value head,
                                              ValueRange carried) {
  SmallVector<Value> init(carried);
  for (const CaptureForm &form : forms)
    if (!form.isGathered)
      init.append(countRowSums(form), tile::buildSplat(k.b, {k.kv}, 0.0f));
  ResultRange results = k.loop(k.index(0), k.blocksOf(k.sq, k.q), init,
                               [&](Value i, ValueRange inner) {
                                 return buildStep(keys, head, i, inner);
                               });
  SmallVector<Value> sums(results.drop_front(2));
  size_t first = 0;
  for (const CaptureForm &form : forms) {
    if (form.isGathered)
      continue;
    unsigned count = countRowSums(form);
    buildRowSums(k, form, k.batch, head, keys,
                 ArrayRef(sums).slice(first, count));
    first += count;
  }
  return SmallVector<Value>(results.take_front(2));
}

/// dK / scale or dV by itself, as registers are short where it is computed
/// again.
Value BackwardBuilder::buildKeySum(Value keyHead, Value firstKey, bool ofKeys) {
  KeyBlock keys = k.loadKeys(k.batch, keyHead, firstKey);
  Value group = k.buildGroup();
  Value firstHead = k.mul(keyHead, group);
  Value zero =
      tile::buildSplat(k.b, {k.kv, ofKeys ? k.headDim : k.valueDim}, 0.0f);
  auto ofHead = [&](Value g, ValueRange sum) {
    Value head = k.add(firstHead, g);
    auto ofBlock = [&](Value i, ValueRange carried) -> SmallVector<Value> {
      Value firstRow = arith::MulIOp::create(k.b, i, k.index(k.q));
      QueryBlock queries = k.loadQueries(k.batch, head, firstRow);
      Pair pair = k.buildPair(queries, keys);
      Value left = k.cast(ofKeys ? pair.scoreGradient : pair.probs, k.element);
      return {dot(left, ofKeys ? queries.query : queries.outputGradient,
                  carried[0], /*transposeA=*/false)};
    };
    return SmallVector<Value>(
        k.loop(k.index(0), k.blocksOf(k.sq, k.q), sum, ofBlock));
  };
  return k.loop(k.index(0), group, zero, ofHead)[0];
}

void BackwardBuilder::buildMain() {
  SmallVector<std::string> outputs = {"dk", "dv"};
  if (!hasQueryForm)
    outputs.push_back("dq_sum");
  if (buffers.has("dq_turns"))
    outputs.push_back("dq_turns");
  if (buffers.has("dk_rows"))
    outputs.push_back("dk_rows");
  for (const CaptureForm &form : forms)
    if (!form.isGathered)
      outputs.push_back(BufferList::sumOf(form.capture));
    else {
      if (isWrittenBeside(k, form))
        outputs.push_back(BufferList::gradientOf(form.capture));
      if (isAddedBeside(k, form))
        outputs.push_back(BufferList::tilesOf(form.capture));
    }
  if (buffers.has(BufferList::kRedo))
    outputs.push_back(BufferList::kRedo.str());
  SmallVector<std::string> arguments(inputs);
  if (buffers.has("lse_rows"))
    *llvm::find(arguments, "lse") = "lse_rows";
  // Blocks that take turns start from the last one on. Else the long ones come
  // first: those of the first keys under a causal mask, and of several heads,
  // or the last head's would end when all others are done.
  bool takesTurns = buffers.has("dq_turns");
  bool isLastLonger = laterRowsSeeLess(k.sets);
  k.startsAtLast = takesTurns || isLastLonger;
  k.isAbreast = takesTurns || isLastLonger || laterRowsSeeMore(k.sets);
  k.begin(name, arguments, outputs, {"k", 0}, {"k", 1}, {"k", 2}, k.kv);
  k.startsAtLast = k.isAbreast = false;
  k.buildKeyLength(k.batch);
  exact.clear();
  for (const CaptureForm &form : forms)
    if (isWrittenBeside(k, form))
      exact[form.capture] = buildIsExact(k, form);
  Value firstKey = arith::MulIOp::create(k.b, k.block, k.index(k.kv));
  KeyBlock keys = k.loadKeys(k.batch, k.head, firstKey);
  Value group = k.buildGroup();
  Value firstHead = k.mul(k.head, group);
  Value init[] = {tile::buildSplat(k.b, {k.kv, k.headDim}, 0.0f),
                  tile::buildSplat(k.b, {k.kv, k.valueDim}, 0.0f)};
  ResultRange results =
      k.loop(k.index(0), group, init, [&](Value g, ValueRange carried) {
        return buildHead(keys, k.add(firstHead, g), carried);
      });
  auto store = [&](StringRef name, Value tile) {
    tile::StoreOp::create(k.b, tile, k.view(name), k.batch, k.head, firstKey);
  };
  // Both rounded at a time are too many registers beside wgmma's.
  if (k.schedule.getRoles()) {
    store("dv", k.cast(results[1], k.element));
    store("dk", k.cast(k.scaled(results[0]), k.element));
    // NaN and infinity of dO and V are in dP, and so in dK.
    Value rows = tile::ReduceOp::create(k.b, tile::ReduceKind::Add, results[0],
                                        tile::buildSplat(k.b, {k.kv}, 0.0f),
                                        /*deferred=*/false);
    store("dk_rows", rows);
    if (buffers.has(BufferList::kRedo))
      buildRedoFlag(k, keys, rows);
    k.end();
    return;
  }
  Value ofKeys = k.cast(k.scaled(results[0]), k.element);
  Value ofValues = k.cast(results[1], k.element);
  store("dk", ofKeys);
  store("dv", ofValues);
  k.end();
}

void BackwardBuilder::buildQueryGradient() {
  int64_t rows = k.getPlainRows();
  bool hasRedo = bool(k.schedule.getRoles());
  k.setPlain(true);
  SmallVector<std::string> arguments = {"dq_sum"};
  SmallVector<std::string> outputs = {"dq"};
  if (hasRedo) {
    llvm::append_range(arguments, inputs);
    arguments.push_back("dk_rows");
    llvm::append_range(outputs, ArrayRef<std::string>{"dk", "dv"});
  }
  k.begin(named("_dq"), arguments, outputs, {"dq", 0}, {"dq", 1}, {"dq", 2},
          rows, /*descending=*/true);
  Value row = k.mul(k.block, k.index(rows));
  Value sum = k.load(k.view("dq_sum"), k.batch, k.head, row, {rows, k.headDim});
  if (hasRedo)
    sum = buildQueryRedo(sum, row, rows);
  tile::StoreOp::create(k.b, k.cast(k.scaled(sum), k.element), k.view("dq"),
                        k.batch, k.head, row);
  if (hasRedo)
    buildKeyRedo(rows);
  k.end();
  k.setPlain(false);
}

/// `sum`, dQ / scale of a block of so many rows, or what it is with care.
Value BackwardBuilder::buildQueryRedo(Value sum, Value row, int64_t rows) {
  k.setQueryForm(true);
  int64_t before = std::exchange(k.q, rows);
  Value any = k.anyNotFinite(sum);
  Value result = k.buildRedo(any, sum, [&]() -> SmallVector<Value> {
    k.buildKeyLength(k.batch);
    return {buildQuerySum(row)};
  })[0];
  k.q = before;
  k.setQueryForm(false);
  return result;
}

/// dK and dV of the key blocks whose dK was not finite. The programs of a key
/// head's first query head share its blocks.
void BackwardBuilder::buildKeyRedo(int64_t rows) {
  int64_t before = std::exchange(k.kv, rows);
  Value group = k.buildGroup();
  Value keyHead = k.b.createOrFold<arith::DivUIOp>(k.head, group);
  Value isFirst = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, k.head,
                                        k.mul(keyHead, group));
  Value blocks = k.blocksOf(k.sk, rows);
  Value first = arith::SelectOp::create(k.b, isFirst, k.block, blocks);
  auto body = [&](Value j, ValueRange) -> SmallVector<Value> {
    Value firstKey = k.mul(j, k.index(rows));
    Value sums =
        k.load(k.view("dk_rows"), k.batch, keyHead, firstKey, {1, rows});
    k.buildRedo(k.anyNotFinite(sums), {}, [&]() -> SmallVector<Value> {
      k.buildKeyLength(k.batch);
      auto store = [&](StringRef name, Value tile) {
        tile::StoreOp::create(k.b, k.cast(tile, k.element), k.view(name),
                              k.batch, keyHead, firstKey);
      };
      store("dv", buildKeySum(keyHead, firstKey, /*ofKeys=*/false));
      store("dk", k.scaled(buildKeySum(keyHead, firstKey, /*ofKeys=*/true)));
      return {};
    });
    return {};
  };
  k.loop(first, blocks, {}, body, k.blocksOf(k.sq, rows));
  k.kv = before;
}

/// dQ / scale of a query block, as a sum over keys on chip.
Value BackwardBuilder::buildQuerySum(Value firstRow) {
  Value keyHead = k.b.createOrFold<arith::DivUIOp>(k.head, k.buildGroup());
  QueryBlock queries = k.loadQueries(k.batch, k.head, firstRow);
  Value zero = tile::buildSplat(k.b, {k.q, k.headDim}, 0.0f);
  auto body = [&](Value j, ValueRange carried) -> SmallVector<Value> {
    Value firstKey = arith::MulIOp::create(k.b, j, k.index(k.kv));
    KeyBlock keys = k.loadKeys(k.batch, keyHead, firstKey);
    Pair pair = k.buildPair(queries, keys);
    return {dot(k.cast(pair.scoreGradient, k.element), keys.key, carried[0],
                /*transposeA=*/false)};
  };
  return k.loop(k.index(0), k.blocksOf(k.keyLength, k.kv), zero, body)[0];
}

/// dQ without a sum in memory.
void BackwardBuilder::buildQueryForm() {
  k.setQueryForm(true);
  k.begin(named("_dq"), inputs, {"dq"}, {"q", 0}, {"q", 1}, {"q", 2}, k.q);
  k.buildKeyLength(k.batch);
  Value firstRow = arith::MulIOp::create(k.b, k.block, k.index(k.q));
  Value sum = buildQuerySum(firstRow);
  tile::StoreOp::create(k.b, k.cast(k.scaled(sum), k.element), k.view("dq"),
                        k.batch, k.head, firstRow);
  k.end();
  k.setQueryForm(false);
}

void BackwardBuilder::build() {
  buildDelta();
  buildMain();
  if (hasQueryForm)
    buildQueryForm();
  else
    buildQueryGradient();
  for (const CaptureForm &form : forms) {
    std::string gradient = "_" + BufferList::gradientOf(form.capture);
    if (isAddedBeside(k, form))
      buildTileKernel(k, named(gradient + "_tiles"), form);
    if (form.isGathered)
      buildGatherKernel(k, named(gradient), form, inputs);
    buildSumKernel(k, named(gradient + "_sum"), form);
  }
}
} // namespace

void buildBackwardKernels(OpBuilder &builder, func::FuncOp func,
                          attn::BackwardOp op, tile::ScheduleAttr schedule,
                          ArrayRef<IntegerSet> sets) {
  BackwardBuilder(builder, func, op, schedule, sets).build();
}
} // namespace flashc
