//===- KernelBuilder.cpp - The loop over key blocks -----------------------===//
//
// Used by convert-attn-to-tile. In: an attn.forward, the chosen schedule, the
// kernel's views and the mask as affine sets. Out: FlashAttention-2's
// Algorithm 1 in `tile` ops, in base e, with one loop over all key blocks and
// the mask on each block; the passes of the tile level sharpen that.
//
//===----------------------------------------------------------------------===//
#include "KernelBuilder.h"

#include "MaskSets.h"
#include "RegionCloner.h"

#include "flashc/Dialect/Attn/IR/ScoreBias.h"
#include "flashc/Dialect/Tile/IR/BuildMap.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace flashc {
namespace {
/// Columns of a tile are whole steps of a tensor core's K dimension.
constexpr int64_t kColumnStep = 16;
/// Rows of a key block where a tile is computed again: the least that a tensor
/// core takes.
constexpr int64_t kRedoKeys = 16;
/// Factors of scores that the softmax takes as its scale lie between this and
/// its reciprocal: far from where a product with it would leave f32.
constexpr float kLargestScale = 0x1p64f;

class KernelBuilder {
public:
  KernelBuilder(ImplicitLocOpBuilder &b, attn::ForwardOp op,
                tile::ScheduleAttr schedule, const KernelViews &views,
                ArrayRef<IntegerSet> sets)
      : b(b), op(op), schedule(schedule), views(views), sets(sets),
        element(op.getQuery().getType().getElementType()), kv(schedule.getKv()),
        headDim(llvm::alignTo(op.getHeadDim(), kColumnStep)),
        valueDim(llvm::alignTo(op.getValueHeadDim(), kColumnStep)) {}

  void build();

private:
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  Value dim(Value view, int64_t i) {
    return b.createOrFold<memref::DimOp>(view, index(i));
  }
  RankedTensorType tile(int64_t rows, int64_t columns, Type type) {
    return RankedTensorType::get({rows, columns}, type);
  }
  void buildProgram();
  std::pair<Value, Value> buildAttention();
  std::pair<Value, Value> buildRedo(Value output, Value lse);
  Value buildKeyHead();
  Value buildKeyLength();
  Value load(Value view, Value head, Value row, int64_t rows, int64_t columns,
             Value limit);
  Value castTile(Value input, Type type);
  SmallVector<Value> buildStep(Value block, ValueRange carried);
  void loadQueries();
  Value buildScores(Value keys, Value firstKey);
  Value buildScoreFunction(Value scores, Value firstKey);
  Value buildSum(Value score, const IRMapping &mapping);
  std::pair<Value, float> splitScore();
  bool scalesSum();
  /// The softmax's scale: the op's, or what a score function ends in.
  FloatAttr softmaxScale() {
    return b.getF32FloatAttr(op.hasScore() && !scalesSum()
                                 ? splitScore().second
                                 : float(op.getScaleValue()));
  }

