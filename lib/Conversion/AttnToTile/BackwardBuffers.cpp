// Used by convert-attn-to-tile: the arrays that the kernels of one
// attn.backward share.
#include "BackwardKernel.h"

#include "KernelBuilder.h"

using namespace mlir;

namespace flashc {

std::string BufferList::gradientOf(int64_t capture) {
  return "dcapture" + std::to_string(capture);
}
std::string BufferList::sumOf(int64_t capture) {
  return gradientOf(capture) + "_sum";
}
std::string BufferList::tilesOf(int64_t capture) {
  return gradientOf(capture) + "_tiles";
}

void BufferList::add(std::string name, MemRefType type,
                     DictionaryAttr attributes) {
  names.push_back(std::move(name));
  list[names.back()] = {type, attributes};
}

static constexpr llvm::StringLiteral kZeroed = "tile.zeroed",
                                     kFragmentOrder = "tile.fragment_order",
                                     kPacked = "tile.packed";

/// `sizes` are words of `tile.workspace`, `marks` attributes without a value.
void BufferList::addWorkspace(std::string name, RankedTensorType type,
                              ArrayRef<std::string> sizes,
                              ArrayRef<StringRef> marks) {
  Builder b(type.getContext());
  SmallVector<StringRef> words(sizes.begin(), sizes.end());
  SmallVector<NamedAttribute> attributes = {
      b.getNamedAttr("tile.workspace", b.getStrArrayAttr(words))};
  for (StringRef mark : marks)
    attributes.push_back(b.getNamedAttr(mark, b.getUnitAttr()));
  MemRefType view = type.getRank() == 4 ? getViewType(type, attn::Layout::BHSD)
                                        : getRowViewType(type);
  add(std::move(name), view, b.getDictionaryAttr(attributes));
}

BufferList::BufferList(func::FuncOp func, attn::BackwardOp op,
                       tile::ScheduleAttr schedule) {
  auto tensorOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  auto addOperand = [&](std::string name, Value operand, MemRefType type) {
    unsigned argument = cast<BlockArgument>(operand).getArgNumber();
    add(std::move(name), type, func.getArgAttrDict(argument));
  };
  auto addTensor = [&](StringRef name, Value operand) {
    addOperand(name.str(), operand,
               getViewType(tensorOf(operand), op.getLayout()));
  };
  auto addRows = [&](StringRef name, Value operand) {
    addOperand(name.str(), operand, getRowViewType(tensorOf(operand)));
  };
  auto addFlat = [&](std::string name, Value operand) {
    addOperand(std::move(name), operand,
               MemRefType::get(tensorOf(operand).getShape(),
                               tensorOf(operand).getElementType()));
  };
  addTensor("q", op.getQuery());
  addTensor("k", op.getKey());
  addTensor("v", op.getValue());
  addTensor("o", op.getOutput());
  addRows("lse", op.getLse());
  addTensor("do", op.getOutputGradient());
  if (op.getLseGradient())
    addRows("dlse", op.getLseGradient());
  if (op.getKvLengths())
    addFlat("kv_lengths", op.getKvLengths());
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    captures.push_back("capture" + std::to_string(i));
    addFlat(captures.back(), capture);
  }
  static constexpr StringLiteral names[] = {"dq", "dk", "dv"};
  for (auto [name, result] :
       llvm::zip_equal(names, op.getResults().take_front(3)))
    add(name.str(), getViewType(tensorOf(result), op.getLayout()));
  int64_t any = ShapedType::kDynamic;
  for (int64_t capture : op.getGradients()) {
    auto type = tensorOf(op.getCaptures()[capture]);
    add(gradientOf(capture), MemRefType::get({any}, type.getElementType()));
  }
  Type f32 = Float32Type::get(op.getContext());
  bool isPacked = bool(schedule.getRoles());
  auto rows = RankedTensorType::get({any, any, any}, f32);
  // Whole blocks are copied, with rows past the end.
  std::string queries = isPacked ? "queries up to 128" : "queries";
  addWorkspace("delta", rows, {"batch", "heads", queries}, /*marks=*/{});
  if (isPacked) {
    addWorkspace("lse_rows", rows, {"batch", "heads", queries}, /*marks=*/{});
    addWorkspace("dk_rows", rows, {"batch", "kv_heads", "keys"}, /*marks=*/{});
  }
  if (isPacked && op.getDeterministic())
    addWorkspace("dq_turns",
                 RankedTensorType::get({any, any, any},
                                       IntegerType::get(op.getContext(), 32)),
                 {"batch", "heads", queries}, {kZeroed});
  int64_t headDim = op.getHeadDim();
  // A kernel with roles adds in an order of its own, to what NAME_delta clears.
  SmallVector<StringRef> marks = {kPacked};
  if (!isPacked)
    marks = {kZeroed, kFragmentOrder};
  addWorkspace("dq_sum", RankedTensorType::get({any, any, any, headDim}, f32),
               {"batch", "heads", queries, std::to_string(headDim)}, marks);
}

void BufferList::addDirect(int64_t capture, bool isZeroed) {
  Builder b(list.front().second.type.getContext());
  int64_t any = ShapedType::kDynamic;
  if (!has(kRedo))
    addWorkspace(kRedo.str(),
                 RankedTensorType::get({any, any, any}, b.getF32Type()),
                 {"1", "1", "1"}, {kZeroed});
  Buffer &gradient = list.find(gradientOf(capture))->second;
  if (isZeroed)
    gradient.attributes =
        b.getDictionaryAttr(b.getNamedAttr(kZeroed, b.getUnitAttr()));
}

void BufferList::addTiles(int64_t capture, StringRef batches, StringRef heads,
                          std::string rows, int64_t q) {
  int64_t any = ShapedType::kDynamic;
  Builder b(list.front().second.type.getContext());
  addWorkspace(tilesOf(capture),
               RankedTensorType::get({any, any, any, q}, b.getF32Type()),
               {batches.str(), heads.str(), std::move(rows), std::to_string(q)},
               {kZeroed, kPacked});
}

void BufferList::addSums(int64_t capture, bool forEachHead,
                         std::string elements) {
  int64_t any = ShapedType::kDynamic;
  Builder b(list.front().second.type.getContext());
  addWorkspace(sumOf(capture),
               RankedTensorType::get({any, any, any}, b.getF32Type()),
               {forEachHead ? "batch" : "1", forEachHead ? "kv_heads" : "1",
                std::move(elements)},
               {kZeroed});
}
} // namespace flashc
