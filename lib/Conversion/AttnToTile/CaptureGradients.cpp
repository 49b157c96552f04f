//===- CaptureGradients.cpp - Gradients of captured tensors ---------------===//
//
// Used by convert-attn-to-tile. In: the forms of CaptureForms.cpp. Out: the
// additions of the main kernel and the kernels beside it. What a kernel beside
// it adds is in an order that depends on nothing but the sizes.
//
//===----------------------------------------------------------------------===//
#include "CaptureGradients.h"

#include <limits>

using namespace mlir;

namespace flashc {
namespace {
/// Elements of a program of the last sum.
constexpr int64_t kSumRows = 64;

/// Where an addition goes: the element of its capture, counted row by row.
Value buildFlatIndex(BackwardKernel &k, const Addition &addition) {
  Value flat;
  ArrayRef<Value> ends = k.cloner->getEnds()[addition.capture];
  for (auto [index, end] : llvm::zip_equal(addition.indices, ends)) {
    if (!flat) {
      flat = index;
      continue;
    }
    Value size = arith::AddIOp::create(k.b, end, k.index(1));
    flat = arith::AddIOp::create(k.b, arith::MulIOp::create(k.b, flat, size),
                                 index);
  }
  return flat ? flat : k.index(0);
}

/// What the gradient region adds, at one position: it is cloned for its indices
/// alone, so that the rest of it goes.
Addition cloneAddition(BackwardKernel &k, unsigned position, Value score,
                       Value batch, Value head, Value row, Value key) {
  Value zero = tile::buildF32(k.b, 0.0f);
  Value scalars[] = {score ? score : zero, batch, head, row, key, zero};
  SmallVector<Addition> additions;
  k.cloner->clone(k.op.getScoreGradient().front(), scalars, &additions);
  return additions[position];
}

/// A scatter of `inputs` whose body gets their scalars and coordinates and
/// returns (whether, value, indices...).
void buildScatter(BackwardKernel &k, tile::ScatterKind kind, ValueRange inputs,
                  ValueRange origin, bool exclusive, bool ordered, Value memory,
                  function_ref<SmallVector<Value>(ValueRange)> body) {
  auto scatter = tile::ScatterOp::create(k.b, kind, inputs, origin, exclusive,
                                         ordered, memory);
  OpBuilder::InsertionGuard guard(k.b);
  Block *block = k.b.createBlock(&scatter.getBody());
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input.getType()), k.b.getLoc());
  for (size_t i = 0; i < origin.size(); ++i)
    block->addArgument(k.b.getIndexType(), k.b.getLoc());
  SmallVector<Value> results = body(block->getArguments());
  tile::YieldOp::create(k.b, results);
}

Value isBelow(BackwardKernel &k, Value index, Value end) {
  return arith::CmpIOp::create(k.b, arith::CmpIPredicate::slt, index, end);
}

Value addTiles(BackwardKernel &k, Value x, Value y) {
  return tile::buildMap(k.b, x.getType(), {x, y}, {}, [&](ValueRange e) {
    return SmallVector<Value>{arith::AddFOp::create(k.b, e[0], e[1])};
  })[0];
}

Value sumsView(BackwardKernel &k, const CaptureForm &form) {
  return k.view(BufferList::sumOf(form.capture));
}
} // namespace

unsigned countRowSums(const CaptureForm &form) {
  return llvm::count_if(form.additions, [](const AdditionForm &addition) {
    return addition.isForWholeRows;
  });
}

void buildAdditions(BackwardKernel &k, const CaptureForm &form,
                    const QueryBlock &queries, const KeyBlock &keys,
                    const Pair &pair, SmallVectorImpl<Value> &sums) {
  unsigned next = 0;
  for (const AdditionForm &addition : form.additions) {
    Value values = pair.additions[addition.position];
    if (addition.isForWholeRows) {
      Value &sum = sums[next++];
      sum = tile::ReduceOp::create(k.b, tile::ReduceKind::Add, values, sum,
                                   /*deferred=*/true);
      continue;
    }
    auto body = [&](ValueRange x) -> SmallVector<Value> {
      Value score = arith::MulFOp::create(
          k.b, x[1], tile::buildF32(k.b, float(k.op.getScaleValue())));
      Addition place = cloneAddition(k, addition.position, score, queries.batch,
                                     queries.head, x[3], x[2]);
      Value inside = arith::AndIOp::create(k.b, isBelow(k, x[2], k.sk),
                                           isBelow(k, x[3], k.sq));
      return {inside, x[0], k.batch, k.head, buildFlatIndex(k, place)};
    };
    buildScatter(k, tile::ScatterKind::Add, {values, pair.scores},
                 {keys.firstKey, queries.firstRow}, /*exclusive=*/false,
                 k.op.getDeterministic(), sumsView(k, form), body);
  }
}