  ImplicitLocOpBuilder &b;
  attn::ForwardOp op;
  tile::ScheduleAttr schedule;
  const KernelViews &views;
  ArrayRef<IntegerSet> sets;
  Type element;
  int64_t kv; // rows of a key block
  bool isRedo = false;
  int64_t headDim, valueDim; // padded
  std::optional<RegionCloner> cloner;
  Value batch, head, keyHead, firstRow, queries, sq, sk, keyLength, limit;
};

/// The key head that query head `head` reads: head / (Hq / Hkv).
Value KernelBuilder::buildKeyHead() {
  int64_t hq = op.getQuery().getType().getDimSize(op.getHeadsDim());
  int64_t hkv = op.getKey().getType().getDimSize(op.getHeadsDim());
  if (ShapedType::isDynamic(hq) || ShapedType::isDynamic(hkv)) {
    Value group =
        arith::DivUIOp::create(b, dim(views.query, 1), dim(views.key, 1));
    return arith::DivUIOp::create(b, head, group);
  }
  if (hkv == 1)
    return index(0);
  if (hq == hkv)
    return head;
  return arith::DivUIOp::create(b, head, index(hq / hkv));
}

/// Keys of this batch: kv_lengths[b], kept inside 0..Sk, or Sk.
Value KernelBuilder::buildKeyLength() {
  if (!views.kvLengths)
    return sk;
  Value length = memref::LoadOp::create(b, views.kvLengths, ValueRange{batch});
  length = arith::IndexCastOp::create(b, b.getIndexType(), length);
  length = arith::MaxSIOp::create(b, length, index(0));
  return limit = arith::MinSIOp::create(b, length, sk);
}

void KernelBuilder::buildProgram() {
  auto program = tile::ProgramOp::create(b, laterRowsSeeMore(sets),
                                         /*abreast=*/IntegerAttr(),
                                         /*descending=*/false);
  batch = program.getBatch();
  head = program.getHead();
  firstRow =
      arith::MulIOp::create(b, program.getBlock(), index(schedule.getQ()));
  keyHead = buildKeyHead();
  sq = dim(views.query, 2);
  sk = dim(views.key, 2);
  keyLength = buildKeyLength();
  cloner.emplace(b, views.captures);
}

Value KernelBuilder::load(Value view, Value head, Value row, int64_t rows,
                          int64_t columns, Value limit) {
  return tile::LoadOp::create(b, tile(rows, columns, element), view, batch,
                              head, row, limit);
}

/// `input` (f32) in `type`, rounded to nearest.
Value KernelBuilder::castTile(Value input, Type type) {
  auto inputType = cast<RankedTensorType>(input.getType());
  if (type == inputType.getElementType())
    return input;
  return tile::buildMap(b, inputType.clone(type), input, {}, [&](ValueRange x) {
    return SmallVector<Value>{arith::TruncFOp::create(b, type, x[0])};
  })[0];
}

/// The score region's result as value * factor, with a constant factor that may
/// be the softmax's scale: it scales each row's maximum with the scores.
std::pair<Value, float> KernelBuilder::splitScore() {
  Value score = op.getScore().front().getTerminator()->getOperand(0);
  auto product = score.getDefiningOp<arith::MulFOp>();
  if (!product)
    return {score, 1.0f};
  Value sides[] = {product.getLhs(), product.getRhs()};
  for (auto [value, factor] :
       {std::pair{sides[0], sides[1]}, std::pair{sides[1], sides[0]}}) {
    FloatAttr constant;
    if (!matchPattern(factor, m_Constant(&constant)))
      continue;
    float c = constant.getValue().convertToFloat();
    if (c >= 1 / kLargestScale && c <= kLargestScale)
      return {value, c};
  }
  return {score, 1.0f};
}

/// Whether a sum scale * s + slope * x is taken as scale * (s + (slope / scale)
/// * x), so that the scale is the softmax's.
bool KernelBuilder::scalesSum() {
  float scale = float(op.getScaleValue());
  return scale >= 1 / kLargestScale && scale <= kLargestScale &&
         attn::matchScoreBias(op);
}

/// score + (slope / scale) * x, of what the region is cloned to.
Value KernelBuilder::buildSum(Value score, const IRMapping &mapping) {
  attn::ScoreBias bias = *attn::matchScoreBias(op);
  Value inverse = tile::buildF32(b, float(1 / op.getScaleValue()));
  Value slope = arith::MulFOp::create(b, mapping.lookup(bias.slope), inverse);
  return math::FmaOp::create(b, slope, mapping.lookup(bias.term), score);
}

/// score(scale * s), or what the softmax's scale makes it, for each element.
Value KernelBuilder::buildScoreFunction(Value scores, Value firstKey) {
  Value scale = tile::buildF32(b, float(op.getScaleValue()));
  auto body = [&](ValueRange args) -> SmallVector<Value> {
    if (scalesSum())
      return {buildSum(
          args[0], cloner->cloneOps(op.getScore().front(),
                                    {args[0], batch, head, args[1], args[2]}))};
    Value scaled = arith::MulFOp::create(b, args[0], scale);
    Value scalars[] = {scaled, batch, head, args[1], args[2]};
    return {cloner->clone(op.getScore().front(), scalars, splitScore().first)};
  };
  return tile::buildMap(b, scores.getType(), scores, {firstRow, firstKey},
                        body)[0];
}

Value KernelBuilder::buildScores(Value keys, Value firstKey) {
  Value zero = tile::buildSplat(b, {schedule.getQ(), kv}, 0.0f);
  Value scores = tile::DotOp::create(
      b, queries, keys, zero, /*transpose_a=*/false, /*transpose_b=*/true,
      /*guarded=*/false);
  if (op.hasScore())
    scores = buildScoreFunction(scores, firstKey);
  SmallVector<Attribute> setAttrs =
      llvm::map_to_vector(sets, [](IntegerSet set) -> Attribute {
        return IntegerSetAttr::get(set);
      });
  return tile::MaskOp::create(b, scores.getType(), scores, firstRow, firstKey,
                              ValueRange{sq, keyLength},
                              b.getArrayAttr(setAttrs), /*transposed=*/false);
}

/// One key block: (acc, m, l) to (acc', m', l').
SmallVector<Value> KernelBuilder::buildStep(Value block, ValueRange carried) {
  Value acc = carried[0], rowMax = carried[1], rowSum = carried[2];
  Value firstKey = arith::MulIOp::create(b, block, index(kv));
  if (isRedo) // from the cache each time: registers are short
    loadQueries();
  Value keys = load(views.key, keyHead, firstKey, kv, headDim, limit);
  Value scores = buildScores(keys, firstKey);
  auto update = tile::SoftmaxUpdateOp::create(
      b,
      TypeRange{scores.getType(), rowMax.getType(), rowSum.getType(),
                rowMax.getType()},
      scores, rowMax, rowSum, /*offset=*/Value(),
      tile::ExpBaseAttr::get(b.getContext(), tile::ExpBase::E), softmaxScale(),
      /*lazy=*/FloatAttr());
  Value scaled =
      tile::RescaleOp::create(b, acc.getType(), acc, update.getRescale());
  Value probs = castTile(update.getProbs(), element);
  Value values = load(views.value, keyHead, firstKey, kv, valueDim, limit);
  // Beyond the bound on j, which loads take care of, a mask hides keys from
  // some rows of a block only.
  bool hidesSome = sets.size() != 1 || sets.front().getNumConstraints() > 1;
  Value next = tile::DotOp::create(b, probs, values, scaled,
                                   /*transpose_a=*/false, /*transpose_b=*/false,
                                   /*guarded=*/hidesSome);
  return {next, update.getNewMax(), update.getNewSum()};
}

void KernelBuilder::loadQueries() {
  queries =
      load(views.query, head, firstRow, schedule.getQ(), headDim, Value());
}

/// The loop over all key blocks: (O, LSE), both f32.
std::pair<Value, Value> KernelBuilder::buildAttention() {
  int64_t q = schedule.getQ();
  if (!isRedo)
    loadQueries();
  Value blocks = arith::DivUIOp::create(
      b, arith::AddIOp::create(b, keyLength, index(kv - 1)), index(kv));
  Value noMax =
      tile::buildSplat(b, {q}, -std::numeric_limits<float>::infinity());
  Value init[] = {tile::buildSplat(b, {q, valueDim}, 0.0f), noMax,
                  tile::buildSplat(b, {q}, 0.0f)};
  auto loop = scf::ForOp::create(
      b, index(0), blocks, index(1), init,
      [&](OpBuilder &, Location, Value block, ValueRange carried) {
        scf::YieldOp::create(b, buildStep(block, carried));
      });
  auto finish = tile::FinishOp::create(
      b, TypeRange{loop.getResult(0).getType(), noMax.getType()},
      loop.getResult(0), loop.getResult(1), loop.getResult(2),
      tile::ExpBaseAttr::get(b.getContext(), tile::ExpBase::E), softmaxScale());
  return {finish.getOutput(), finish.getLse()};
}

/// Kernels with roles copy and multiply without a look at what is masked, so
/// that NaN and infinity there spoil a row, as do exponents past f32's whole
/// numbers. Where O is not finite, its rows are computed again, in
/// small blocks and with care.
std::pair<Value, Value> KernelBuilder::buildRedo(Value output, Value lse) {
  Value any = tile::AnyNotFiniteOp::create(b, b.getI1Type(), output);
  auto branch =
      scf::IfOp::create(b, TypeRange{output.getType(), lse.getType()}, any,
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  kv = kRedoKeys;
  isRedo = true;
  auto [again, lseAgain] = buildAttention();
  scf::YieldOp::create(b, ValueRange{again, lseAgain});
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, ValueRange{output, lse});
  return {branch.getResult(0), branch.getResult(1)};
}

void KernelBuilder::build() {
  buildProgram();
  auto [output, lse] = buildAttention();
  if (schedule.getRoles())
    std::tie(output, lse) = buildRedo(output, lse);
  output = castTile(output, element);
  tile::StoreOp::create(b, output, views.output, batch, head, firstRow);
  if (views.lse)
    tile::StoreOp::create(b, lse, views.lse, batch, head, firstRow);
  tile::ReturnOp::create(b);
}
} // namespace

MemRefType getViewType(RankedTensorType tensor, attn::Layout layout) {
  SmallVector<int64_t> shape(tensor.getShape());
  if (layout == attn::Layout::BSHD)
    std::swap(shape[1], shape[2]);
  int64_t any = ShapedType::kDynamic;
  auto strides =
      StridedLayoutAttr::get(tensor.getContext(), any, {any, any, any, 1});
  return MemRefType::get(shape, tensor.getElementType(), strides);
}

MemRefType getRowViewType(RankedTensorType tensor) {
  int64_t any = ShapedType::kDynamic;
  auto strides =
      StridedLayoutAttr::get(tensor.getContext(), any, {any, any, 1});
  return MemRefType::get(tensor.getShape(), tensor.getElementType(), strides);
}

void buildKernelBody(OpBuilder &builder, attn::ForwardOp op,
                     tile::ScheduleAttr schedule, const KernelViews &views,
                     ArrayRef<IntegerSet> sets) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  KernelBuilder(b, op, schedule, views, sets).build();
}
} // namespace flashc
