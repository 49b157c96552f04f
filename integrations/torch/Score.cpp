//===- Score.cpp - An attention mask as a score function ------------------===//
//
// The mask is captured as it lies in memory, without the dimensions that it is
// broadcast along: a mask of one row for all queries stays one row, and a bool
// mask stays one of bytes.
//
//===----------------------------------------------------------------------===//
#include "Attention.h"

#include <torch/csrc/stable/ops.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace flashc_torch;

namespace {
/// Whether all elements along a dimension are one.
bool isBroadcast(const Tensor &tensor, int64_t dim, Broadcast broadcast) {
  return tensor.size(dim) == 1 ||
         (broadcast == Broadcast::SizesAndStrides && tensor.stride(dim) == 0);
}
} // namespace

void flashc_torch::addScore(flashc::AttentionSpec &spec, const Problem &p,
                            Broadcast broadcast) {
  // A description's scale is above 0: the sign is the score function's.
  double scale = p.scale.value_or(1);
  bool positive = scale > 0 || std::isnan(scale);
  if (!p.attnMask && positive)
    return;
  flashc::Score s;
  flashc::Score::Value score = s.score();
  if (!positive)
    score = score * (scale == 0 ? 0.0 : -1.0);
  if (p.attnMask) {
    flashc::Score::Value places[] = {s.batch(), s.head(), s.query(), s.key()};
    std::vector<int64_t> shape; // 0: known at the launch
    flashc::Score::Value first = s.index(0);
    for (int n = 0; n < 4; ++n) {
      bool one = isBroadcast(*p.attnMask, n, broadcast);
      shape.push_back(one ? 1 : 0);
      if (one)
        places[n] = first;
    }
    flashc::DType dtype = dtypeOf(*p.attnMask, "attn_mask");
    flashc::Score::Tensor mask = s.capture("attn_mask", dtype, shape);
    flashc::Score::Value element =
        mask[{places[0], places[1], places[2], places[3]}];
    if (dtype == flashc::DType::I8)
      score = s.select(element != first, score,
                       s.number(-std::numeric_limits<double>::infinity()));
    else
      score = score + element;
  }
  s.result(score);
  spec.withScore(s);
}

Tensor flashc_torch::compact(const Tensor &attnMask, Broadcast broadcast) {
  Tensor out = attnMask;
  for (int n = 0; n < 4; ++n)
    if (isBroadcast(out, n, broadcast) && out.size(n) > 1)
      out = torch::stable::narrow(out, n, 0, 1);
  return out.is_contiguous() ? out : torch::stable::contiguous(out);
}