void buildRowSums(BackwardKernel &k, const CaptureForm &form, Value batch,
                  Value head, const KeyBlock &keys, ValueRange sums) {
  unsigned next = 0;
  for (const AdditionForm &addition : form.additions) {
    if (!addition.isForWholeRows)
      continue;
    auto body = [&](ValueRange x) -> SmallVector<Value> {
      Addition place = cloneAddition(k, addition.position, Value(), batch, head,
                                     k.index(0), x[1]);
      return {isBelow(k, x[1], k.sk), x[0], k.batch, k.head,
              buildFlatIndex(k, place)};
    };
    Value sum = sums[next++];
    sum = tile::CollectOp::create(k.b, sum.getType(), sum);
    buildScatter(k, tile::ScatterKind::Add, sum, keys.firstKey,
                 /*exclusive=*/false, k.op.getDeterministic(),
                 sumsView(k, form), body);
  }
}

bool isMadeBeside(const BackwardKernel &k, const CaptureForm &form) {
  attn::BackwardOp op = k.op;
  return form.isPlain && op.hasPlainScoreGradient() &&
         k.buffers.has(BufferList::kRedo);
}

/// One that heads share is added whatever their number.
bool isWrittenBeside(const BackwardKernel &k, const CaptureForm &form) {
  return isMadeBeside(k, form) &&
         (form.headDim >= 0 || !isAddedBeside(k, form));
}

bool isAddedBeside(const BackwardKernel &k, const CaptureForm &form) {
  return isMadeBeside(k, form) &&
         k.buffers.has(BufferList::tilesOf(form.capture));
}

std::string wordOfTiles(const CaptureForm &form, int64_t q, int64_t kv) {
  std::string word = "tiles " + std::to_string(q) + " " + std::to_string(kv) +
                     " of capture " + std::to_string(form.capture);
  auto add = [&](StringRef what, int64_t dim) {
    if (dim >= 0)
      word += (" " + what + " ").str() + std::to_string(dim);
  };
  add("queries", form.queryDim);
  add("keys", form.keyDim);
  add("batch", form.batchDim);
  add("heads", form.headDim);
  for (int64_t dim : form.otherDims)
    add("one", dim);
  return word;
}

Value buildIsExact(BackwardKernel &k, const CaptureForm &form) {
  Value capture = k.view(k.buffers.getCaptures()[form.capture]);
  Value isExact = arith::ConstantOp::create(k.b, k.b.getBoolAttr(true));
  auto expect = [&](int64_t dim, Value size) {
    Value own = dim < 0 ? k.index(1) : k.dim(capture, dim);
    Value same =
        arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, own, size);
    isExact = k.b.createOrFold<arith::AndIOp>(isExact, same);
  };
  expect(form.batchDim, k.dim(k.view("q"), 0));
  expect(form.headDim, k.dim(k.view("q"), 1));
  expect(form.queryDim, k.sq);
  expect(form.keyDim, k.sk);
  for (int64_t dim : form.otherDims)
    expect(dim, k.index(1));
  return isExact;
}

/// `gradient`, keys x queries from (firstKey, firstRow) on, to the elements of
/// a batch and head, if `isAsked`.
static void buildElementStore(BackwardKernel &k, const CaptureForm &form,
                              Value batch, Value head, Value firstKey,
                              Value firstRow, Value gradient, Value isAsked) {
  Value memory = k.view(BufferList::gradientOf(form.capture));
  Type element = llvm::cast<MemRefType>(memory.getType()).getElementType();
  // Elements from one index of a dimension to the next.
  Value capture = k.view(k.buffers.getCaptures()[form.capture]);
  auto strideOf = [&](int64_t dim) {
    Value stride = k.index(1);
    int64_t rank = llvm::cast<MemRefType>(capture.getType()).getRank();
    for (int64_t inner = dim + 1; inner < rank; ++inner)
      stride = k.mul(stride, k.dim(capture, inner));
    return stride;
  };
  Value first = k.index(0);
  if (form.batchDim >= 0)
    first = k.add(first, k.mul(batch, strideOf(form.batchDim)));
  if (form.headDim >= 0)
    first = k.add(first, k.mul(head, strideOf(form.headDim)));
  Value ofQuery = strideOf(form.queryDim), ofKey = strideOf(form.keyDim);
  buildScatter(k, tile::ScatterKind::Set, k.cast(gradient, element),
               {firstKey, firstRow}, /*exclusive=*/true,
               /*ordered=*/false, memory,
               [&](ValueRange x) -> SmallVector<Value> {
                 Value inside = arith::AndIOp::create(
                     k.b, isBelow(k, x[1], k.sk), isBelow(k, x[2], k.sq));
                 inside = arith::AndIOp::create(k.b, inside, isAsked);
                 Value place = k.add(k.mul(x[2], ofQuery), k.mul(x[1], ofKey));
                 return {inside, x[0], k.add(first, place)};
               });
}

