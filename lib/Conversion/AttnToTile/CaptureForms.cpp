// Used by convert-attn-to-tile: which way the gradient of a captured tensor is
// summed up, from the indices of its attn.add_gradient ops.
#include "CaptureGradients.h"

#include "flashc/Dialect/Attn/IR/ScoreBias.h"

using namespace mlir;

namespace flashc {
namespace {
/// Arguments of a gradient region.
enum Argument : unsigned { kScore, kBatch, kHead, kQuery, kKey, kGradient };

/// Whether one of `values` depends on one of the region's arguments
/// `arguments`.
bool dependsOnAny(ValueRange values, ArrayRef<unsigned> arguments) {
  return llvm::any_of(values, [&](Value value) {
    return attn::dependsOn(value, [&](BlockArgument argument) {
      return llvm::is_contained(arguments, argument.getArgNumber());
    });
  });
}

/// Which dimension is indexed by argument `number` itself; -1 for none.
int64_t findIndexed(ValueRange indices, unsigned number) {
  for (auto [dim, index] : llvm::enumerate(indices))
    if (auto argument = dyn_cast<BlockArgument>(index);
        argument && argument.getArgNumber() == number)
      return dim;
  return -1;
}

/// All additions are to one place, whose indices are the query, the key, and
/// otherwise batch, head and what depends on none of them.
void decideGathering(CaptureForm &form,
                     ArrayRef<attn::AddGradientOp> additions) {
  if (additions.empty())
    return;
  attn::AddGradientOp first = additions.front();
  ValueRange indices = first.getIndices();
  if (!llvm::all_of(additions, [&](attn::AddGradientOp add) {
        return llvm::equal(add.getIndices(), indices);
      }))
    return;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    auto argument = dyn_cast<BlockArgument>(index);
    bool isPlain = argument && findIndexed(indices, argument.getArgNumber()) ==
                                   int64_t(dim);
    bool isFixed =
        !dependsOnAny(index, {kScore, kBatch, kHead, kQuery, kKey, kGradient});
    if (!isPlain && !isFixed)
      return;
  }
  form.batchDim = findIndexed(indices, kBatch);
  form.headDim = findIndexed(indices, kHead);
  form.queryDim = findIndexed(indices, kQuery);
  form.keyDim = findIndexed(indices, kKey);
  form.isGathered = form.queryDim >= 0 && form.keyDim >= 0;
  auto gradient = dyn_cast<BlockArgument>(first.getValue());
  auto type = cast<ShapedType>(first.getCapture().getType());
  form.isPlain = form.isGathered && additions.size() == 1 && gradient &&
                 gradient.getArgNumber() == kGradient &&
                 type.getElementTypeBitWidth() == 16;
  int64_t dims[] = {form.batchDim, form.headDim, form.queryDim, form.keyDim};
  for (int64_t dim = 0; dim < int64_t(indices.size()); ++dim)
    if (!llvm::is_contained(dims, dim))
      form.otherDims.push_back(dim);
}
} // namespace

SmallVector<CaptureForm> findCaptureForms(attn::BackwardOp op) {
  SmallVector<CaptureForm> forms;
  for (int64_t capture : op.getGradients()) {
    CaptureForm &form = forms.emplace_back();
    form.capture = capture;
    SmallVector<attn::AddGradientOp> additions;
    Block &region = op.getScoreGradient().front();
    unsigned first = region.getNumArguments() - op.getCaptures().size();
    for (auto [position, add] :
         llvm::enumerate(region.getOps<attn::AddGradientOp>())) {
      if (cast<BlockArgument>(add.getCapture()).getArgNumber() !=
          first + capture)
        continue;
      bool isForWholeRows =
          !dependsOnAny(add.getIndices(), {kScore, kQuery, kGradient});
      form.additions.push_back({unsigned(position), isForWholeRows});
      additions.push_back(add);
    }
    decideGathering(form, additions);
  }
  return forms;
}
} // namespace flashc