void buildDirectStore(BackwardKernel &k, const CaptureForm &form,
                      const QueryBlock &queries, const KeyBlock &keys,
                      Value gradient, Value isExact) {
  buildElementStore(k, form, queries.batch, queries.head, keys.firstKey,
                    queries.firstRow, gradient, isExact);
}

/// Keys in whole blocks, which are the rows of a query block's tiles.
static Value rowsOfTiles(BackwardKernel &k) {
  return k.mul(k.blocksOf(k.sk, k.kv), k.index(k.kv));
}

void buildTileSum(BackwardKernel &k, const CaptureForm &form,
                  const QueryBlock &queries, const KeyBlock &keys,
                  Value gradient) {
  Value zero = k.index(0);
  Value block =
      k.b.createOrFold<arith::DivUIOp>(queries.firstRow, k.index(k.q));
  Value row = k.add(k.mul(block, rowsOfTiles(k)), keys.firstKey);
  tile::AccumulateOp::create(k.b, k.cast(gradient, k.b.getF32Type()),
                             k.view(BufferList::tilesOf(form.capture)),
                             form.batchDim < 0 ? zero : queries.batch,
                             form.headDim < 0 ? zero : queries.head, row,
                             /*ordered=*/false,
                             /*turns=*/Value(), /*follows=*/Value());
}

/// Whether the main kernel came upon nothing that is not finite.
static Value buildIsFinite(BackwardKernel &k) {
  Value zero = k.index(0);
  Value redo = memref::LoadOp::create(k.b, k.view(BufferList::kRedo),
                                      ValueRange{zero, zero, zero});
  return arith::CmpFOp::create(k.b, arith::CmpFPredicate::OEQ, redo,
                               tile::buildF32(k.b, 0.0f));
}

void buildTileKernel(BackwardKernel &k, StringRef name,
                     const CaptureForm &form) {
  std::string tiles = BufferList::tilesOf(form.capture);
  k.setPlain(true);
  int64_t rows = k.getPlainRows();
  k.begin(name,
          {"q", "k", k.buffers.getCaptures()[form.capture],
           BufferList::kRedo.str(), tiles},
          BufferList::gradientOf(form.capture), {tiles, 0}, {tiles, 1},
          {tiles, 2}, rows);
  Value row = k.mul(k.block, k.index(rows)), below = rowsOfTiles(k);
  Value firstRow =
      k.mul(k.b.createOrFold<arith::DivUIOp>(row, below), k.index(k.q));
  Value firstKey = k.b.createOrFold<arith::RemUIOp>(row, below);
  Value sums = k.load(k.view(tiles), k.batch, k.head, row, {rows, k.q});
  buildElementStore(k, form, k.batch, k.head, firstKey, firstRow, sums,
                    buildIsFinite(k));
  k.end();
  k.setPlain(false);
}

void buildRedoFlag(BackwardKernel &k, const KeyBlock &keys, Value rows) {
  buildScatter(
      k, tile::ScatterKind::Set, rows, keys.firstKey,
      /*exclusive=*/false, /*ordered=*/false, k.view(BufferList::kRedo),
      [&](ValueRange x) -> SmallVector<Value> {
        Value least =
            tile::buildF32(k.b, std::numeric_limits<float>::infinity());
        Value isBad =
            arith::CmpFOp::create(k.b, arith::CmpFPredicate::UGE,
                                  math::AbsFOp::create(k.b, x[0]), least);
        Value zero = k.index(0);
        return {isBad, tile::buildF32(k.b, 1.0f), zero, zero, zero};
      });
}

namespace {
/// Indices lo to hi.
struct Range {
  Value lo, hi;
};

/// Builds the kernel of one gathered form. An element of the capture belongs to
/// the program (and step over keys) of its block. The last element of a
/// dimension has the indices past it too, as reads past the end read it.
class Gatherer {
public:
  Gatherer(BackwardKernel &kernel, const CaptureForm &form)
      : k(kernel), form(form),
        capture(k.view(k.buffers.getCaptures()[form.capture])) {}
  void build();

private:
  Range owned(Value own, Value count, Value size);
  Range ownedOrAll(int64_t dim, Value own, Value size);
  Value sumPairs(Value firstRow, Value firstKey);
  void store(Value sums, Value firstRow, Value firstKey);
  Value buildIsDone();

  BackwardKernel &k;
  const CaptureForm &form;
  Value capture;
};

/// Those of `size` indices that belong to number `own` of `count`.
Range Gatherer::owned(Value own, Value count, Value size) {
  Value isLast = arith::CmpIOp::create(k.b, arith::CmpIPredicate::eq, own,
                                       k.sub(count, k.index(1)));
  Value next = k.min(k.add(own, k.index(1)), size);
  return {k.min(own, size), arith::SelectOp::create(k.b, isLast, size, next)};
}

Range Gatherer::ownedOrAll(int64_t dim, Value own, Value size) {
  if (dim < 0)
    return {k.index(0), size};
  return owned(own, k.dim(capture, dim), size);
}

/// The sum over batches and heads of what the pair of blocks adds.
Value Gatherer::sumPairs(Value firstRow, Value firstKey) {
  Value zero = tile::buildSplat(k.b, {k.kv, k.q}, 0.0f);
  Value group = k.buildGroup();
  Range batches = ownedOrAll(form.batchDim, k.batch, k.dim(k.view("q"), 0));
  Range heads = ownedOrAll(form.headDim, k.head, k.dim(k.view("q"), 1));
  auto overHeads = [&](Value batch, Value head, Value sum) {
    Value keyHead = k.b.createOrFold<arith::DivUIOp>(head, group);
    KeyBlock keys = k.loadKeys(batch, keyHead, firstKey);
    Pair pair = k.buildPair(k.loadQueries(batch, head, firstRow), keys);
    for (const AdditionForm &addition : form.additions)
      sum = addTiles(k, sum, pair.additions[addition.position]);
    return sum;
  };
  return k.loop(batches.lo, batches.hi, zero,
                [&](Value batch, ValueRange outer) -> SmallVector<Value> {
                  k.buildKeyLength(batch);
                  return k.loop(
                      heads.lo, heads.hi, outer,
                      [&](Value head, ValueRange sum) -> SmallVector<Value> {
                        return {overHeads(batch, head, sum[0])};
                      });
                })[0];
}

/// To the gradient itself, where nothing else adds to these elements: then
/// there is no array of sums.
void Gatherer::store(Value sums, Value firstRow, Value firstKey) {
  auto placeOf = [&](ValueRange x) -> std::pair<Value, Value> {
    Addition place = cloneAddition(k, form.additions.front().position, Value(),
                                   k.batch, k.head, x[2], x[1]);
    Value inside = arith::AndIOp::create(k.b, isBelow(k, x[1], k.sk),
                                         isBelow(k, x[2], k.sq));
    return {inside, buildFlatIndex(k, place)};
  };
  auto add = [&] {
    buildScatter(k, tile::ScatterKind::Add, sums, {firstKey, firstRow},
                 /*exclusive=*/true, /*ordered=*/false, sumsView(k, form),
                 [&](ValueRange x) -> SmallVector<Value> {
                   auto [inside, flat] = placeOf(x);
                   return {inside, x[0], k.index(0), k.index(0), flat};
                 });
  };
  Value gradient = k.view(BufferList::gradientOf(form.capture));
  Value isExact = arith::CmpIOp::create(
      k.b, arith::CmpIPredicate::eq, k.dim(sumsView(k, form), 2), k.index(0));
  auto branch = scf::IfOp::create(k.b, isExact, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(branch.thenBlock());
  Type element = llvm::cast<MemRefType>(gradient.getType()).getElementType();
  buildScatter(k, tile::ScatterKind::Set, k.cast(sums, element),
               {firstKey, firstRow}, /*exclusive=*/true, /*ordered=*/false,
               gradient, [&](ValueRange x) -> SmallVector<Value> {
                 auto [inside, flat] = placeOf(x);
                 return {inside, x[0], flat};
               });
  k.b.setInsertionPointToStart(branch.elseBlock());
  add();
}

/// Whether the main kernel has it all, and it is finite.
Value Gatherer::buildIsDone() {
  Value has;
  if (isAddedBeside(k, form))
    has = arith::CmpIOp::create(
        k.b, arith::CmpIPredicate::ne,
        k.dim(k.view(BufferList::tilesOf(form.capture)), 2), k.index(0));
  if (isWrittenBeside(k, form)) {
    Value isExact = buildIsExact(k, form);
    has = has ? k.b.createOrFold<arith::OrIOp>(has, isExact) : isExact;
  }
  return arith::AndIOp::create(k.b, buildIsFinite(k), has);
}

void Gatherer::build() {
  Value rowBlocks = k.blocksOf(k.dim(capture, form.queryDim), k.q);
  Value keyBlocks = k.blocksOf(k.dim(capture, form.keyDim), k.kv);
  Range rows = owned(k.block, rowBlocks, k.blocksOf(k.sq, k.q));
  if (isMadeBeside(k, form))
    keyBlocks =
        arith::SelectOp::create(k.b, buildIsDone(), k.index(0), keyBlocks);
  auto each = [&](Range range, function_ref<void(Value)> body) {
    k.loop(range.lo, range.hi, {}, [&](Value i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  };
  each({k.index(0), keyBlocks}, [&](Value ownKeys) {
    Range keys = owned(ownKeys, keyBlocks, k.blocksOf(k.sk, k.kv));
    each(rows, [&](Value row) {
      each(keys, [&](Value key) {
        Value firstRow = k.mul(row, k.index(k.q));
        Value firstKey = k.mul(key, k.index(k.kv));
        store(sumPairs(firstRow, firstKey), firstRow, firstKey);
      });
    });
  });
}
} // namespace

void buildGatherKernel(BackwardKernel &k, StringRef name,
                       const CaptureForm &form, ArrayRef<std::string> inputs) {
  StringRef capture = k.buffers.getCaptures()[form.capture];
  auto place = [&](int64_t dim) -> BackwardKernel::Place {
    return {dim < 0 ? StringRef() : capture, std::max<int64_t>(dim, 0)};
  };
  k.setSingleStage();
  k.wantsAdditions = true;
  SmallVector<std::string> outputs = {BufferList::sumOf(form.capture),
                                      BufferList::gradientOf(form.capture)};
  SmallVector<std::string> arguments(inputs);
  if (isMadeBeside(k, form))
    arguments.push_back(BufferList::kRedo.str());
  if (isAddedBeside(k, form)) // for its size
    arguments.push_back(BufferList::tilesOf(form.capture));
  k.begin(name, arguments, outputs, place(form.batchDim), place(form.headDim),
          place(form.queryDim), k.q);
  Gatherer(k, form).build();
  k.end();
  k.wantsAdditions = false;
  k.setPlain(false);
}

void buildSumKernel(BackwardKernel &k, StringRef name,
                    const CaptureForm &form) {
  std::string sums = BufferList::sumOf(form.capture);
  std::string gradient = BufferList::gradientOf(form.capture);
  k.setPlain(true);
  k.begin(name, sums, gradient, {}, {}, {sums, 2}, kSumRows);
  Value view = k.view(sums), first = k.mul(k.block, k.index(kSumRows));
  auto size = [&](int64_t i) { return k.dim(view, i); };
  Value zero = tile::buildSplat(k.b, {kSumRows}, 0.0f);
  Value total = k.loop(
      k.index(0), size(0), zero,
      [&](Value batch, ValueRange outer) -> SmallVector<Value> {
        return k.loop(k.index(0), size(1), outer,
                      [&](Value head, ValueRange sum) -> SmallVector<Value> {
                        Value part = k.load(view, batch, head, first,
                                            {kSumRows}, size(2));
                        return {addTiles(k, sum[0], part)};
                      });
      })[0];
  Type element =
      llvm::cast<MemRefType>(k.view(gradient).getType()).getElementType();
  Value end = size(2);
  buildScatter(k, tile::ScatterKind::Set, k.cast(total, element), first,
               /*exclusive=*/true, /*ordered=*/false, k.view(gradient),
               [&](ValueRange x) -> SmallVector<Value> {
                 return {isBelow(k, x[1], end), x[0], x[1]};
               });
  k.end();
  k.setPlain(false);
}
} // namespace flashc
